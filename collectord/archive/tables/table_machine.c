// SPDX-License-Identifier: Apache-2.0
/*
 * Tables about the machine and the recording: system_snapshots, sessions, gaps, stack_traces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_text.h"
#include "archive/job.h"
#include "archive/tables/table_list.h"

#define MIB (1024.0 * 1024.0)

/* ---- system_snapshots ---- */

static const struct table_column snapshots_columns[] = {
	COLUMN("id", "INTEGER", "counted from 1 in this statement"),
	COLUMN("timestamp", "INTEGER", "ns since 1970", .push = PUSH_TIME),
	COLUMN("cpu_pct", "REAL", "busy share of all CPUs, 0 to 100"),
	COLUMN("mem_pct", "REAL", "share of the memory that is not available, 0 to 100"),
	COLUMN("mem_avail", "INTEGER", "MiB"),
	COLUMN("swap_mb", "INTEGER", "MiB in use"),
	COLUMN("load_avg", "REAL", "of one minute"),
	COLUMN("major_faults", "INTEGER", "since the one before"),
	COLUMN("pressure_cpu", "REAL",
	       "share of the time in which some task waited, 0 to 1; NULL: the kernel does not tell"),
	COLUMN("pressure_memory", "REAL", "the same for memory"),
	COLUMN("pressure_io", "REAL", "the same for disks"),
};

/* One of those that are gone through in slices of time: a month of seconds does not fit. */
struct sliced {
	struct table_list list; /* first: list_column() and list_stop() work on it */
	uint64_t slice_to;
	uint64_t to_unix_ns;
	int64_t n; /* rows before this slice */
};

#define SLICE_NS (3600 * NSEC_PER_SEC)

static int snapshot_add(const Ingero__V1__SystemSample *sample, void *data)
{
	struct sliced *s = data;
	struct table_list *list = &s->list;
	double total = (double)sample->memory_bytes;

	list_i64(list, ++s->n);
	list_u64(list, sample->timestamp_unix_ns);
	list_real(list, sample->cpu_ratio * 100);
	list_real(list, total > 0 ? 100 * (1 - (double)sample->available_bytes / total) : 0);
	list_i64(list, (int64_t)((double)sample->available_bytes / MIB));
	list_i64(list, (int64_t)((double)sample->swap_used_bytes / MIB));
	list_real(list, sample->load_1min);
	list_u64(list, sample->major_faults);
	for (int i = 0; i < 3; i++) {
		const double values[] = { sample->pressure_cpu, sample->pressure_memory, sample->pressure_io };

		if (sample->has_pressure)
			list_real(list, values[i]);
		else
			list_null(list);
	}
	return list_row(list);
}

/* From the first session to the last one's end: there is nothing beyond, however far somebody asks. */
static int bounds_take(const Ingero__V1__Session *session, void *data)
{
	struct sliced *s = data;

	s->slice_to = MIN(s->slice_to, session->start_unix_ns);
	s->to_unix_ns = MAX(s->to_unix_ns, MAX(session->start_unix_ns, session->end_unix_ns) + SLICE_NS);
	return 0;
}

static int snapshots_start(struct table_cursor *c)
{
	struct sliced *s = calloc(1, sizeof(*s));
	uint64_t seen = 0;
	int r;

	if (!s)
		return -ENOMEM;
	c->state = s;
	s->list.n_columns = (int)c->table->n_columns;
	s->slice_to = UINT64_MAX;
	r = store_reader_sessions(c->job->reader, bounds_take, s);
	if (r == 0)
		r = store_reader_seen(c->job->reader, &seen);
	if (r == 0 && s->slice_to == UINT64_MAX) /* a file that was recorded by Ingero may know no session */
		r = store_reader_span(c->job->reader, &s->slice_to, &s->to_unix_ns);
	s->to_unix_ns = MAX(s->to_unix_ns, MAX(seen, c->job->now_unix_ns) + SLICE_NS);
	if (c->limits.to_unix_ns)
		s->to_unix_ns = MIN(s->to_unix_ns, c->limits.to_unix_ns);
	s->slice_to = MAX(s->slice_to, c->limits.from_unix_ns);
	return r;
}

static int snapshots_next(struct table_cursor *c)
{
	struct sliced *s = c->state;

	while (s->list.next == s->list.n_rows && s->slice_to < s->to_unix_ns) {
		uint64_t from = s->slice_to;
		int r;

		if (reader_is_late(c->job))
			return -ETIME;
		s->slice_to = MIN(from + SLICE_NS, s->to_unix_ns);
		s->list.next = s->list.n_rows = 0;
		r = store_reader_snapshots(c->job->reader, from, s->slice_to, snapshot_add, s);
		if (r)
			return r;
	}
	return list_next(c);
}

const struct table table_system_snapshots = {
	.name = "system_snapshots",
	.what = "the machine, about once a second",
	.columns = snapshots_columns,
	.n_columns = ARRAY_SIZE(snapshots_columns),
	.rows = 1e5,
	.start = snapshots_start,
	.next = snapshots_next,
	.column = list_column,
	.stop = list_stop,
};

/* ---- sessions ---- */

static const struct table_column sessions_columns[] = {
	COLUMN("id", "INTEGER", "counted from 1"),
	COLUMN("started_at", "INTEGER", "ns since 1970"),
	COLUMN("stopped_at", "INTEGER", "ns since 1970; 0: goes on, or its end was not seen"),
	COLUMN("gpu_model", "TEXT", "always empty"),
	COLUMN("gpu_driver", "TEXT", "always empty"),
	COLUMN("cpu_model", "TEXT", "always empty"),
	COLUMN("cpu_cores", "INTEGER", "CPUs"),
	COLUMN("mem_total", "INTEGER", "MiB"),
	COLUMN("kernel", "TEXT", "release"),
	COLUMN("os_release", "TEXT", "always empty"),
	COLUMN("cuda_ver", "TEXT", "always empty"),
	COLUMN("python_ver", "TEXT", "always empty"),
	COLUMN("ingero_ver", "TEXT", "version of the recorder"),
	COLUMN("pid_filter", "TEXT", "always empty"),
	COLUMN("flags", "TEXT", "how it recorded: session, multi, perf, demo, import"),
	COLUMN("node", "TEXT", "name of the machine"),
	COLUMN("rank", "INTEGER", "NULL"),
	COLUMN("local_rank", "INTEGER", "NULL"),
	COLUMN("world_size", "INTEGER", "NULL"),
};

static int session_add(const Ingero__V1__Session *session, void *data)
{
	struct table_list *list = data;

	list_u64(list, list->n_rows + 1);
	list_u64(list, session->start_unix_ns);
	list_u64(list, session->end_unix_ns);
	list_text(list, "");
	list_text(list, "");
	list_text(list, "");
	list_i64(list, session->cpus);
	list_i64(list, (int64_t)((double)session->memory_bytes / MIB));
	list_text(list, session->kernel);
	list_text(list, "");
	list_text(list, "");
	list_text(list, "");
	list_text(list, session->version);
	list_text(list, "");
	list_text(list, session->back_end);
	list_text(list, session->node);
	list_null(list);
	list_null(list);
	list_null(list);
	return list_row(list);
}

static int sessions_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);

	return list ? store_reader_sessions(c->job->reader, session_add, list) : -ENOMEM;
}

const struct table table_sessions = {
	.name = "sessions",
	.what = "runs of a recorder",
	.columns = sessions_columns,
	.n_columns = ARRAY_SIZE(sessions_columns),
	.rows = 10,
	.start = sessions_start,
	.next = list_next,
	.column = list_column,
	.stop = list_stop,
};

/* ---- gaps ---- */

static const struct table_column gaps_columns[] = {
	COLUMN("from_time", "INTEGER", "ns since 1970"),
	COLUMN("to_time", "INTEGER", "ns since 1970"),
	COLUMN("reason", "TEXT", "what was lost, or how: ring_full, store_queue, damaged, recorder_ended, ..."),
	COLUMN("count", "INTEGER", "in the reason's unit; 0: not known"),
};

static int gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct table_list *list = data;

	list_u64(list, gap->from_unix_ns);
	list_u64(list, gap->to_unix_ns);
	list_text(list, gap->reason);
	list_u64(list, gap->count);
	return list_row(list);
}

static int gaps_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);

	return list ? store_reader_gaps(c->job->reader, 0, 0, gap_add, list) : -ENOMEM;
}

const struct table table_gaps = {
	.name = "gaps",
	.what = "times of which something is missing, and why",
	.columns = gaps_columns,
	.n_columns = ARRAY_SIZE(gaps_columns),
	.rows = 10,
	.start = gaps_start,
	.next = list_next,
	.column = list_column,
	.stop = list_stop,
};

/* ---- stack_traces ---- */

static const struct table_column stacks_columns[] = {
	COLUMN("hash", "INTEGER", "as in events.stack_hash", .push = PUSH_STACK),
	COLUMN("ips", "TEXT", "always empty"),
	COLUMN("frames", "TEXT",
	       "JSON array, innermost first: s symbol, i address that has none, f file, l line; pfn, pf, pl the same "
	       "of Python"),
	COLUMN("is_complete", "INTEGER", "1: reaches to the thread's start"),
};

static int stack_add(const struct read_stack *stack, void *data)
{
	CLEANUP(buf_done) struct buf frames = BUF_INIT;
	struct table_list *list = data;

	buf_append_text(&frames, "[");
	for (size_t i = 0; i < stack->n_frames && !frames.failed; i++) {
		const struct read_frame *f = &stack->frames[i];

		buf_append_text(&frames, i ? ",{" : "{");
		json_text_member(&frames,
				 f->is_python			    ? "pfn"
				 : strncmp(f->symbol, "0x", 2) == 0 ? "i"
								    : "s",
				 f->symbol);
		json_text_member(&frames, f->is_python ? "pf" : "f", f->file);
		if (f->line)
			buf_printf(&frames, "%s\"%s\":%u", frames.data[frames.n - 1] == '{' ? "" : ",",
				   f->is_python ? "pl" : "l", f->line);
		buf_append_text(&frames, "}");
	}
	buf_append_text(&frames, "]");
	if (frames.failed)
		return -ENOMEM;
	list_i64(list, stack->id);
	list_text(list, "");
	list_text(list, buf_text(&frames));
	list_i64(list, stack->is_complete);
	return list_row(list);
}

static int stacks_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);

	if (!list)
		return -ENOMEM;
	if (c->limits.has_stack && !c->limits.stack)
		return 0; /* 0: none was taken */
	return store_reader_stacks(c->job->reader, c->limits.has_stack ? c->limits.stack : 0, stack_add, list);
}

const struct table table_stack_traces = {
	.name = "stack_traces",
	.what = "stacks of calls",
	.columns = stacks_columns,
	.n_columns = ARRAY_SIZE(stacks_columns),
	.rows = 2000,
	.start = stacks_start,
	.next = list_next,
	.column = list_column,
	.stop = list_stop,
};
