// SPDX-License-Identifier: Apache-2.0
/*
 * Tables operations and event_aggregates: exact figures, of all time and by bucket.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/tables/tables.h"

/* One row of either. */
struct figure {
	const struct read_process *process;
	const struct read_op *op;
	uint64_t from_unix_ns, to_unix_ns;
	uint64_t count, errors, total_ns, raw_ns, min_ns, max_ns, bytes, abandoned, untimed;
	uint64_t p50_ns, p95_ns, p99_ns;
	uint64_t kept; /* calls of it in table events */
	__u64 blame_ns[BLAME_COUNT];
	uint16_t measured;
};

struct state {
	ARRAY(struct figure) figures;
	size_t next;
	uint64_t slice_from, slice_to; /* of what is being gone through */
	uint64_t to_unix_ns;	       /* where it ends */
	uint64_t step_ns;
};

static bool is_wanted(const struct table_limits *limits, const struct read_process *process, const struct read_op *op)
{
	if ((limits->has_pid && process->pid != limits->pid) || (limits->has_uid && process->uid != limits->uid))
		return false;
	if (!limits->has_ops)
		return true;
	for (size_t i = 0; op && i < limits->ops.n; i++)
		if (limits->ops.items[i] == op->id)
			return true;
	return false;
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
		.total_ns = o->total_ns,
		.raw_ns = o->raw_ns,
		.max_ns = o->max_ns,
		.min_ns = o->durations.n ? histogram_bucket_low_ns(o->durations.first) : 0,
		.bytes = o->bytes,
		.abandoned = o->abandoned,
		.untimed = o->untimed,
		.measured = f->measured,
	};

	if (!is_wanted(&c->limits, f->process, f->op))
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
	OPERATIONS_PID,
	OPERATIONS_START_TIME,
	OPERATIONS_EXEC_GENERATION,
	OPERATIONS_COMM,
	OPERATIONS_UID,
	OPERATIONS_SOURCE,
	OPERATIONS_OP,
	OPERATIONS_SOURCE_NAME,
	OPERATIONS_OP_NAME,
	OPERATIONS_COUNT,
	OPERATIONS_ERRORS,
	OPERATIONS_SUM_DUR,
	OPERATIONS_SUM_DUR_RAW,
	OPERATIONS_MIN_DUR,
	OPERATIONS_MAX_DUR,
	OPERATIONS_P50,
	OPERATIONS_P95,
	OPERATIONS_P99,
	OPERATIONS_BYTES,
	OPERATIONS_ABANDONED,
	OPERATIONS_UNTIMED,
	OPERATIONS_BLAME,
};

static const struct table_column operations_columns[] = {
	[OPERATIONS_PID] = COLUMN("pid", "INTEGER", "process", .push = PUSH_PID),
	[OPERATIONS_START_TIME] = COLUMN("start_time", "INTEGER", "start of the process, ns since 1970"),
	[OPERATIONS_EXEC_GENERATION] =
		COLUMN("exec_generation", "INTEGER", "programs that the process had become before"),
	[OPERATIONS_COMM] = COLUMN("comm", "TEXT", "name of the process"),
	[OPERATIONS_UID] = COLUMN("uid", "INTEGER", "owner of the process", .push = PUSH_UID),
	[OPERATIONS_SOURCE] = COLUMN("source", "INTEGER", "sources.id", .push = PUSH_SOURCE),
	[OPERATIONS_OP] = COLUMN("op", "INTEGER", "ops.op_id, together with source", .push = PUSH_OP),
	[OPERATIONS_SOURCE_NAME] = COLUMN("source_name", "TEXT", "cuda, driver, ..."),
	[OPERATIONS_OP_NAME] =
		COLUMN("op_name", "TEXT", "name of the operation; NULL: counted without it", .push = PUSH_OP_NAME),
	[OPERATIONS_COUNT] = COLUMN("count", "INTEGER", "calls, kept or not"),
	[OPERATIONS_ERRORS] = COLUMN("errors", "INTEGER", "calls that returned an error"),
	[OPERATIONS_SUM_DUR] = COLUMN("sum_dur", "INTEGER", "ns, the tracer's own share taken out"),
	[OPERATIONS_SUM_DUR_RAW] = COLUMN("sum_dur_raw", "INTEGER", "ns, with it"),
	[OPERATIONS_MIN_DUR] = COLUMN("min_dur", "INTEGER", "ns, lower edge of the shortest call's bucket (1/16 wide)"),
	[OPERATIONS_MAX_DUR] = COLUMN("max_dur", "INTEGER", "ns, the longest call"),
	[OPERATIONS_P50] = COLUMN("p50", "INTEGER", "ns, half of the calls took no longer", .need = NEED_QUANTILES),
	[OPERATIONS_P95] = COLUMN("p95", "INTEGER", "ns", .need = NEED_QUANTILES),
	[OPERATIONS_P99] = COLUMN("p99", "INTEGER", "ns", .need = NEED_QUANTILES),
	[OPERATIONS_BYTES] = COLUMN("bytes", "INTEGER", "of operations that allocate or copy"),
	[OPERATIONS_ABANDONED] = COLUMN("abandoned", "INTEGER", "calls that never returned"),
	[OPERATIONS_UNTIMED] = COLUMN("untimed", "INTEGER", "of the calls, those that were counted alone"),
	BLAME_COLUMNS(0, "sum_dur_raw"),
};

static int operations_start(struct table_cursor *c)
{
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	const struct table_limits *limits = &c->limits;
	int r = state_new(c);

	if (r == 0)
		r = store_reader_window(c->job->reader, 0, 0, limits->has_pid ? &limits->pid : NULL, limits->has_pid,
					&window);
	for (size_t i = 0; i < window.figures.n && r == 0; i++)
		r = figure_add(c, &window.figures.items[i], window.from_unix_ns, window.to_unix_ns);
	return r;
}

static void result_op(const struct read_op *op, bool is_source, bool is_name, sqlite3_context *result)
{
	int64_t source, number;

	if (is_name) {
		if (op)
			table_result_text(result, is_source ? op->source : op->name);
		return;
	}
	table_op_number(op, &source, &number);
	sqlite3_result_int64(result, is_source ? source : number);
}

static void operations_column(const struct table_cursor *c, int column, sqlite3_context *result)
{
	const struct figure *f = current(c);
	const uint64_t numbers[] = {
		[OPERATIONS_PID] = f->process->pid,    [OPERATIONS_START_TIME] = f->process->start_unix_ns,
		[OPERATIONS_UID] = f->process->uid,    [OPERATIONS_EXEC_GENERATION] = f->process->exec_gen,
		[OPERATIONS_COUNT] = f->count,	       [OPERATIONS_ERRORS] = f->errors,
		[OPERATIONS_SUM_DUR] = f->total_ns,    [OPERATIONS_SUM_DUR_RAW] = f->raw_ns,
		[OPERATIONS_MIN_DUR] = f->min_ns,      [OPERATIONS_MAX_DUR] = f->max_ns,
		[OPERATIONS_P50] = f->p50_ns,	       [OPERATIONS_P95] = f->p95_ns,
		[OPERATIONS_P99] = f->p99_ns,	       [OPERATIONS_BYTES] = f->bytes,
		[OPERATIONS_ABANDONED] = f->abandoned, [OPERATIONS_UNTIMED] = f->untimed,
	};

	if (column >= OPERATIONS_BLAME)
		table_result_blame(result, f->blame_ns, f->measured, f->raw_ns, column - OPERATIONS_BLAME);
	else if (column == OPERATIONS_COMM)
		table_result_text(result, f->process->comm);
	else if (column >= OPERATIONS_SOURCE && column <= OPERATIONS_OP_NAME)
		result_op(f->op, column == OPERATIONS_SOURCE || column == OPERATIONS_SOURCE_NAME,
			  column >= OPERATIONS_SOURCE_NAME, result);
	else
		table_result_u64(result, numbers[column]);
}

const struct table table_operations = {
	.name = "operations",
	.what = "exact figures of every operation of every process, over all the time that is kept",
	.columns = operations_columns,
	.n_columns = ARRAY_SIZE(operations_columns),
	.rows = 1000,
	.start = operations_start,
	.next = figures_next,
	.column = operations_column,
	.stop = figures_stop,
};

/* ---- event_aggregates ---- */

enum aggregates_column {
	AGGREGATES_BUCKET,
	AGGREGATES_SOURCE,
	AGGREGATES_OP,
	AGGREGATES_PID,
	AGGREGATES_COUNT,
	AGGREGATES_STORED,
	AGGREGATES_SUM_DUR,
	AGGREGATES_MIN_DUR,
	AGGREGATES_MAX_DUR,
	AGGREGATES_SUM_ARG0,
	AGGREGATES_BUCKET_END,
	AGGREGATES_UID,
	AGGREGATES_COMM,
	AGGREGATES_SOURCE_NAME,
	AGGREGATES_OP_NAME,
	AGGREGATES_ERRORS,
	AGGREGATES_SUM_DUR_RAW,
	AGGREGATES_P50,
	AGGREGATES_P95,
	AGGREGATES_P99,
	AGGREGATES_BLAME,
};

static const struct table_column aggregates_columns[] = {
	[AGGREGATES_BUCKET] =
		COLUMN("bucket", "INTEGER",
		       "where it begins, ns since 1970; 10 s, a minute or an hour long; of the last 10 s, a second",
		       .push = PUSH_TIME),
	[AGGREGATES_SOURCE] = COLUMN("source", "INTEGER", "sources.id", .push = PUSH_SOURCE),
	[AGGREGATES_OP] = COLUMN("op", "INTEGER", "ops.op_id, together with source", .push = PUSH_OP),
	[AGGREGATES_PID] = COLUMN("pid", "INTEGER", "process", .push = PUSH_PID),
	[AGGREGATES_COUNT] = COLUMN("count", "INTEGER", "calls, kept or not"),
	[AGGREGATES_STORED] = COLUMN("stored", "INTEGER", "NULL: count them in events"),
	[AGGREGATES_SUM_DUR] = COLUMN("sum_dur", "INTEGER", "ns"),
	[AGGREGATES_MIN_DUR] = COLUMN("min_dur", "INTEGER", "ns, lower edge of the shortest call's bucket (1/16 wide)"),
	[AGGREGATES_MAX_DUR] = COLUMN("max_dur", "INTEGER", "ns, the longest call"),
	[AGGREGATES_SUM_ARG0] = COLUMN("sum_arg0", "INTEGER", "bytes, of operations that allocate or copy"),
	[AGGREGATES_BUCKET_END] = COLUMN("bucket_end", "INTEGER", "where it ends, ns since 1970"),
	[AGGREGATES_UID] = COLUMN("uid", "INTEGER", "owner of the process", .push = PUSH_UID),
	[AGGREGATES_COMM] = COLUMN("comm", "TEXT", "name of the process"),
	[AGGREGATES_SOURCE_NAME] = COLUMN("source_name", "TEXT", "cuda, driver, ..."),
	[AGGREGATES_OP_NAME] =
		COLUMN("op_name", "TEXT", "name of the operation; NULL: counted without it", .push = PUSH_OP_NAME),
	[AGGREGATES_ERRORS] = COLUMN("errors", "INTEGER", "calls that returned an error"),
	[AGGREGATES_SUM_DUR_RAW] = COLUMN("sum_dur_raw", "INTEGER", "ns, with the tracer's share"),
	[AGGREGATES_P50] =
		COLUMN("p50", "INTEGER", "ns, half of the bucket's calls took no longer", .need = NEED_QUANTILES),
	[AGGREGATES_P95] = COLUMN("p95", "INTEGER", "ns", .need = NEED_QUANTILES),
	[AGGREGATES_P99] = COLUMN("p99", "INTEGER", "ns", .need = NEED_QUANTILES),
	BLAME_COLUMNS(0, "sum_dur_raw"),
};

/* Gone through in pieces of an hour, or a two thousandth of it all: what is held at once stays small. */
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
	/* Buckets belong to a slice by their middle: those at the edges need an hour more. */
	if (c->limits.from_unix_ns > from)
		from = c->limits.from_unix_ns;
	if (c->limits.to_unix_ns && c->limits.to_unix_ns + SLICE_NS < to)
		to = c->limits.to_unix_ns + SLICE_NS;
	s->slice_from = s->slice_to = from;
	s->to_unix_ns = to ? to + 1 : 0;
	s->step_ns = to > from ? MAX(SLICE_NS, (to - from) / SLICES_MAX) : SLICE_NS;
	return 0;
}

static int bucket_add(const struct read_bucket *bucket, void *data)
{
	struct table_cursor *c = data;
	const struct state *s = c->state;
	uint64_t middle = bucket->from_unix_ns + (bucket->to_unix_ns - bucket->from_unix_ns) / 2;
	int r = 0;

	if (reader_is_late(c->job))
		return -ETIME;
	/* A slice that no bucket's middle lies in is answered with those around it: they are another's. */
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
		r = store_reader_buckets(c->job->reader, s->slice_from, s->slice_to, bucket_add, c);
		if (r)
			return r;
	}
	return figures_next(c);
}

static void aggregates_column(const struct table_cursor *c, int column, sqlite3_context *result)
{
	const struct figure *f = current(c);
	const uint64_t numbers[] = {
		[AGGREGATES_BUCKET] = f->from_unix_ns, [AGGREGATES_BUCKET_END] = f->to_unix_ns,
		[AGGREGATES_PID] = f->process->pid,    [AGGREGATES_COUNT] = f->count,
		[AGGREGATES_SUM_DUR] = f->total_ns,    [AGGREGATES_MIN_DUR] = f->min_ns,
		[AGGREGATES_MAX_DUR] = f->max_ns,      [AGGREGATES_SUM_ARG0] = f->bytes,
		[AGGREGATES_UID] = f->process->uid,    [AGGREGATES_ERRORS] = f->errors,
		[AGGREGATES_SUM_DUR_RAW] = f->raw_ns,  [AGGREGATES_P50] = f->p50_ns,
		[AGGREGATES_P95] = f->p95_ns,	       [AGGREGATES_P99] = f->p99_ns,
	};

	if (column >= AGGREGATES_BLAME)
		table_result_blame(result, f->blame_ns, f->measured, f->raw_ns, column - AGGREGATES_BLAME);
	else if (column == AGGREGATES_STORED)
		return; /* NULL */
	else if (column == AGGREGATES_COMM)
		table_result_text(result, f->process->comm);
	else if (column == AGGREGATES_SOURCE || column == AGGREGATES_SOURCE_NAME || column == AGGREGATES_OP ||
		 column == AGGREGATES_OP_NAME)
		result_op(f->op, column == AGGREGATES_SOURCE || column == AGGREGATES_SOURCE_NAME,
			  column >= AGGREGATES_SOURCE_NAME, result);
	else
		table_result_u64(result, numbers[column]);
}

const struct table table_event_aggregates = {
	.name = "event_aggregates",
	.what = "the same figures between two readings each, about 10 s apart in the last hour, a minute for days, an "
		"hour before that; every call is in one row",
	.columns = aggregates_columns,
	.n_columns = ARRAY_SIZE(aggregates_columns),
	.rows = 1e5,
	.start = aggregates_start,
	.next = aggregates_next,
	.column = aggregates_column,
	.stop = figures_stop,
};
