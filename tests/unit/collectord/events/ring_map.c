// SPDX-License-Identifier: Apache-2.0
/*
 * A file laid out as the kernel's ring is: pages of both positions, then the data.
 */
#include "events/ring_map.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/support/check.h"

#define RING_BYTES 4096u
#define RECORDS_MAX 4
#define RECORD_BYTES 200u /* of a record that wraps */

struct ring {
	int fd;
	unsigned long *consumed, *produced;
	unsigned char *data;
};

struct row {
	uint32_t bytes; /* 0: no more records */
	uint32_t flags;
};

struct seen {
	struct ring *ring; /* gets another record for each that is handed over; NULL: none */
	size_t n;
	size_t bytes[RECORDS_MAX];
	bool is_whole[RECORDS_MAX];
	size_t stop_at; /* the function fails for that one, counted from 1; 0: never */
};

static bool ring_make(struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *p;

	ring->fd = memfd_create("ring", MFD_CLOEXEC);
	if (ring->fd < 0 || ftruncate(ring->fd, (off_t)(2 * page + RING_BYTES)) < 0)
		return false;
	p = mmap(NULL, 2 * page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED)
		return false;
	ring->consumed = (unsigned long *)(void *)p;
	ring->produced = (unsigned long *)(void *)(p + page);
	ring->data = p + 2 * page;
	return true;
}

static void ring_free(struct ring *ring, struct ring_map *map)
{
	ring_map_close(map);
	(void)munmap(ring->consumed, 2 * (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
	closep(&ring->fd);
}

static unsigned char byte_of(size_t record, size_t i)
{
	return (unsigned char)(record * 37 + i + 1);
}

static void ring_put(struct ring *ring, size_t number, const struct row *row)
{
	unsigned long at = *ring->produced;
	uint32_t length = row->bytes | row->flags;

	memcpy(ring->data + at % RING_BYTES, &length, sizeof(length));
	for (size_t i = 0; i < row->bytes; i++)
		ring->data[(at + BPF_RINGBUF_HDR_SZ + i) % RING_BYTES] = byte_of(number, i);
	*ring->produced = at + (BPF_RINGBUF_HDR_SZ + row->bytes + 7) / 8 * 8;
}

static int on_record(void *data, const void *record, size_t n)
{
	const unsigned char *bytes = record;
	struct seen *seen = data;
	size_t at = seen->n++, number;

	if (at >= RECORDS_MAX)
		return -EOVERFLOW;
	seen->bytes[at] = n;
	number = (size_t)(bytes[0] - 1) / 37;
	seen->is_whole[at] = true;
	for (size_t i = 0; i < n && i < RECORD_BYTES; i++)
		seen->is_whole[at] &= bytes[i] == byte_of(number, i);
	if (seen->ring)
		ring_put(seen->ring, 0, &(struct row){ 168, 0 });
	return seen->stop_at == seen->n ? -EAGAIN : 0;
}

/* Records that come meanwhile wait for the next time: else a producer that is faster would hold the reader for ever. */
static void check_faster(void)
{
	struct ring_map *map = NULL;
	struct ring ring;
	struct seen seen = { .ring = &ring };

	if (!ring_make(&ring))
		CHECK_SKIP("no memory file");
	for (size_t i = 0; i < 2; i++)
		ring_put(&ring, 0, &(struct row){ 168, 0 });
	CHECK_INT_EQ("faster", ring_map_open(ring.fd, RING_BYTES, RECORD_BYTES, &map), 0);
	for (size_t i = 0; i < 3; i++) {
		seen.n = 0;
		CHECK_INT_EQ("faster", ring_map_consume(map, on_record, &seen), 2);
		CHECK_INT_EQ("what was there", seen.n, 2);
	}
	ring_free(&ring, map);
}

/* What came after a place in the ring was noted waits. */
static void check_end(void)
{
	static const struct row row = { 168, 0 };
	struct ring_map *map = NULL;
	struct seen seen = { .n = 0 };
	struct ring ring;
	uint64_t end;

	if (!ring_make(&ring))
		CHECK_SKIP("no memory file");
	CHECK_INT_EQ("end", ring_map_open(ring.fd, RING_BYTES, RECORD_BYTES, &map), 0);
	ring_put(&ring, 0, &row);
	ring_put(&ring, 0, &row);
	end = ring_map_end(map);
	ring_put(&ring, 0, &row);
	CHECK_INT_EQ("end", ring_map_consume_to(map, end, on_record, &seen), 2);
	CHECK_INT_EQ("end", ring_map_taken(map), end);
	CHECK_INT_EQ("end", ring_map_consume_to(map, end, on_record, &seen), 0);
	CHECK_INT_EQ("end", ring_map_consume(map, on_record, &seen), 1);
	ring_free(&ring, map);
}

int main(void)
{
	static const struct {
		const char *name;
		unsigned long from; /* position at which it begins */
		struct row rows[RECORDS_MAX];
		size_t stop_at;
		size_t expect[RECORDS_MAX]; /* bytes of what is handed over */
		int expect_return;
		uint64_t expect_bytes; /* of the ring */
	} cases[] = {
		{ "nothing", 0, {}, 0, {}, 0, 0 },
		{ "in order", 0, { { 168, 0 }, { 136, 0 }, { 7, 0 } }, 0, { 168, 136, 7 }, 3, 336 },
		{ "of two and of six arguments", 0, { { 168, 0 }, { 200, 0 } }, 0, { 168, 200 }, 2, 384 },
		{ "up to the end", RING_BYTES - 176, { { 168, 0 }, { 16, 0 } }, 0, { 168, 16 }, 2, 200 },
		{ "header before the end, record behind it", RING_BYTES - 8, { { 168, 0 } }, 0, { 168 }, 1, 176 },
		{ "in two parts", RING_BYTES - 64, { { 168, 0 }, { 136, 0 } }, 0, { 168, 136 }, 2, 320 },
		{ "many times round", 999ul * RING_BYTES - 24, { { 168, 0 } }, 0, { 168 }, 1, 176 },
		{ "longer than any, in two parts",
		  RING_BYTES - 400,
		  { { 1000, 0 }, { 8, 0 } },
		  0,
		  { 1000, 8 },
		  2,
		  1024 },
		{ "longer than any, and more before the end than is kept",
		  RING_BYTES - 16,
		  { { 1000, 0 }, { 8, 0 } },
		  0,
		  { 1000, 8 },
		  2,
		  1024 },
		{ "thrown away", 0, { { 168, BPF_RINGBUF_DISCARD_BIT }, { 136, 0 } }, 0, { 136 }, 1, 320 },
		{ "being written", 0, { { 168, 0 }, { 136, BPF_RINGBUF_BUSY_BIT }, { 7, 0 } }, 0, { 168 }, 1, 176 },
		{ "enough for now", 0, { { 168, 0 }, { 136, 0 } }, 1, { 168 }, -EAGAIN, 176 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen seen = { .stop_at = cases[i].stop_at };
		struct ring_map *map = NULL;
		struct ring ring;
		size_t n = 0;

		if (!ring_make(&ring))
			CHECK_SKIP("no memory file");
		*ring.consumed = *ring.produced = cases[i].from;
		for (size_t k = 0; k < RECORDS_MAX && cases[i].rows[k].bytes; k++)
			ring_put(&ring, k, &cases[i].rows[k]);
		CHECK_INT_EQ(cases[i].name, ring_map_open(ring.fd, RING_BYTES, RECORD_BYTES, &map), 0);
		CHECK_INT_EQ(cases[i].name, ring_map_consume(map, on_record, &seen), cases[i].expect_return);
		for (; n < RECORDS_MAX && cases[i].expect[n]; n++) {
			CHECK_INT_EQ(cases[i].name, seen.bytes[n], cases[i].expect[n]);
			CHECK(cases[i].name, seen.is_whole[n]);
		}
		CHECK_INT_EQ(cases[i].name, seen.n, n);
		CHECK_INT_EQ(cases[i].name, ring_map_taken(map) - cases[i].from, cases[i].expect_bytes);
		/* What was taken is not handed over again; what is being written waits. */
		seen = (struct seen){ 0 };
		(void)ring_map_consume(map, on_record, &seen);
		CHECK_INT_EQ(cases[i].name, seen.n, cases[i].stop_at ? 1 : 0);
		ring_free(&ring, map);
	}
	check_faster();
	check_end();
	return check_result();
}
