// SPDX-License-Identifier: Apache-2.0
/*
 * Opening a foreign file, and its plain rows: sessions, snapshots, gaps.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ull << 20)

static void foreign_close(struct read_source *source)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);

	ARRAY_DONE(&f->ops);
	ARRAY_DONE(&f->processes);
	ARRAY_DONE(&f->nodes);
	ARRAY_DONE(&f->stacks);
	arena_done(&f->texts);
	free(f);
}

static void foreign_closep(struct foreign_source **f)
{
	if (*f)
		foreign_close(&(*f)->source);
}

/* Which of the tables are there, as tables: a view would be the stranger's program. */
static int tables_find(struct foreign_source *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	/* Virtual tables have no page. */
	int r = sql_prepare(f->db, "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0",
			    &statement);

	while (r == 0 && (r = foreign_step(statement)) > 0) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		r = 0;
		for (int i = 0; name && i < FOREIGN_TABLE_COUNT; i++)
			if (!strcmp(name, foreign_table_name((enum foreign_table)i)))
				f->has[i] = true;
	}
	return r;
}

static int version_read(struct foreign_source *f, int64_t *ret_version)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r = sql_prepare(f->db, "PRAGMA user_version", &statement);

	if (r == 0)
		r = foreign_step(statement);
	if (r > 0)
		*ret_version = sqlite3_column_int64(statement, 0);
	return r < 0 ? r : 0;
}

static int contents_load(struct foreign_source *f)
{
	int r = foreign_ops_load(f);

	return r < 0 ? r : foreign_processes_load(f);
}

static int foreign_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct read_source **ret_source)
{
	CLEANUP(foreign_closep) struct foreign_source *f = calloc(1, sizeof(*f));
	static const char *const needed[] = { "timestamp", "pid", "tid", "source", "op", "duration" };
	int64_t version = 0;
	int r;

	if (!f)
		return -ENOMEM;
	f->source.ops = &read_foreign_source;
	f->db = db;

	r = tables_find(f);
	if (r == 0)
		r = version_read(f, &version);
	if (r == 0) {
		bool is_foreign = f->has[FOREIGN_EVENTS];

		for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
			is_foreign = is_foreign && foreign_has_column(f, FOREIGN_EVENTS, needed[i]);
		if (!is_foreign)
			return -ENOENT;
	}
	if (r == 0 && (version < 0 || version > FOREIGN_VERSION_MAX)) {
		snprintf(why, READ_WHY_BYTES,
			 "it was written by a newer Ingero: its version is %lld, known are 0 to %d", (long long)version,
			 FOREIGN_VERSION_MAX);
		return -ENOTSUP;
	}
	if (r == 0 && !scope->all) {
		snprintf(why, READ_WHY_BYTES,
			 "it was recorded by Ingero and does not say whose its rows are: open it with --db, as one who "
			 "may read the file");
		return -EACCES;
	}
	if (r == 0)
		r = contents_load(f);
	if (r < 0) {
		snprintf(why, READ_WHY_BYTES, "its tables cannot be read: %s",
			 r == -EBADMSG ? sqlite3_errmsg(db) : strerror(-r));
		return r;
	}
	*ret_source = &TAKE_PTR(f)->source;
	return 0;
}

static const struct read_process *foreign_process(struct read_source *source, uint32_t id)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);

	return id > 0 && id <= f->processes.n ? &f->processes.items[id - 1].process : NULL;
}

static const struct read_op *foreign_op(struct read_source *source, uint32_t id)
{
	const struct foreign_op *op = foreign_op_get(CONTAINER_OF(source, struct foreign_source, source), id);

	return op ? &op->op : NULL;
}

static int foreign_processes(struct read_source *source, read_process_func func, void *data)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->processes.n; i++)
		r = func(&f->processes.items[i].process, data);
	return r;
}

static int foreign_ops(struct read_source *source, read_op_func func, void *data)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);
	int r = 0;

	/* Two numbers of a file may stand for one operation: the first speaks for both. */
	for (size_t i = 0; r == 0 && i < f->ops.n; i++)
		if (foreign_op_get(f, f->ops.items[i]->op.id) == f->ops.items[i])
			r = func(&f->ops.items[i]->op, data);
	return r;
}

int foreign_sessions(struct read_source *source, read_session_func func, void *data)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r;

	if (!foreign_has_column(f, FOREIGN_SESSIONS, "started_at"))
		return 0;
	r = foreign_select(f, FOREIGN_SESSIONS,
			   "started_at=NULL stopped_at cpu_cores mem_total kernel='' ingero_ver='' node=''",
			   "ORDER BY started_at", &statement);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		Ingero__V1__Session session = INGERO__V1__SESSION__INIT;
		char kernel[FOREIGN_NAME_BYTES], version[FOREIGN_NAME_BYTES], node[FOREIGN_NAME_BYTES];
		char name[FOREIGN_NAME_BYTES + 8];
		uint64_t cpus = 0, mib = 0;

		r = 0;
		if (!foreign_u64(statement, 0, INT64_MAX, &session.start_unix_ns))
			continue;
		foreign_u64(statement, 1, INT64_MAX, &session.end_unix_ns);
		foreign_u64(statement, 2, INT32_MAX, &cpus);
		foreign_u64(statement, 3, UINT32_MAX, &mib);
		foreign_text(statement, 4, kernel, sizeof(kernel));
		foreign_text(statement, 5, version, sizeof(version));
		foreign_text(statement, 6, node, sizeof(node));
		snprintf(name, sizeof(name), "Ingero %s", version);
		session.cpus = (uint32_t)cpus;
		session.memory_bytes = mib * MIB;
		session.kernel = kernel;
		session.version = name;
		session.back_end = "import";
		session.node = node;
		r = func(&session, data);
	}
	return r;
}

/* What the first session says of the machine's memory; 0: nothing. */
static int memory_find(const struct foreign_source *f, uint64_t *ret_bytes)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	uint64_t mib = 0;
	int r;

	*ret_bytes = 0;
	if (!f->has[FOREIGN_SESSIONS])
		return 0;
	r = foreign_select(f, FOREIGN_SESSIONS, "mem_total", "LIMIT 1", &statement);
	if (r == 0)
		r = foreign_step(statement);
	if (r > 0)
		foreign_u64(statement, 0, UINT32_MAX, &mib);
	*ret_bytes = mib * MIB;
	return r < 0 ? r : 0;
}

static void window_bind(struct sqlite3_stmt *statement, uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	SQL_INTS(statement, 1, (int64_t)MIN(from_unix_ns, (uint64_t)INT64_MAX),
		 to_unix_ns ? (int64_t)MIN(to_unix_ns, (uint64_t)INT64_MAX) : INT64_MAX);
}

int foreign_snapshots(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_snapshot_func func,
		      void *data)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	uint64_t memory_bytes;
	int r;

	if (!foreign_has_column(f, FOREIGN_SNAPSHOTS, "timestamp"))
		return 0;
	r = memory_find(f, &memory_bytes);
	if (r == 0)
		r = foreign_select(f, FOREIGN_SNAPSHOTS, "timestamp cpu_pct mem_pct mem_avail swap_mb load_avg",
				   "WHERE timestamp >= ?1 AND timestamp < ?2 ORDER BY timestamp", &statement);
	if (r == 0)
		window_bind(statement, from_unix_ns, to_unix_ns);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		Ingero__V1__SystemSample sample = INGERO__V1__SYSTEM_SAMPLE__INIT;
		uint64_t available_mib = 0, swap_mib = 0;
		double used_ratio = foreign_real(statement, 2) / 100;

		r = 0;
		if (!foreign_u64(statement, 0, INT64_MAX, &sample.timestamp_unix_ns))
			continue;
		foreign_u64(statement, 3, UINT32_MAX, &available_mib);
		foreign_u64(statement, 4, UINT32_MAX, &swap_mib);
		sample.cpu_ratio = MIN(MAX(foreign_real(statement, 1) / 100, 0), 1);
		sample.load_1min = MAX(foreign_real(statement, 5), 0);
		sample.available_bytes = available_mib * MIB;
		sample.swap_used_bytes = swap_mib * MIB;
		sample.memory_bytes = memory_bytes;
		if (!memory_bytes && used_ratio >= 0 && used_ratio < 0.9999)
			sample.memory_bytes = (uint64_t)((double)sample.available_bytes / (1 - used_ratio));
		r = func(&sample, data);
	}
	return r;
}

static int gap(const struct foreign_source *f, char *reason, uint64_t count, uint64_t from_unix_ns, uint64_t to_unix_ns,
	       read_gap_func func, void *data)
{
	Ingero__V1__Gap message = INGERO__V1__GAP__INIT;

	if (!count || !f->n_rows || f->first_unix_ns >= (to_unix_ns ? to_unix_ns : UINT64_MAX) ||
	    f->last_unix_ns < from_unix_ns)
		return 0;
	message.from_unix_ns = f->first_unix_ns;
	message.to_unix_ns = f->last_unix_ns;
	message.reason = reason;
	message.count = count;
	return func(&message, data);
}

int foreign_gaps(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func, void *data)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);
	uint64_t not_kept = 0;
	int r = foreign_not_kept(f, from_unix_ns, to_unix_ns, &not_kept);

	if (r == 0)
		r = gap(f, "damaged", f->n_refused, from_unix_ns, to_unix_ns, func, data);
	if (r == 0)
		r = gap(f, "retention", f->n_missing, from_unix_ns, to_unix_ns, func, data);
	if (r == 0)
		r = gap(f, "not_kept", not_kept, from_unix_ns, to_unix_ns, func, data);
	return r;
}

static int foreign_span(struct read_source *source, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);

	return foreign_bounds(f, ret_from_unix_ns, ret_to_unix_ns);
}

const struct read_source_ops read_foreign_source = {
	.open = foreign_open,
	.close = foreign_close,
	.process = foreign_process,
	.op = foreign_op,
	.processes = foreign_processes,
	.ops = foreign_ops,
	.stacks = foreign_stacks,
	.cursor_open = foreign_cursor_open,
	.cursor_next = foreign_cursor_next,
	.cursor_close = foreign_cursor_close,
	.count = foreign_count,
	.buckets = foreign_buckets,
	.findings = foreign_findings,
	.gaps = foreign_gaps,
	.snapshots = foreign_snapshots,
	.sessions = foreign_sessions,
	.span = foreign_span,
};
