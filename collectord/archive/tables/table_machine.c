// SPDX-License-Identifier: Apache-2.0
/*
 * Tables about the machine and the recording: system_snapshots, sessions, gaps.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "archive/job.h"
#include "archive/tables/table_list.h"

#define MIB (1024.0 * 1024.0)

/* ---- system_snapshots ---- */

/* Name, type, value, comparison, description. */
#define SNAPSHOTS(C)                                                                                                   \
	C(id, INTEGER, list_i64(list, ++s->n), NONE, "counted from 1 in this statement")                               \
	C(timestamp, INTEGER, list_u64(list, sample->timestamp_unix_ns), TIME, "ns since 1970")                        \
	C(cpu_pct, REAL, list_real(list, sample->cpu_ratio * 100), NONE, "busy share of all CPUs, 0 to 100")           \
	C(mem_pct, REAL, list_real(list, total > 0 ? 100 * (1 - (double)sample->available_bytes / total) : 0), NONE,   \
	  "share of the memory that is not available, 0 to 100")                                                       \
	C(mem_avail, INTEGER, list_i64(list, (int64_t)((double)sample->available_bytes / MIB)), NONE, "MiB")           \
	C(swap_mb, INTEGER, list_i64(list, (int64_t)((double)sample->swap_used_bytes / MIB)), NONE, "MiB in use")      \
	C(load_avg, REAL, list_real(list, sample->load_1min), NONE, "of one minute")                                   \
	C(major_faults, INTEGER, list_u64(list, sample->major_faults), NONE, "since the previous snapshot")            \
	C(pressure_cpu, REAL, pressure_add(list, sample, sample->pressure_cpu), NONE,                                  \
	  "share of the time in which at least one task waited, 0 to 1; NULL: not measured by the kernel")             \
	C(pressure_memory, REAL, pressure_add(list, sample, sample->pressure_memory), NONE, "the same for memory")     \
	C(pressure_io, REAL, pressure_add(list, sample, sample->pressure_io), NONE, "the same for disks")              \
	C(node, TEXT, list_text(list, sample->node), NODE, "name of the machine; empty: not known")

static const struct table_column snapshots_columns[] = { SNAPSHOTS(LIST_COLUMN) };

/* State of a cursor that reads in slices of time: a row a second for a month would take too much memory. */
struct sliced {
	struct table_list list; /* must be first: list_column() and list_stop() use it */
	uint64_t slice_to;
	uint64_t to_unix_ns;
	int64_t n; /* number of rows so far, over all slices */
};

#define SLICE_NS (3600 * NSEC_PER_SEC)

static void pressure_add(struct table_list *list, const Ingero__V1__SystemSample *sample, double value)
{
	if (sample->has_pressure)
		list_real(list, value);
	else
		list_null(list);
}

static int snapshot_row_add(const Ingero__V1__SystemSample *sample, void *data)
{
	struct sliced *s = data;
	struct table_list *list = &s->list;
	double total = (double)sample->memory_bytes;

	SNAPSHOTS(LIST_VALUE)
	return list_row(list);
}

/* Bounds of all sessions: no snapshot lies outside them, whatever bounds the statement has. */
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
	if (r == 0 && s->slice_to == UINT64_MAX) /* a file recorded by Ingero may have no session */
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
		uint64_t from;
		int r;

		if (reader_is_late(c->job))
			return -ETIME;
		/* Where the clock was set, or a file was made by somebody else, years may lie in between. */
		r = store_reader_snapshot_next(c->job->reader, s->slice_to, s->to_unix_ns, &from);
		if (r)
			return r;
		s->slice_to = s->to_unix_ns - from > SLICE_NS ? from + SLICE_NS : s->to_unix_ns;
		s->list.next = s->list.n_rows = 0;
		r = store_reader_snapshots(c->job->reader, from, s->slice_to, snapshot_row_add, s);
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

/* Name, type, value, comparison, description. */
#define SESSIONS(C)                                                                                                    \
	C(id, INTEGER, list_u64(list, list->n_rows + 1), NONE, "counted from 1")                                       \
	C(started_at, INTEGER, list_u64(list, session->start_unix_ns), NONE, "ns since 1970")                          \
	C(stopped_at, INTEGER, list_u64(list, session->end_unix_ns), NONE,                                             \
	  "ns since 1970; 0: continues, or its end was not recorded")                                                  \
	C(gpu_model, TEXT, list_text(list, ""), NONE, "always empty")                                                  \
	C(gpu_driver, TEXT, list_text(list, ""), NONE, "always empty")                                                 \
	C(cpu_model, TEXT, list_text(list, ""), NONE, "always empty")                                                  \
	C(cpu_cores, INTEGER, list_i64(list, session->cpus), NONE, "CPUs")                                             \
	C(mem_total, INTEGER, list_i64(list, (int64_t)((double)session->memory_bytes / MIB)), NONE, "MiB")             \
	C(kernel, TEXT, list_text(list, session->kernel), NONE, "release")                                             \
	C(os_release, TEXT, list_text(list, ""), NONE, "always empty")                                                 \
	C(cuda_ver, TEXT, list_text(list, ""), NONE, "always empty")                                                   \
	C(python_ver, TEXT, list_text(list, ""), NONE, "always empty")                                                 \
	C(ingero_ver, TEXT, list_text(list, session->version), NONE, "version of the recorder")                        \
	C(pid_filter, TEXT, list_text(list, ""), NONE, "always empty")                                                 \
	C(flags, TEXT, list_text(list, session->back_end), NONE,                                                       \
	  "back end of the recorder: session, multi, perf, demo, import")                                              \
	C(node, TEXT, list_text(list, session->node), NONE, "name of the machine")                                     \
	C(rank, INTEGER, list_null(list), NONE, "NULL")                                                                \
	C(local_rank, INTEGER, list_null(list), NONE, "NULL")                                                          \
	C(world_size, INTEGER, list_null(list), NONE, "NULL")

static const struct table_column sessions_columns[] = { SESSIONS(LIST_COLUMN) };

static int session_row_add(const Ingero__V1__Session *session, void *data)
{
	struct table_list *list = data;

	SESSIONS(LIST_VALUE)
	return list_row(list);
}

static int sessions_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);

	return list ? store_reader_sessions(c->job->reader, session_row_add, list) : -ENOMEM;
}

LIST_TABLE(sessions, sessions, 10, "runs of a recorder");

/* ---- gaps ---- */

/* Name, type, value, comparison, description. */
#define GAPS(C)                                                                                                        \
	C(from_time, INTEGER, list_u64(list, gap->from_unix_ns), NONE, "ns since 1970")                                \
	C(to_time, INTEGER, list_u64(list, gap->to_unix_ns), NONE, "ns since 1970")                                    \
	C(reason, TEXT, list_text(list, gap->reason), NONE,                                                            \
	  "what was lost, or how: ring_full, store_queue, damaged, recorder_ended, ...")                               \
	C(count, INTEGER, list_u64(list, gap->count), NONE, "in the reason's unit; 0: not known")                      \
	C(uid, INTEGER, gap->owner_told_case ? list_u64(list, gap->uid) : list_null(list), NONE,                       \
	  "owner of the lost data; NULL: data of the whole machine, or unknown")                                       \
	C(node, TEXT, list_text(list, gap->node), NODE, "name of the machine; empty: not known, or of several")

static const struct table_column gaps_columns[] = { GAPS(LIST_COLUMN) };

static int gap_row_add(const Ingero__V1__Gap *gap, void *data)
{
	struct table_list *list = data;

	GAPS(LIST_VALUE)
	return list_row(list);
}

static int gaps_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);

	return list ? store_reader_gaps(c->job->reader, 0, 0, gap_row_add, list) : -ENOMEM;
}

LIST_TABLE(gaps, gaps, 10, "times with missing data, and why");
