// SPDX-License-Identifier: Apache-2.0
/*
 * A plain SQLite file of what a reader may see: table after table, in one transaction.
 */
#include "archive/export/export.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "archive/export/tables.h"
#include "archive/foreign/ingero_names.h"

#define MIB (1ull << 20)
#define MINUTE_NS (60 * NSEC_PER_SEC)
/*
 * Numbers of operations that Ingero has none for, in the order in which they are met: above its own, and in a byte, as
 * it holds them. The last is shared by all that do not fit.
 */
#define OWN_OP_BASE 64
#define OWN_OP_MOST 255

static int error_of(int result)
{
	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
	case SQLITE_TOOBIG:
		return -ENOMEM;
	case SQLITE_INTERRUPT:
		return -ETIME;
	default:
		return -EIO;
	}
}

int export_prepare(struct export *e, const char *sql)
{
	sqlite3_finalize(e->statement);
	e->statement = NULL;
	return error_of(sqlite3_prepare_v2(e->out, sql, -1, &e->statement, NULL));
}

int export_step(struct export *e)
{
	int result = sqlite3_step(e->statement);

	sqlite3_reset(e->statement); /* its result is the step's */
	sqlite3_clear_bindings(e->statement);
	return error_of(result);
}

/* The text is read until export_step(). */
void export_bind_text(struct export *e, int parameter, const char *text)
{
	sqlite3_bind_text(e->statement, parameter, text, -1, SQLITE_STATIC);
}

void export_bind_u64(struct export *e, int parameter, uint64_t value)
{
	sqlite3_bind_int64(e->statement, parameter, (int64_t)value);
}

int export_exec(struct export *e, const char *sql)
{
	return error_of(sqlite3_exec(e->out, sql, NULL, NULL, NULL));
}

static int session_write(const Ingero__V1__Session *session, void *data)
{
	struct export *e = data;

	snprintf(e->node_text, sizeof(e->node_text), "%s", *session->node ? session->node : e->node_text);
	export_bind_u64(e, 1, session->start_unix_ns);
	export_bind_u64(e, 2, session->end_unix_ns);
	export_bind_u64(e, 3, session->cpus);
	export_bind_u64(e, 4, session->memory_bytes / MIB);
	export_bind_text(e, 5, session->kernel);
	export_bind_text(e, 6, session->version);
	export_bind_text(e, 7, session->back_end);
	export_bind_text(e, 8, session->node);
	return export_step(e);
}

static int sessions_write(struct export *e)
{
	int r = export_prepare(e, "INSERT INTO sessions (started_at, stopped_at, cpu_cores, mem_total, kernel,"
				  " ingero_ver, flags, node) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");

	return r < 0 ? r : store_reader_sessions(e->reader, session_write, e);
}

static int source_number(const char *name, int64_t *ret_number)
{
	for (size_t i = 0; i < ingero_source_count; i++)
		if (!strcmp(ingero_sources[i].name, name)) {
			*ret_number = ingero_sources[i].id;
			return 0;
		}
	return -ENOENT;
}

/* Writes the row of an operation that the table of names has not. */
static int op_note(const struct read_op *op, void *data)
{
	struct export *e = data;
	struct export_op noted = { .id = op->id };
	int r;

	if (source_number(op->source, &noted.source) < 0)
		noted.source = 0; /* "unknown(N)" of a foreign file */
	for (size_t i = 0; i < ingero_op_count && !noted.number; i++)
		/* Graphs are of the runtime, and to Ingero of a source of their own. */
		if ((ingero_ops[i].source == noted.source ||
		     (ingero_ops[i].source == INGERO_GRAPH && noted.source == INGERO_CUDA)) &&
		    !strcmp(ingero_ops[i].name, op->short_name)) {
			noted.source = ingero_ops[i].source;
			noted.number = ingero_ops[i].id;
		}
	if (!noted.number) {
		noted.number = MIN(OWN_OP_BASE + e->n_own_ops++, OWN_OP_MOST);
		sqlite3_bind_int64(e->statement, 1, noted.source);
		sqlite3_bind_int64(e->statement, 2, noted.number);
		export_bind_text(e, 3, op->short_name);
		r = export_step(e);
		if (r < 0)
			return r;
	}
	return ARRAY_PUSH(&e->ops, noted);
}

static int lookups_write(struct export *e)
{
	int r = export_prepare(e, "INSERT INTO sources VALUES (?1, ?2, ?3)");

	for (size_t i = 0; r == 0 && i < ingero_source_count; i++) {
		sqlite3_bind_int64(e->statement, 1, ingero_sources[i].id);
		export_bind_text(e, 2, ingero_sources[i].label);
		export_bind_text(e, 3, ingero_sources[i].describe);
		r = export_step(e);
	}
	if (r == 0)
		r = export_prepare(e, "INSERT OR IGNORE INTO ops VALUES (?1, ?2, ?3, ?3)");
	for (size_t i = 0; r == 0 && i < ingero_op_count; i++) {
		sqlite3_bind_int64(e->statement, 1, ingero_ops[i].source);
		sqlite3_bind_int64(e->statement, 2, ingero_ops[i].id);
		export_bind_text(e, 3, ingero_ops[i].name);
		r = export_step(e);
	}
	return r < 0 ? r : store_reader_ops(e->reader, op_note, e);
}

static const struct export_op *op_find(const struct export *e, uint32_t id)
{
	for (size_t i = 0; i < e->ops.n; i++)
		if (e->ops.items[i].id == id)
			return &e->ops.items[i];
	return NULL;
}

static int event_write(const struct read_event *event, void *data)
{
	struct export *e = data;
	const struct stored_event *stored = event->event;
	const struct export_op *op = op_find(e, stored->op);
	/* 64 bytes of the node, and the number */
	char id[sizeof(e->node_text) + 24];

	snprintf(id, sizeof(id), "%s:%llu", e->node, (unsigned long long)++e->n_events);
	export_bind_text(e, 1, id);
	export_bind_u64(e, 2, event->start_unix_ns);
	export_bind_u64(e, 3, event->process->pid);
	export_bind_u64(e, 4, stored->call.tid);
	sqlite3_bind_int64(e->statement, 5, op ? op->source : 0);
	sqlite3_bind_int64(e->statement, 6, op ? op->number : 0);
	export_bind_u64(e, 7, stored->call.duration_ns);
	export_bind_u64(e, 8, stored->call.args[0]);
	export_bind_u64(e, 9, stored->call.args[1]);
	sqlite3_bind_int64(e->statement, 10, stored->call.ret);
	sqlite3_bind_int64(e->statement, 11, export_stack_hash(e, stored->stack));
	export_bind_text(e, 12, e->node);
	export_bind_text(e, 13, event->process->comm);
	return export_step(e);
}

static int events_write(struct export *e)
{
	struct read_filter filter = {
		.from_unix_ns = e->request.from_unix_ns,
		.to_unix_ns = e->request.to_unix_ns,
		.pids = e->request.pids,
		.n_pids = e->request.n_pids,
		.columns = BLOCK_ALL_COLUMNS,
	};
	int r = export_prepare(e, "INSERT INTO events (id, timestamp, pid, tid, source, op, duration, arg0, arg1,"
				  " ret_code, stack_hash, node, comm)"
				  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");

	return r < 0 ? r : store_reader_events(e->reader, &filter, event_write, e);
}

static int process_write(const struct read_process *process, void *data)
{
	struct export *e = data;

	if (!*process->comm || !read_pid_is_wanted(e->request.pids, e->request.n_pids, process->pid) ||
	    (process->gone_unix_ns && process->gone_unix_ns < e->request.from_unix_ns) ||
	    (e->request.to_unix_ns && process->first_unix_ns >= e->request.to_unix_ns))
		return 0;
	export_bind_u64(e, 1, process->pid);
	export_bind_text(e, 2, process->comm);
	export_bind_u64(e, 3, process->first_unix_ns);
	return export_step(e);
}

static int processes_write(struct export *e)
{
	int r = export_prepare(e, "INSERT INTO process_names VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE"
				  " SET name = excluded.name, seen_at = excluded.seen_at"
				  " WHERE excluded.seen_at >= seen_at");

	return r < 0 ? r : store_reader_processes(e->reader, process_write, e);
}

static int snapshot_write(const Ingero__V1__SystemSample *sample, void *data)
{
	struct export *e = data;
	double used_ratio =
		sample->memory_bytes ? 1 - (double)sample->available_bytes / (double)sample->memory_bytes : 0;

	export_bind_u64(e, 1, sample->timestamp_unix_ns);
	sqlite3_bind_double(e->statement, 2, sample->cpu_ratio * 100);
	sqlite3_bind_double(e->statement, 3, used_ratio * 100);
	export_bind_u64(e, 4, sample->available_bytes / MIB);
	export_bind_u64(e, 5, sample->swap_used_bytes / MIB);
	sqlite3_bind_double(e->statement, 6, sample->load_1min);
	return export_step(e);
}

static int snapshots_write(struct export *e)
{
	int r = export_prepare(e, "INSERT OR IGNORE INTO system_snapshots (timestamp, cpu_pct, mem_pct, mem_avail,"
				  " swap_mb, load_avg) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");

	return r < 0 ? r
		     : store_reader_snapshots(e->reader, e->request.from_unix_ns, e->request.to_unix_ns, snapshot_write,
					      e);
}

/* Lower edge of the bucket of the shortest call. */
static uint64_t min_ns(const struct op_figures *figures)
{
	const struct histogram *h = &figures->durations;

	for (uint32_t i = h->first; i < (uint32_t)h->first + h->n; i++)
		if (histogram_count(h, i))
			return histogram_bucket_low_ns(i);
	return 0;
}

static int bucket_write(const struct read_bucket *bucket, void *data)
{
	struct export *e = data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < bucket->n_figures; i++) {
		const struct read_figures *f = &bucket->figures[i];
		const struct export_op *op = f->op ? op_find(e, f->op->id) : NULL;

		if (!read_pid_is_wanted(e->request.pids, e->request.n_pids, f->process->pid))
			continue;
		export_bind_u64(e, 1, bucket->from_unix_ns - bucket->from_unix_ns % MINUTE_NS);
		sqlite3_bind_int64(e->statement, 2, op ? op->source : 0);
		sqlite3_bind_int64(e->statement, 3, op ? op->number : 0);
		export_bind_u64(e, 4, f->process->pid);
		export_bind_u64(e, 5, op_figures_count(&f->figures));
		export_bind_u64(e, 6, f->figures.total_ns);
		export_bind_u64(e, 7, min_ns(&f->figures));
		export_bind_u64(e, 8, f->figures.max_ns);
		export_bind_u64(e, 9, f->figures.bytes);
		r = export_step(e);
	}
	return r;
}

static int aggregates_write(struct export *e)
{
	int r = export_prepare(e, "INSERT INTO event_aggregates VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9)"
				  " ON CONFLICT DO UPDATE SET count = count + excluded.count,"
				  " sum_dur = sum_dur + excluded.sum_dur, min_dur = min(min_dur, excluded.min_dur),"
				  " max_dur = max(max_dur, excluded.max_dur), sum_arg0 = sum_arg0 + excluded.sum_arg0");

	return r < 0 ? r : store_reader_buckets(e->reader, e->from_unix_ns, e->to_unix_ns, bucket_write, e);
}

static void export_done(struct export *e)
{
	sqlite3_finalize(e->statement);
	ARRAY_DONE(&e->ops);
	ARRAY_DONE(&e->stacks);
}

static int tables_write(struct export *e)
{
	static int (*const steps[])(struct export *) = {
		lookups_write,	 sessions_write,  export_stacks_load, events_write,    export_stacks,
		processes_write, snapshots_write, aggregates_write,   export_findings,
	};
	int r = export_exec(e, "BEGIN");

	if (r == 0)
		r = export_exec(e, export_schema);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
		r = steps[i](e);
	if (r == 0)
		r = export_exec(e, export_finish);
	sqlite3_finalize(e->statement);
	e->statement = NULL;
	return r == 0 ? export_exec(e, "COMMIT") : r;
}

int export_db(struct store_reader *reader, const struct export_request *request, struct sqlite3 *out,
	      uint64_t *ret_events)
{
	CLEANUP(export_done) struct export e = { .reader = reader, .request = *request, .out = out };
	int r;

	/* Where no session says what the machine is called. */
	snprintf(e.node_text, sizeof(e.node_text), "node");
	e.node = e.node_text;
	r = store_reader_span(reader, &e.from_unix_ns, &e.to_unix_ns);
	if (request->from_unix_ns)
		e.from_unix_ns = request->from_unix_ns;
	if (request->to_unix_ns)
		e.to_unix_ns = request->to_unix_ns;
	if (r == 0)
		r = tables_write(&e);
	if (r == 0)
		*ret_events = e.n_events;
	return r;
}
