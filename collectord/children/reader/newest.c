// SPDX-License-Identifier: Apache-2.0
#include "children/reader/newest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "children/reader/job.h"

/* The newest starts so far, the oldest of them on top. */
struct newest {
	uint64_t *starts;
	uint64_t n;
	uint64_t room;
	uint64_t n_ties; /* calls beyond that start when the oldest kept one does */
};

static void starts_down(uint64_t *heap, uint64_t n)
{
	uint64_t i = 0;

	for (;;) {
		uint64_t least = i, left = 2 * i + 1, right = left + 1, swap = heap[i];

		if (left < n && heap[left] < heap[least])
			least = left;
		if (right < n && heap[right] < heap[least])
			least = right;
		if (least == i)
			return;
		heap[i] = heap[least];
		heap[least] = swap;
		i = least;
	}
}

static void starts_add(struct newest *newest, uint64_t start)
{
	uint64_t *heap = newest->starts, i = newest->n;

	if (newest->n < newest->room) {
		heap[newest->n++] = start;
		for (; i && heap[i] < heap[(i - 1) / 2]; i = (i - 1) / 2) {
			uint64_t swap = heap[i];

			heap[i] = heap[(i - 1) / 2];
			heap[(i - 1) / 2] = swap;
		}
		return;
	}
	if (start < heap[0])
		return;
	if (start == heap[0]) {
		newest->n_ties++;
		return;
	}
	i = heap[0];
	heap[0] = start;
	starts_down(heap, newest->n);
	/* The one that was pushed out ties with what is now the oldest, or nothing does any more. */
	newest->n_ties = heap[0] == i ? newest->n_ties + 1 : 0;
}

int reader_newest(struct reader_job *job, const struct read_filter *filter, uint64_t n, uint64_t *ret_unix_ns,
		  uint64_t *ret_surplus)
{
	struct read_filter newest_first = *filter;
	struct newest newest = { .room = n };
	struct read_cursor *cursor = NULL;
	struct read_batch batch;
	int r;

	newest_first.columns = 0;
	newest_first.newest_first = true;
	*ret_unix_ns = *ret_surplus = 0;
	newest.starts = calloc(n, sizeof(*newest.starts));
	if (!newest.starts)
		return -ENOMEM;

	r = store_reader_cursor_open(job->reader, &newest_first, &cursor);
	while (r == 0 && (r = read_cursor_next(cursor, &batch)) == 1) {
		for (size_t i = 0; i < batch.n; i++)
			starts_add(&newest, batch.events[i].start_unix_ns);
		r = reader_is_late(job) ? -ETIME : 0;
		if (newest.n == n && batch.bound_unix_ns < newest.starts[0])
			break;
	}
	read_cursor_close(cursor);
	if (r == 0 && newest.n == n) {
		*ret_unix_ns = newest.starts[0];
		*ret_surplus = newest.n_ties;
	}
	free(newest.starts);
	return r;
}
