// SPDX-License-Identifier: Apache-2.0
/*
 * Memory: the host's, limited to what the device has. Each block is preceded by its
 * header, in the alignment's room, and is on one list, by which an address inside of
 * it is known.
 */
#include <stdlib.h>

#include "driver.h"

#define MEMORY_ALIGN 512u
#define MEMORY_MAGIC 0x1a6e205a7d1aull

/* As cuPointerGetAttribute numbers them. */
enum memory_type { MEMORY_NONE = 0, MEMORY_HOST = 1, MEMORY_DEVICE = 2 };

struct block {
	uint64_t magic;
	struct block *next, *previous;
	device_ptr at;
	size_t n;
	enum memory_type type;
	bool is_managed;
};

static struct {
	pthread_mutex_t lock;
	struct block *newest;
	uintptr_t low, high; /* addresses ever given out; atomic; low set at load */
} blocks = { .lock = PTHREAD_MUTEX_INITIALIZER, .low = UINTPTR_MAX };

static void add_block(struct block *block)
{
	block->previous = NULL;
	pthread_mutex_lock(&blocks.lock);
	block->next = blocks.newest;
	if (block->next)
		block->next->previous = block;
	blocks.newest = block;
	pthread_mutex_unlock(&blocks.lock);
}

static void remove_block(struct block *block)
{
	pthread_mutex_lock(&blocks.lock);
	if (block->next)
		block->next->previous = block->previous;
	if (block->previous)
		block->previous->next = block->next;
	else
		blocks.newest = block->next;
	pthread_mutex_unlock(&blocks.lock);
}

/* A copy of what is known of the block around an address; type MEMORY_NONE when there is none. */
static struct block block_around(device_ptr at)
{
	struct block found = { .type = MEMORY_NONE };

	pthread_mutex_lock(&blocks.lock);
	for (const struct block *block = blocks.newest; block; block = block->next) {
		if (at >= block->at && at - block->at < block->n) {
			found = *block;
			break;
		}
	}
	pthread_mutex_unlock(&blocks.lock);
	return found;
}

static void in_child(void)
{
	pthread_mutex_init(&blocks.lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, in_child);
}

static int take_memory(size_t n)
{
	if (__atomic_add_fetch(&device.memory_used, n, __ATOMIC_RELAXED) <= device.memory_bytes)
		return SUCCESS;
	__atomic_sub_fetch(&device.memory_used, n, __ATOMIC_RELAXED);
	return OUT_OF_MEMORY;
}

static void give_memory_back(size_t n)
{
	__atomic_sub_fetch(&device.memory_used, n, __ATOMIC_RELAXED);
}

/* Host memory is not the device's, and has its limit all the same: one that fails before the machine does. */
static int allocate(device_ptr *ret_ptr, size_t n, enum memory_type type, bool is_managed)
{
	size_t whole = MEMORY_ALIGN + (n + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
	struct block *block;
	uintptr_t at, old;
	char *memory;

	if (!ret_ptr || n == 0)
		return INVALID_VALUE;
	if (whole < n || take_memory(n) != SUCCESS)
		return OUT_OF_MEMORY;
	memory = aligned_alloc(MEMORY_ALIGN, whole);
	if (!memory) {
		give_memory_back(n);
		return OUT_OF_MEMORY;
	}
	at = (uintptr_t)memory + MEMORY_ALIGN;
	block = (struct block *)(at - sizeof(*block));
	*block = (struct block){ .magic = MEMORY_MAGIC, .at = at, .n = n, .type = type, .is_managed = is_managed };
	old = __atomic_load_n(&blocks.low, __ATOMIC_RELAXED);
	while (at < old && !__atomic_compare_exchange_n(&blocks.low, &old, at, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	raise_to(&blocks.high, at);
	add_block(block);
	*ret_ptr = at;
	return SUCCESS;
}

int driver_mem_alloc(device_ptr *ret_ptr, size_t n)
{
	return allocate(ret_ptr, n, MEMORY_DEVICE, false);
}

int driver_mem_alloc_managed(device_ptr *ret_ptr, size_t n, unsigned int flags)
{
	(void)flags;
	return allocate(ret_ptr, n, MEMORY_DEVICE, true);
}

/* Rows of an aligned length, as a copy of rectangles likes them. */
int driver_mem_alloc_pitch(device_ptr *ret_ptr, size_t *ret_pitch, size_t width, size_t height, unsigned int element)
{
	size_t pitch = (width + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN, n;

	if (!ret_pitch || (element != 4 && element != 8 && element != 16))
		return INVALID_VALUE;
	if (pitch < width || __builtin_mul_overflow(pitch, height, &n))
		return OUT_OF_MEMORY;
	*ret_pitch = pitch;
	return driver_mem_alloc(ret_ptr, n);
}

int driver_mem_alloc_async(device_ptr *ret_ptr, size_t n, struct stream *handle)
{
	return stream_find(handle, false) ? driver_mem_alloc(ret_ptr, n) : INVALID_HANDLE;
}

int driver_mem_alloc_host(void **ret_ptr, size_t n)
{
	device_ptr at = 0;
	int r = allocate(&at, n, MEMORY_HOST, false);

	if (r == SUCCESS)
		*ret_ptr = (void *)at;
	return r;
}

int driver_mem_host_alloc(void **ret_ptr, size_t n, unsigned int flags)
{
	(void)flags;
	return driver_mem_alloc_host(ret_ptr, n);
}

int driver_mem_free(device_ptr at)
{
	struct block *block = (struct block *)(at - sizeof(*block));

	if (at == 0)
		return SUCCESS;
	if (at % MEMORY_ALIGN || at < __atomic_load_n(&blocks.low, __ATOMIC_RELAXED) ||
	    at > __atomic_load_n(&blocks.high, __ATOMIC_RELAXED) || block->magic != MEMORY_MAGIC)
		return INVALID_VALUE;
	block->magic = 0;
	remove_block(block);
	give_memory_back(block->n);
	free((void *)(at - MEMORY_ALIGN));
	return SUCCESS;
}

int driver_mem_free_host(void *ptr)
{
	return driver_mem_free((device_ptr)ptr);
}

int driver_mem_free_async(device_ptr at, struct stream *handle)
{
	return stream_find(handle, false) ? driver_mem_free(at) : INVALID_HANDLE;
}

int driver_mem_get_info(size_t *ret_free, size_t *ret_total)
{
	*ret_free = device.memory_bytes - __atomic_load_n(&device.memory_used, __ATOMIC_RELAXED);
	*ret_total = device.memory_bytes;
	return SUCCESS;
}

int driver_mem_get_range(device_ptr *ret_start, size_t *ret_n, device_ptr at)
{
	struct block block = block_around(at);

	if (block.type == MEMORY_NONE)
		return NOT_FOUND;
	if (ret_start)
		*ret_start = block.at;
	if (ret_n)
		*ret_n = block.n;
	return SUCCESS;
}

/* One address space: the host's address is the device's. */
int driver_mem_host_get_device_pointer(device_ptr *ret_ptr, void *ptr, unsigned int flags)
{
	(void)flags;
	if (!ret_ptr)
		return INVALID_VALUE;
	*ret_ptr = (device_ptr)ptr;
	return SUCCESS;
}

/* What may be asked of a pointer: numbers as of the interface, sizes of the answers. */
enum {
	POINTER_CONTEXT = 1,
	POINTER_MEMORY_TYPE = 2,
	POINTER_DEVICE = 3,
	POINTER_HOST = 4,
	POINTER_IS_MANAGED = 8,
	POINTER_ORDINAL = 9,
	POINTER_RANGE_START = 11,
	POINTER_RANGE_SIZE = 12,
	POINTER_MAPPED = 13,
};

/* Return: whether it is a thing to ask; what is not known of a pointer is zero */
static bool put_attribute(void *data, unsigned int attribute, const struct block *block, device_ptr at)
{
	bool is_known = block->type != MEMORY_NONE;

	switch (attribute) {
	case POINTER_CONTEXT:
		*(struct context **)data = is_known ? &device.primary : NULL;
		return true;
	case POINTER_MEMORY_TYPE:
		*(unsigned int *)data = block->type;
		return true;
	case POINTER_DEVICE:
		*(device_ptr *)data = is_known ? at : 0;
		return true;
	case POINTER_HOST:
		*(void **)data = block->type == MEMORY_HOST || block->is_managed ? (void *)at : NULL;
		return true;
	case POINTER_IS_MANAGED:
		*(unsigned int *)data = block->is_managed;
		return true;
	case POINTER_ORDINAL:
		*(int *)data = is_known ? 0 : -2;
		return true;
	case POINTER_RANGE_START:
		*(device_ptr *)data = block->at;
		return true;
	case POINTER_RANGE_SIZE:
		*(size_t *)data = block->n;
		return true;
	case POINTER_MAPPED:
		*(unsigned int *)data = is_known;
		return true;
	default:
		return false;
	}
}

int driver_pointer_get_attribute(void *data, unsigned int attribute, device_ptr at)
{
	struct block block = block_around(at);

	if (!data || block.type == MEMORY_NONE || !put_attribute(data, attribute, &block, at))
		return INVALID_VALUE;
	return SUCCESS;
}

/* Several at once: of a pointer that is none of ours, zeros, and no error. */
int driver_pointer_get_attributes(unsigned int n, const unsigned int *attributes, void **data, device_ptr at)
{
	struct block block = block_around(at);

	for (unsigned int i = 0; i < n; i++) {
		if (!put_attribute(data[i], attributes[i], &block, at))
			return INVALID_VALUE;
	}
	return SUCCESS;
}
