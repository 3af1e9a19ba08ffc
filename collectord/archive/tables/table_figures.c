// SPDX-License-Identifier: Apache-2.0
/*
 * Tables operations, host_operations and event_aggregates: exact figures, of the whole recording and by bucket.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/tables/tables.h"

/* One row of any of these tables. */
struct figure {
	const struct read_process *process;
	const struct read_op *op;
	uint64_t from_unix_ns, to_unix_ns;
	uint64_t count, errors, total_ns, raw_ns, min_ns, max_ns, bytes, abandoned, untimed;
	uint64_t p50_ns, p95_ns, p99_ns;
	uint64_t kept; /* number of its calls in table events */
	const char *rung;
	double count_error, time_error; /* -1: not known */
	__u64 blame_ns[BLAME_COUNT];
	uint16_t measured;
};

struct state {
	ARRAY(struct figure) figures;
	size_t next;
	uint64_t slice_from, slice_to; /* bounds of the current slice */
	uint64_t to_unix_ns;	       /* end of the last slice */
	uint64_t step_ns;
};

static bool figure_is_wanted(const struct table_limits *limits, const struct read_process *process,
			     const struct read_op *op)
{
	if (!table_wants(limits, process->pid, process->uid))
		return false;
	if (!limits->has_ops)
		return true;
	for (size_t i = 0; op && i < limits->ops.n; i++)
		if (limits->ops.items[i] == op->id)
			return true;
	return false;
}

/* Return: lower edge of the histogram bucket with the shortest call; 0: no call */
static uint64_t min_ns(const struct histogram *h)
{
	uint32_t first = histogram_next(h, 0);

	return first < HISTOGRAM_BUCKETS ? histogram_bucket_low_ns(first) : 0;
}

static int figure_add(struct table_cursor *c, const struct read_figures *f, uint64_t from, uint64_t to)
{
	struct state *s = c->state;
	const struct op_figures *o = &f->figures;
	struct figure row = {
		.process = f->process,
		.op = f->op,
		.from_unix_ns = from,
		.to_unix_ns = to,
		.count = op_figures_count(o),
		.errors = o->errors,
		.total_ns = op_figures_total_ns(o),
		.raw_ns = o->raw_ns,
		.max_ns = o->max_ns,
		.min_ns = min_ns(&o->durations),
		.bytes = op_figures_bytes(o),
		.abandoned = o->abandoned,
		.untimed = o->untimed,
		.measured = f->measured,
		.rung = op_figures_is_exact(o) ? "exact" : "duty",
		.count_error = op_figures_count_error(o),
		.time_error = op_figures_time_error(o),
	};

	if (!figure_is_wanted(&c->limits, f->process, f->op))
		return 0;
	for (int i = 0; i < BLAME_COUNT; i++)
		row.blame_ns[i] = o->blame_ns[i];
	row.min_ns = MIN(row.min_ns, row.max_ns);
	if (c->need & NEED_QUANTILES) {
		row.p50_ns = histogram_quantile(&o->durations, 0.50, o->max_ns);
		row.p95_ns = histogram_quantile(&o->durations, 0.95, o->max_ns);
		row.p99_ns = histogram_quantile(&o->durations, 0.99, o->max_ns);
	}
	return ARRAY_PUSH(&s->figures, row);
}

static int figures_next(struct table_cursor *c)
{
	struct state *s = c->state;

	if (s->next == s->figures.n)
		return 0;
	s->next++;
	return 1;
}

static void figures_stop(struct table_cursor *c)
{
	struct state *s = c->state;

	ARRAY_DONE(&s->figures);
}

static int state_new(struct table_cursor *c)
{
	c->state = calloc(1, sizeof(struct state));
	return c->state ? 0 : -ENOMEM;
}

static const struct figure *current(const struct table_cursor *c)
{
	const struct state *s = c->state;

	return &s->figures.items[s->next - 1];
}

/* ---- operations ---- */

enum operations_column {
#define OPERATIONS(name, type, value, needs, push, what) OPERATIONS_##name,
#include "events/columns.def"
	OPERATIONS_BLAME,
};

static const struct table_column operations_columns[] = {
#define OPERATIONS(name, type, value, needs, push, what) DEFINED_COLUMN(name, type, needs, push, what)
#include "events/columns.def"
#define BLAME(id, field, label, phrase, remedy) BLAME_COLUMN(field, phrase, 0, "sum_dur_raw")
#include "bpf/blame.def"
#undef BLAME
};

/* @are_calls: rows for calls; else for the host: work of the kernel, and waits between calls */
static int totals_start(struct table_cursor *c, bool are_calls)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	const struct table_limits *limits = &c->limits;
	int r = state_new(c);

	if (r == 0)
		r = store_reader_figures(c->job->reader, 0, 0, limits->has_pid ? &limits->pid : NULL, limits->has_pid,
					 &window);
	for (size_t i = 0; i < window.figures.n && r == 0; i++)
		if (read_op_is_call(window.figures.items[i].op) == are_calls)
			r = figure_add(c, &window.figures.items[i], window.from_unix_ns, window.to_unix_ns);
	return r;
}

static int operations_start(struct table_cursor *c)
{
	return totals_start(c, /* are_calls= */ true);
}

static int host_operations_start(struct table_cursor *c)
{
	return totals_start(c, /* are_calls= */ false);
}

#define OP(column) table_result_op(result, c->job, f->op, OP_COLUMN_##column)

static void operations_column(const struct table_cursor *c, int column, sqlite3_context *result)
{
	const struct figure *f = current(c);

	switch ((enum operations_column)column) {
#define OPERATIONS(name, type, value, needs, push, what)                                                               \
	case OPERATIONS_##name:                                                                                        \
		value;                                                                                                 \
		return;
#include "events/columns.def"
	case OPERATIONS_BLAME:
		break;
	}
	table_result_blame(result, f->blame_ns, f->measured, f->raw_ns, column - OPERATIONS_BLAME);
}

const struct table table_operations = {
	.name = "operations",
	.what = "exact figures of every operation that a process called, over the whole recording",
	.columns = operations_columns,
	.n_columns = ARRAY_SIZE(operations_columns),
	.rows = 1000,
	.start = operations_start,
	.next = figures_next,
	.column = operations_column,
	.stop = figures_stop,
};

const struct table table_host_operations = {
	.name = "host_operations",
	.what = "as operations, but for the host: work of the kernel for a process, and waits of its threads between "
		"calls",
	.columns = operations_columns,
	.n_columns = ARRAY_SIZE(operations_columns),
	.rows = 100,
	.start = host_operations_start,
	.next = figures_next,
	.column = operations_column,
	.stop = figures_stop,
};

/* ---- event_aggregates ---- */

enum aggregates_column {
#define AGGREGATES(name, type, value, needs, push, what) AGGREGATES_##name,
#include "events/columns.def"
	AGGREGATES_BLAME,
};

static const struct table_column aggregates_columns[] = {
#define AGGREGATES(name, type, value, needs, push, what) DEFINED_COLUMN(name, type, needs, push, what)
#include "events/columns.def"
#define BLAME(id, field, label, phrase, remedy) BLAME_COLUMN(field, phrase, 0, "sum_dur_raw")
#include "bpf/blame.def"
#undef BLAME
};

/* The table is read in slices to limit memory: of an hour, or of 1/SLICES_MAX of the whole time if that is longer. */
#define SLICE_NS (3600 * NSEC_PER_SEC)
#define SLICES_MAX 2000

static int aggregates_start(struct table_cursor *c)
{
	uint64_t from = 0, to = 0;
	struct state *s;
	int r = state_new(c);

	if (r == 0)
		r = store_reader_span(c->job->reader, &from, &to);
	if (r)
		return r;
	s = c->state;
	/*
	 * Bounds of the statement compare a bucket's start or end, but a bucket belongs to the slice with its middle:
	 * an hour more is read at both ends.
	 */
	if (c->limits.from_unix_ns > from + SLICE_NS)
		from = c->limits.from_unix_ns - SLICE_NS;
	if (c->limits.to_unix_ns && c->limits.to_unix_ns + SLICE_NS < to)
		to = c->limits.to_unix_ns + SLICE_NS;
	s->slice_from = s->slice_to = from;
	s->to_unix_ns = to ? to + 1 : 0;
	s->step_ns = to > from ? MAX(SLICE_NS, (to - from) / SLICES_MAX) : SLICE_NS;
	return 0;
}

static int bucket_rows_add(const struct read_bucket *bucket, void *data)
{
	struct table_cursor *c = data;
	const struct state *s = c->state;
	uint64_t middle = bucket->from_unix_ns + (bucket->to_unix_ns - bucket->from_unix_ns) / 2;
	int r = 0;

	if (reader_is_late(c->job))
		return -ETIME;
	/* For a slice without the middle of any bucket, overlapping buckets are returned: other slices have them. */
	if (middle < s->slice_from || middle >= s->slice_to)
		return 0;
	for (size_t i = 0; i < bucket->n_figures && r == 0; i++)
		r = figure_add(c, &bucket->figures[i], bucket->from_unix_ns, bucket->to_unix_ns);
	return r;
}

static int aggregates_next(struct table_cursor *c)
{
	struct state *s = c->state;

	while (s->next == s->figures.n && s->slice_to < s->to_unix_ns) {
		int r;

		s->slice_from = s->slice_to;
		s->slice_to = MIN(s->slice_from + s->step_ns, s->to_unix_ns);
		s->figures.n = s->next = 0;
		r = store_reader_buckets(c->job->reader, s->slice_from, s->slice_to, bucket_rows_add, c);
		if (r)
			return r;
	}
	return figures_next(c);
}

static void aggregates_column(const struct table_cursor *c, int column, sqlite3_context *result)
{
	const struct figure *f = current(c);

	switch ((enum aggregates_column)column) {
#define AGGREGATES(name, type, value, needs, push, what)                                                               \
	case AGGREGATES_##name:                                                                                        \
		value;                                                                                                 \
		return;
#include "events/columns.def"
	case AGGREGATES_BLAME:
		break;
	}
	table_result_blame(result, f->blame_ns, f->measured, f->raw_ns, column - AGGREGATES_BLAME);
}

const struct table table_event_aggregates = {
	.name = "event_aggregates",
	.what = "the same figures for each interval between two readings, about a second long in the last two minutes, "
		"10 s in the last hour, a minute for days, an hour before that; every call is in exactly one row",
	.columns = aggregates_columns,
	.n_columns = ARRAY_SIZE(aggregates_columns),
	.rows = 1e5,
	.start = aggregates_start,
	.next = aggregates_next,
	.column = aggregates_column,
	.stop = figures_stop,
};
