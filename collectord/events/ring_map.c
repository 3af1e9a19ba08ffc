// SPDX-License-Identifier: Apache-2.0
#include "events/ring_map.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

struct ring_map {
	size_t page_bytes;
	size_t bytes;
	unsigned long *consumed;     /* a page of its own, the only one written here */
	const unsigned char *memory; /* a page that begins with the producer position, then the data */
	size_t record_bytes;	     /* room at `whole` */
	uint64_t *whole;	     /* a record that wraps; its fields are at most 8 bytes wide */
};

static unsigned long load(const unsigned long *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

int ring_map_open(int fd, size_t bytes, size_t record_bytes, struct ring_map **ret_map)
{
	CLEANUP(freep) uint64_t *whole = calloc(record_bytes / sizeof(*whole) + 1, sizeof(*whole));
	CLEANUP(freep) struct ring_map *map = calloc(1, sizeof(*map));
	void *p;
	int r;

	if (!map || !whole)
		return -ENOMEM;
	map->record_bytes = record_bytes;
	map->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	map->bytes = bytes;
	p = mmap(NULL, map->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	map->consumed = p;
	p = mmap(NULL, map->page_bytes + bytes, PROT_READ, MAP_SHARED, fd, (off_t)map->page_bytes);
	if (p == MAP_FAILED) {
		r = -errno;
		(void)munmap(map->consumed, map->page_bytes);
		return r;
	}
	map->memory = p;
	map->whole = TAKE_PTR(whole);
	*ret_map = TAKE_PTR(map);
	return 0;
}

uint64_t ring_map_taken(const struct ring_map *map)
{
	return *map->consumed;
}

void ring_map_close(struct ring_map *map)
{
	if (!map)
		return;
	(void)munmap(map->consumed, map->page_bytes);
	(void)munmap((void *)(uintptr_t)map->memory, map->page_bytes + map->bytes);
	free(map->whole);
	free(map);
}

/* One record, in one part. */
static int record_hand_over(const struct ring_map *map, size_t at, size_t n, ring_map_func func, void *data)
{
	const unsigned char *ring = map->memory + map->page_bytes;
	size_t until_end = map->bytes - at, kept = MIN(n, map->record_bytes);

	if (n <= until_end)
		return func(data, ring + at, n);
	memcpy(map->whole, ring + at, MIN(kept, until_end));
	if (kept > until_end)
		memcpy((unsigned char *)map->whole + until_end, ring, kept - until_end);
	return func(data, map->whole, n);
}

uint64_t ring_map_end(const struct ring_map *map)
{
	return load((const unsigned long *)map->memory);
}

int ring_map_consume(struct ring_map *map, ring_map_func func, void *data)
{
	return ring_map_consume_to(map, ring_map_end(map), func, data);
}

int ring_map_consume_to(struct ring_map *map, uint64_t end, ring_map_func func, void *data)
{
	const unsigned char *ring = map->memory + map->page_bytes;
	unsigned long position = load(map->consumed);
	int n_records = 0, r = 0;

	while (r >= 0 && position < end) {
		/* Headers are 8 bytes wide and aligned, so they are never split. */
		const uint32_t *header = (const uint32_t *)(ring + (position & (map->bytes - 1)));
		uint32_t length = __atomic_load_n(header, __ATOMIC_ACQUIRE), n;

		if (length & BPF_RINGBUF_BUSY_BIT)
			break;
		n = length & ~BPF_RINGBUF_DISCARD_BIT;
		if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
			r = record_hand_over(map, (position + BPF_RINGBUF_HDR_SZ) & (map->bytes - 1), n, func, data);
			n_records++;
		}
		position += (BPF_RINGBUF_HDR_SZ + (unsigned long)n + 7) & ~7ul;
		__atomic_store_n(map->consumed, position, __ATOMIC_RELEASE);
	}
	return r < 0 ? r : n_records;
}
