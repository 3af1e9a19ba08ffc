// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/bounds.h"

#include "base/cleanup.h"
#include "archive/job.h"

/* Bounds of the rows that contain one end of the window. */
struct around {
	const uint32_t *pids;
	size_t n_pids;
	uint64_t from_unix_ns, to_unix_ns; /* to_unix_ns 0: not set */
	uint64_t row_ns;
};

/* Extends the bounds by a row, if it has figures of the processes. */
static int bounds_row_take(const struct read_bucket *bucket, void *data)
{
	struct around *around = data;
	bool is_wanted = false;

	for (size_t i = 0; i < bucket->n_figures && !is_wanted; i++)
		is_wanted = read_pid_is_wanted(around->pids, around->n_pids, bucket->figures[i].process->pid);
	for (size_t i = 0; i < bucket->n_parts && !is_wanted; i++)
		is_wanted = read_pid_is_wanted(around->pids, around->n_pids, bucket->parts[i].process->pid);
	if (!is_wanted)
		return 0;
	around->from_unix_ns = MIN(around->from_unix_ns, bucket->from_unix_ns);
	around->to_unix_ns = MAX(around->to_unix_ns, bucket->to_unix_ns);
	around->row_ns = MAX(around->row_ns, bucket->to_unix_ns - bucket->from_unix_ns);
	return 0;
}

int reader_bounds_widen(struct reader_job *job, const uint32_t *pids, size_t n_pids, struct reader_bounds *bounds)
{
	uint64_t from = bounds->from_unix_ns, to = bounds->to_unix_ns;
	int r = 0;

	ingero__v1__widened__init(&bounds->widened);
	bounds->widened.asked_from_unix_ns = from;
	bounds->widened.asked_to_unix_ns = to;
	if (from) {
		struct around around = { .pids = pids, .n_pids = n_pids, .from_unix_ns = from };

		r = store_reader_buckets(job->reader, from, from + 1, bounds_row_take, &around);
		if (around.from_unix_ns < from)
			bounds->widened.row_ns = around.row_ns;
		bounds->from_unix_ns = around.from_unix_ns;
	}
	if (r == 0 && to) {
		struct around around = { .pids = pids, .n_pids = n_pids, .from_unix_ns = to, .to_unix_ns = to };

		r = store_reader_buckets(job->reader, to - 1, to, bounds_row_take, &around);
		if (around.to_unix_ns > to)
			bounds->widened.row_ns = MAX(bounds->widened.row_ns, around.row_ns);
		bounds->to_unix_ns = around.to_unix_ns;
	}
	return r;
}

void reader_bounds_tell(struct reader_bounds *bounds, Ingero__V1__Window *window)
{
	if (bounds->widened.row_ns)
		window->widened = &bounds->widened;
}
