// SPDX-License-Identifier: Apache-2.0
/*
 * libcuda.so.1 as a stand-in: the functions that driver.def names.
 *
 * The device is a clock. A stream is the time at which all work given to it will be
 * done; a kernel adds its time, a copy its bytes over the bandwidth, each beginning
 * when the stream is free. To synchronise is to wait until that time has come.
 * Memory is the host's, kernels do nothing, copies copy.
 *
 * Signatures are written down from the public interface, not from a header, and
 * apart from those that the workloads use, so that the two check each other.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "standin.h"

/* Called from generated assembly alone, by the names in driver.def. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DRIVER_VERSION 13050 /* newer than every runtime of the export lists */
#define MEMORY_DEFAULT (16ull << 30)
#define MEMORY_ALIGN 512u
#define STREAMS_MAX 4096u
#define EVENTS_MAX 65536u
#define PER_THREAD_STREAM 2u /* handle that names the calling thread's own default stream */
#define SYMBOL_PER_THREAD 2u /* flag of cuGetProcAddress: hand out _ptsz and _ptds forms */

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	NOT_SUPPORTED = 801,
};

enum { SCHED_SPIN = 1, SCHED_YIELD = 2, SCHED_BLOCKING = 4, SCHED_MASK = 7 };
enum { EVENT_BLOCKING = 1 };

typedef uint64_t device_ptr;

struct context {
	unsigned int flags;
};

struct stream {
	uint64_t finish_ns; /* when all its work is done; atomic */
	bool is_used;
};

struct event {
	uint64_t at_ns; /* when it comes true; 0: never recorded; atomic */
	unsigned int flags;
	bool is_used;
};

static struct {
	struct context primary;
	struct stream legacy; /* the default stream */
	struct stream streams[STREAMS_MAX];
	struct event events[EVENTS_MAX];
	uint64_t finish_ns;    /* of all streams; atomic */
	uint64_t memory_bytes; /* that the device has; set at load, so that the rest of this stays zero pages */
	uint64_t memory_used;  /* atomic */
	uintptr_t memory_low, memory_high; /* addresses ever given out; atomic; low set at load */
	bool is_told;			   /* the notice on stderr; atomic */
} device;

static __thread struct context *current;
static __thread struct stream own_stream; /* the per-thread default stream */

int standin_unlisted(void)
{
	return standin_device.unlisted_code;
}

/* Forms of before 2010, whose device pointers have 32 bits. */
int driver_32_bit_form(void)
{
	return NOT_SUPPORTED;
}

/* The clock */

static void raise_to(uint64_t *at, uint64_t to)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (old < to && !__atomic_compare_exchange_n(at, &old, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void give_work(struct stream *stream, uint64_t work_ns)
{
	uint64_t now_ns = standin_now_ns(), old = __atomic_load_n(&stream->finish_ns, __ATOMIC_RELAXED), done_ns;

	do
		done_ns = MAX(old, now_ns) + work_ns;
	while (!__atomic_compare_exchange_n(&stream->finish_ns, &old, done_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	raise_to(&device.finish_ns, done_ns);
}

/* What a context asked for goes before what the environment says. */
static enum ingero_standin_how how_to_wait(bool is_blocking)
{
	unsigned int sched = (current ? current->flags : device.primary.flags) & SCHED_MASK;

	if (is_blocking || sched == SCHED_BLOCKING)
		return INGERO_STANDIN_POLL;
	if (sched == SCHED_SPIN)
		return INGERO_STANDIN_SPIN;
	if (sched == SCHED_YIELD)
		return INGERO_STANDIN_YIELD;
	return standin_device.how;
}

static void wait_for(const uint64_t *finish_ns, bool is_blocking)
{
	uint64_t at_ns = __atomic_load_n(finish_ns, __ATOMIC_RELAXED);

	if (at_ns)
		standin_wait_until(at_ns, how_to_wait(is_blocking));
}

static uint64_t copy_ns(size_t n)
{
	return (uint64_t)n * NSEC_PER_USEC / standin_device.bytes_per_us;
}

/* NULL when the handle is none of ours */
static struct stream *stream_find(struct stream *handle, bool is_per_thread)
{
	if (!handle)
		return is_per_thread ? &own_stream : &device.legacy;
	if ((uintptr_t)handle <= PER_THREAD_STREAM)
		return (uintptr_t)handle == PER_THREAD_STREAM ? &own_stream : &device.legacy;
	if (handle < device.streams || handle >= device.streams + STREAMS_MAX || !handle->is_used)
		return NULL;
	return handle;
}

static struct event *event_find(struct event *handle)
{
	if (handle < device.events || handle >= device.events + EVENTS_MAX || !handle->is_used)
		return NULL;
	return handle;
}

/* Start, versions, errors, entry points */

int driver_init(unsigned int flags)
{
	if (!getenv("INGERO_STANDIN_QUIET") && !__atomic_exchange_n(&device.is_told, true, __ATOMIC_RELAXED))
		fprintf(stderr, "ingero stand-in: this is no GPU: device code does nothing, results mean nothing\n");
	return flags ? INVALID_VALUE : SUCCESS;
}

int driver_get_version(int *ret_version)
{
	*ret_version = DRIVER_VERSION;
	return SUCCESS;
}

static const struct {
	int code;
	const char *name;
	const char *text;
} errors[] = {
	{ SUCCESS, "CUDA_SUCCESS", "no error" },
	{ INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
	{ 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
};

int driver_get_error_name(int code, const char **ret_name)
{
	*ret_name = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (errors[i].code == code)
			*ret_name = errors[i].name;
	}
	return *ret_name ? SUCCESS : INVALID_VALUE;
}

int driver_get_error_string(int code, const char **ret_text)
{
	*ret_text = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (errors[i].code == code)
			*ret_text = errors[i].text;
	}
	return *ret_text ? SUCCESS : INVALID_VALUE;
}

static void *own_handle(void)
{
	static void *handle;
	Dl_info info;

	if (!__atomic_load_n(&handle, __ATOMIC_RELAXED) && dladdr(&device, &info))
		__atomic_store_n(&handle, dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD), __ATOMIC_RELAXED);
	return __atomic_load_n(&handle, __ATOMIC_RELAXED);
}

/*
 * The exported address, never an internal one: the newest version of the name, in
 * its per-thread form where that was asked for and exists.
 * (Source: observed of driver 550.163, docs of the project's probe placement.)
 */
static void *entry_point(const char *name, bool is_per_thread)
{
	static const char *const versions[] = { "_v3", "_v2", "" };
	static const char *const per_thread[] = { "_ptsz", "_ptds" };
	char text[128];

	for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
		void *found;

		for (size_t t = 0; is_per_thread && t < ARRAY_SIZE(per_thread); t++) {
			snprintf(text, sizeof(text), "%s%s%s", name, versions[v], per_thread[t]);
			found = dlsym(own_handle(), text);
			if (found)
				return found;
		}
		snprintf(text, sizeof(text), "%s%s", name, versions[v]);
		found = dlsym(own_handle(), text);
		if (found)
			return found;
	}
	return NULL;
}

int driver_get_proc_address(const char *name, void **ret_address, int version, uint64_t flags)
{
	(void)version;
	*ret_address = entry_point(name, flags & SYMBOL_PER_THREAD);
	return *ret_address ? SUCCESS : NOT_FOUND;
}

int driver_get_proc_address_v2(const char *name, void **ret_address, int version, uint64_t flags, int *ret_status)
{
	int r = driver_get_proc_address(name, ret_address, version, flags);

	if (ret_status)
		*ret_status = r == SUCCESS ? 0 : 1; /* found, not found */
	return r;
}

/* Devices and contexts */

int driver_device_get(int *ret_device, int ordinal)
{
	if (ordinal != 0)
		return 101; /* invalid device */
	*ret_device = 0;
	return SUCCESS;
}

int driver_device_get_count(int *ret_n)
{
	*ret_n = 1;
	return SUCCESS;
}

int driver_device_get_name(char *text, int room, int ordinal)
{
	(void)ordinal;
	if (room <= 0)
		return INVALID_VALUE;
	snprintf(text, (size_t)room, "Ingero stand-in");
	return SUCCESS;
}

int driver_device_total_mem(size_t *ret_bytes, int ordinal)
{
	(void)ordinal;
	*ret_bytes = device.memory_bytes;
	return SUCCESS;
}

int driver_device_get_attribute(int *ret_value, int attribute, int ordinal)
{
	static const struct {
		int attribute;
		int value;
	} known[] = {
		{ 1, 1024 },				       /* threads a block */
		{ 2, 1024 },	   { 3, 1024 },	 { 4, 64 },    /* block dimensions */
		{ 5, 2147483647 }, { 6, 65535 }, { 7, 65535 }, /* grid dimensions */
		{ 8, 49152 },				       /* shared memory a block */
		{ 10, 32 },				       /* threads a warp */
		{ 12, 65536 },				       /* registers a block */
		{ 16, 108 },				       /* multiprocessors */
		{ 75, 9 },	   { 76, 0 },		       /* compute capability */
	};

	(void)ordinal;
	*ret_value = 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].attribute == attribute)
			*ret_value = known[i].value;
	}
	return SUCCESS;
}

int driver_primary_context_retain(struct context **ret_context, int ordinal)
{
	(void)ordinal;
	*ret_context = &device.primary;
	return SUCCESS;
}

int driver_primary_context_get_state(int ordinal, unsigned int *ret_flags, int *ret_is_active)
{
	(void)ordinal;
	*ret_flags = device.primary.flags;
	*ret_is_active = 1;
	return SUCCESS;
}

int driver_primary_context_set_flags(int ordinal, unsigned int flags)
{
	(void)ordinal;
	device.primary.flags = flags;
	return SUCCESS;
}

int driver_context_create(struct context **ret_context, unsigned int flags, int ordinal)
{
	struct context *context;

	(void)ordinal;
	context = calloc(1, sizeof(*context));
	if (!context)
		return OUT_OF_MEMORY;
	context->flags = flags;
	current = context;
	*ret_context = context;
	return SUCCESS;
}

int driver_context_destroy(struct context *context)
{
	if (current == context)
		current = NULL;
	if (context != &device.primary)
		free(context);
	return SUCCESS;
}

int driver_context_set_current(struct context *context)
{
	current = context;
	return SUCCESS;
}

int driver_context_get_current(struct context **ret_context)
{
	*ret_context = current;
	return SUCCESS;
}

int driver_context_get_device(int *ret_device)
{
	*ret_device = 0;
	return current ? SUCCESS : INVALID_CONTEXT;
}

int driver_context_synchronize(void)
{
	wait_for(&device.finish_ns, false);
	return SUCCESS;
}

/* Memory: each block is preceded by its size, in the alignment's room */

struct memory_header {
	uint64_t magic;
	uint64_t n;
};
#define MEMORY_MAGIC 0x1a6e205a7d1aull

int driver_mem_alloc(device_ptr *ret_ptr, size_t n)
{
	size_t whole = MEMORY_ALIGN + (n + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
	struct memory_header *header;
	uintptr_t at, old;
	char *memory;

	if (!ret_ptr || n == 0)
		return INVALID_VALUE;
	if (whole < n || __atomic_add_fetch(&device.memory_used, n, __ATOMIC_RELAXED) > device.memory_bytes) {
		__atomic_sub_fetch(&device.memory_used, whole < n ? 0 : n, __ATOMIC_RELAXED);
		return OUT_OF_MEMORY;
	}
	memory = aligned_alloc(MEMORY_ALIGN, whole);
	if (!memory) {
		__atomic_sub_fetch(&device.memory_used, n, __ATOMIC_RELAXED);
		return OUT_OF_MEMORY;
	}
	at = (uintptr_t)memory + MEMORY_ALIGN;
	header = (struct memory_header *)(at - sizeof(*header));
	*header = (struct memory_header){ .magic = MEMORY_MAGIC, .n = n };
	old = __atomic_load_n(&device.memory_low, __ATOMIC_RELAXED);
	while (at < old &&
	       !__atomic_compare_exchange_n(&device.memory_low, &old, at, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	old = __atomic_load_n(&device.memory_high, __ATOMIC_RELAXED);
	while (at > old &&
	       !__atomic_compare_exchange_n(&device.memory_high, &old, at, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	*ret_ptr = at;
	return SUCCESS;
}

int driver_mem_alloc_managed(device_ptr *ret_ptr, size_t n, unsigned int flags)
{
	(void)flags;
	return driver_mem_alloc(ret_ptr, n);
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
	(void)handle;
	return driver_mem_alloc(ret_ptr, n);
}

int driver_mem_alloc_host(void **ret_ptr, size_t n)
{
	device_ptr at = 0;
	int r = driver_mem_alloc(&at, n);

	if (r == SUCCESS)
		*ret_ptr = (void *)at;
	return r;
}

int driver_mem_free(device_ptr at)
{
	struct memory_header *header = (struct memory_header *)(at - sizeof(*header));

	if (at == 0)
		return SUCCESS;
	if (at % MEMORY_ALIGN || at < __atomic_load_n(&device.memory_low, __ATOMIC_RELAXED) ||
	    at > __atomic_load_n(&device.memory_high, __ATOMIC_RELAXED) || header->magic != MEMORY_MAGIC)
		return INVALID_VALUE;
	header->magic = 0;
	__atomic_sub_fetch(&device.memory_used, header->n, __ATOMIC_RELAXED);
	free((void *)(at - MEMORY_ALIGN));
	return SUCCESS;
}

int driver_mem_free_host(void *ptr)
{
	return driver_mem_free((device_ptr)ptr);
}

int driver_mem_free_async(device_ptr at, struct stream *handle)
{
	(void)handle;
	return driver_mem_free(at);
}

int driver_mem_get_info(size_t *ret_free, size_t *ret_total)
{
	*ret_free = device.memory_bytes - __atomic_load_n(&device.memory_used, __ATOMIC_RELAXED);
	*ret_total = device.memory_bytes;
	return SUCCESS;
}

/* Copies. A device pointer is an address, so one function serves all directions. */

static int copy(void *to, const void *from, size_t n, struct stream *handle, bool is_per_thread, bool is_async)
{
	struct stream *stream = stream_find(handle, is_per_thread);

	if (!stream)
		return INVALID_HANDLE;
	if (n && (!to || !from))
		return INVALID_VALUE;
	if (n)
		memmove(to, from, n);
	give_work(stream, copy_ns(n));
	if (!is_async)
		wait_for(&stream->finish_ns, false);
	return SUCCESS;
}

int driver_copy(void *to, const void *from, size_t n)
{
	return copy(to, from, n, NULL, false, false);
}

int driver_copy_ptsz(void *to, const void *from, size_t n)
{
	return copy(to, from, n, NULL, true, false);
}

int driver_copy_async(void *to, const void *from, size_t n, struct stream *handle)
{
	return copy(to, from, n, handle, false, true);
}

int driver_copy_async_ptsz(void *to, const void *from, size_t n, struct stream *handle)
{
	return copy(to, from, n, handle, true, true);
}

/* n elements, each of so many bytes of the value; the lowest first, as everywhere here */
static int set(void *to, const void *value, size_t element_bytes, size_t n, struct stream *handle, bool is_per_thread,
	       bool is_async)
{
	struct stream *stream = stream_find(handle, is_per_thread);

	if (!stream)
		return INVALID_HANDLE;
	if ((n && !to) || (uintptr_t)to % element_bytes)
		return INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		memcpy((char *)to + i * element_bytes, value, element_bytes);
	give_work(stream, copy_ns(n * element_bytes));
	if (!is_async)
		wait_for(&stream->finish_ns, false);
	return SUCCESS;
}

/* The four forms of each: in the legacy stream and the thread's own, at once and in a stream. */
#define SET(name, type)                                                                                                \
	int name(void *to, type value, size_t n)                                                                       \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, NULL, false, false);                                          \
	}                                                                                                              \
	int name##_ptsz(void *to, type value, size_t n)                                                                \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, NULL, true, false);                                           \
	}                                                                                                              \
	int name##_async(void *to, type value, size_t n, struct stream *handle)                                        \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, handle, false, true);                                         \
	}                                                                                                              \
	int name##_async_ptsz(void *to, type value, size_t n, struct stream *handle)                                   \
	{                                                                                                              \
		return set(to, &value, sizeof(value), n, handle, true, true);                                          \
	}

SET(driver_set, unsigned char)
SET(driver_set_16, unsigned short)
SET(driver_set_32, unsigned int)

/* Launches */

static int launch(const void *function, struct stream *handle, bool is_per_thread)
{
	struct stream *stream = stream_find(handle, is_per_thread);

	if (!function || !stream)
		return INVALID_HANDLE;
	give_work(stream, standin_device.kernel_ns);
	return SUCCESS;
}

int driver_launch(const void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		  unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		  struct stream *handle, void **params, void **extra)
{
	(void)shared_bytes, (void)params, (void)extra;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z)
		return INVALID_VALUE;
	return launch(function, handle, false);
}

int driver_launch_ptsz(const void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		       struct stream *handle, void **params, void **extra)
{
	(void)shared_bytes, (void)params, (void)extra;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z)
		return INVALID_VALUE;
	return launch(function, handle, true);
}

struct launch_config {
	unsigned int grid[3], block[3];
	unsigned int shared_bytes;
	struct stream *stream;
	void *attributes;
	unsigned int n_attributes;
};

static int launch_ex(const struct launch_config *config, const void *function, bool is_per_thread)
{
	if (!config)
		return INVALID_VALUE;
	for (size_t i = 0; i < ARRAY_SIZE(config->grid); i++) {
		if (!config->grid[i] || !config->block[i])
			return INVALID_VALUE;
	}
	return launch(function, config->stream, is_per_thread);
}

int driver_launch_ex(const struct launch_config *config, const void *function, void **params, void **extra)
{
	(void)params, (void)extra;
	return launch_ex(config, function, false);
}

int driver_launch_ex_ptsz(const struct launch_config *config, const void *function, void **params, void **extra)
{
	(void)params, (void)extra;
	return launch_ex(config, function, true);
}

/* Streams */

int driver_stream_create(struct stream **ret_stream, unsigned int flags)
{
	(void)flags;
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &device.streams[i];

		if (!__atomic_exchange_n(&stream->is_used, true, __ATOMIC_ACQUIRE)) {
			stream->finish_ns = 0;
			*ret_stream = stream;
			return SUCCESS;
		}
	}
	return OUT_OF_MEMORY;
}

int driver_stream_destroy(struct stream *handle)
{
	struct stream *stream = stream_find(handle, false);

	if (!handle || !stream || stream != handle)
		return INVALID_HANDLE;
	__atomic_store_n(&stream->is_used, false, __ATOMIC_RELEASE);
	return SUCCESS;
}

static int stream_query(struct stream *stream)
{
	if (!stream)
		return INVALID_HANDLE;
	return standin_now_ns() < __atomic_load_n(&stream->finish_ns, __ATOMIC_RELAXED) ? NOT_READY : SUCCESS;
}

int driver_stream_query(struct stream *handle)
{
	return stream_query(stream_find(handle, false));
}

int driver_stream_query_ptsz(struct stream *handle)
{
	return stream_query(stream_find(handle, true));
}

static int stream_synchronize(struct stream *stream)
{
	if (!stream)
		return INVALID_HANDLE;
	wait_for(&stream->finish_ns, false);
	return SUCCESS;
}

int driver_stream_synchronize(struct stream *handle)
{
	return stream_synchronize(stream_find(handle, false));
}

int driver_stream_synchronize_ptsz(struct stream *handle)
{
	return stream_synchronize(stream_find(handle, true));
}

static int stream_wait_event(struct stream *stream, struct event *event)
{
	if (!stream || !event)
		return INVALID_HANDLE;
	raise_to(&stream->finish_ns, __atomic_load_n(&event->at_ns, __ATOMIC_RELAXED));
	return SUCCESS;
}

int driver_stream_wait_event(struct stream *handle, struct event *event, unsigned int flags)
{
	(void)flags;
	return stream_wait_event(stream_find(handle, false), event_find(event));
}

int driver_stream_wait_event_ptsz(struct stream *handle, struct event *event, unsigned int flags)
{
	(void)flags;
	return stream_wait_event(stream_find(handle, true), event_find(event));
}

/* Events */

int driver_event_create(struct event **ret_event, unsigned int flags)
{
	for (size_t i = 0; i < EVENTS_MAX; i++) {
		struct event *event = &device.events[i];

		if (!__atomic_exchange_n(&event->is_used, true, __ATOMIC_ACQUIRE)) {
			event->at_ns = 0;
			event->flags = flags;
			*ret_event = event;
			return SUCCESS;
		}
	}
	return OUT_OF_MEMORY;
}

int driver_event_destroy(struct event *handle)
{
	struct event *event = event_find(handle);

	if (!event)
		return INVALID_HANDLE;
	__atomic_store_n(&event->is_used, false, __ATOMIC_RELEASE);
	return SUCCESS;
}

static int event_record(struct event *event, struct stream *stream)
{
	uint64_t finish_ns;

	if (!event || !stream)
		return INVALID_HANDLE;
	finish_ns = __atomic_load_n(&stream->finish_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&event->at_ns, MAX(finish_ns, standin_now_ns()), __ATOMIC_RELAXED);
	return SUCCESS;
}

int driver_event_record(struct event *event, struct stream *handle)
{
	return event_record(event_find(event), stream_find(handle, false));
}

int driver_event_record_ptsz(struct event *event, struct stream *handle)
{
	return event_record(event_find(event), stream_find(handle, true));
}

int driver_event_query(struct event *handle)
{
	struct event *event = event_find(handle);

	if (!event)
		return INVALID_HANDLE;
	return standin_now_ns() < __atomic_load_n(&event->at_ns, __ATOMIC_RELAXED) ? NOT_READY : SUCCESS;
}

int driver_event_synchronize(struct event *handle)
{
	struct event *event = event_find(handle);

	if (!event)
		return INVALID_HANDLE;
	wait_for(&event->at_ns, event->flags & EVENT_BLOCKING);
	return SUCCESS;
}

int driver_event_elapsed(float *ret_ms, struct event *start, struct event *end)
{
	if (!event_find(start) || !event_find(end) || !start->at_ns || !end->at_ns)
		return INVALID_HANDLE;
	if (standin_now_ns() < MAX(start->at_ns, end->at_ns))
		return NOT_READY;
	*ret_ms = (float)((double)(int64_t)(end->at_ns - start->at_ns) / (double)NSEC_PER_MSEC);
	return SUCCESS;
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *memory = getenv("INGERO_STANDIN_MEMORY");

	device.memory_low = UINTPTR_MAX;
	device.memory_bytes = MEMORY_DEFAULT;
	if (memory && parse_size(memory, &device.memory_bytes) < 0) {
		fprintf(stderr, "ingero stand-in: INGERO_STANDIN_MEMORY: cannot use '%s': want bytes, such as 16g\n",
			memory);
		exit(2);
	}
}
