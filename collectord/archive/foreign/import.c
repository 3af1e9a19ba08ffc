// SPDX-License-Identifier: Apache-2.0
/* Import of a foreign file into a temporary database of ours. This file also converts sessions, snapshots and gaps. */
#include "archive/foreign/import.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "archive/foreign/foreign.h"
#include "archive/write/schema.h"

#define MIB (1ull << 20)

static void foreign_file_free(struct foreign_file *f)
{
	if (!f)
		return;
	(void)writer_close(&f->out); /* no session to end */
	ARRAY_DONE(&f->ops);
	ARRAY_DONE(&f->processes);
	ARRAY_DONE(&f->nodes);
	ARRAY_DONE(&f->stacks);
	arena_done(&f->texts);
	free(f);
}

static void file_freep(struct foreign_file **f)
{
	foreign_file_free(*f);
}

/* Finds the tables of the file. Views are ignored: a view would run SQL of the file's author. */
static int tables_find(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	/* Virtual tables have rootpage 0. */
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

static int version_read(struct foreign_file *f, int64_t *ret_version)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r = sql_prepare(f->db, "PRAGMA user_version", &statement);

	if (r == 0)
		r = foreign_step(statement);
	if (r > 0)
		*ret_version = sqlite3_column_int64(statement, 0);
	return r < 0 ? r : 0;
}

/* Begins one transaction without a journal: after a failure the whole database is discarded. */
static int out_open(struct foreign_file *f)
{
	struct db *db = &f->out.db;
	int r = db_open(db, "");

	r = r ? r : db_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -512");
	r = r ? r : schema_migrate(db);
	r = r ? r : db_prepare(db);
	f->out.next_block = f->out.next_gap = f->out.next_figures = 1;
	return r ? r : db_begin(db);
}

static int boots_put(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *boot = NULL;
	int r = sql_prepare(f->out.db.handle,
			    "INSERT INTO boot (id, boot_id) VALUES (?1, 'import:' || ?1 || ':' || ?2)", &boot);

	for (size_t i = 0; r == 0 && i <= f->nodes.n; i++) {
		sqlite3_stmt *clock = db_statement(&f->out.db, DB_PUT_CLOCK);

		(void)sqlite3_bind_int64(boot, 1, (int64_t)i);
		sql_text(boot, 2, i ? f->nodes.items[i - 1] : "");
		SQL_INTS(clock, 1, (int64_t)i, 0, 0);
		r = sql_run(boot);
		r = r ? r : sql_run(clock);
	}
	return r;
}

static int sessions_put(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	CLEANUP(sql_finalizep) struct sqlite3_stmt *put = NULL;
	int r;

	if (!foreign_has_column(f, FOREIGN_SESSIONS, "started_at"))
		return 0;
	r = foreign_select(f, FOREIGN_SESSIONS,
			   "started_at=NULL stopped_at cpu_cores mem_total kernel='' ingero_ver='' node=''",
			   "ORDER BY started_at", &statement);
	r = r ? r
	      : sql_prepare(f->out.db.handle,
			    "INSERT INTO session (boot, start_ns, end_ns, cpus, memory_bytes, kernel, version, node, "
			    "seen_ns,"
			    " back_end) VALUES (0, ?1, nullif(?2, 0), ?3, ?4, ?5, 'Ingero ' || ?6, ?7, ?1, 'import')",
			    &put);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		char texts[3][FOREIGN_NAME_BYTES]; /* columns 4 to 6 */
		uint64_t start_ns, end_ns = 0, cpus = 0, mib = 0;

		r = 0;
		if (!foreign_u64(statement, 0, FOREIGN_TIME_MAX, &start_ns))
			continue;
		foreign_u64(statement, 1, FOREIGN_TIME_MAX, &end_ns);
		foreign_u64(statement, 2, INT32_MAX, &cpus);
		foreign_u64(statement, 3, UINT32_MAX, &mib);
		SQL_INTS(put, 1, (int64_t)start_ns, (int64_t)end_ns, (int64_t)cpus, (int64_t)(mib * MIB));
		for (int i = 0; i < 3; i++)
			sql_text(put, 5 + i, foreign_text(statement, 4 + i, texts[i], sizeof(texts[i])));
		r = sql_run(put);
	}
	return r;
}

/* Reads the machine's memory size from the first session; 0: not known. */
static int memory_find(const struct foreign_file *f, uint64_t *ret_bytes)
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

static int snapshots_put(struct foreign_file *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	uint64_t memory_bytes;
	int r;

	if (!foreign_has_column(f, FOREIGN_SNAPSHOTS, "timestamp"))
		return 0;
	r = memory_find(f, &memory_bytes);
	if (r == 0)
		r = foreign_select(f, FOREIGN_SNAPSHOTS, "timestamp cpu_pct mem_pct mem_avail swap_mb load_avg", NULL,
				   &statement);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		struct system_sample sample = { 0 };
		uint64_t available_mib = 0, swap_mib = 0;
		double used_ratio = foreign_real(statement, 2) / 100;

		r = 0;
		if (!foreign_u64(statement, 0, FOREIGN_TIME_MAX, &sample.time_ns))
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
		r = writer_put_sample(&f->out, &sample);
	}
	return r;
}

int foreign_gap_put(struct foreign_file *f, const char *reason, uint64_t count, uint64_t from_unix_ns,
		    uint64_t to_unix_ns)
{
	struct batch_gap gap = { .t0_ns = from_unix_ns, .t1_ns = to_unix_ns, .count = count, .uid = UINT32_MAX };

	snprintf(gap.reason, sizeof(gap.reason), "%s", reason);
	return count ? writer_put_gap(&f->out, f->out.next_gap++, 0, &gap) : 0;
}

static int contents_import(struct foreign_file *f)
{
	int (*const steps[])(struct foreign_file * f) = {
		out_open,	 foreign_ops_load,	foreign_processes_load,
		boots_put,	 foreign_processes_put, sessions_put,
		snapshots_put,	 foreign_stacks_put,	foreign_calls_put,
		foreign_ops_put, foreign_findings_put,
	};
	/* A small cache suffices: each table is read once, from its beginning to its end. */
	int r = sql_errno(f->db, sqlite3_exec(f->db, "PRAGMA cache_size = -256", NULL, NULL, NULL));

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
		r = steps[i](f);
	r = r ? r : foreign_gap_put(f, "damaged", f->n_refused, f->first_unix_ns, f->last_unix_ns);
	r = r ? r : foreign_gap_put(f, "retention", f->n_missing, f->first_unix_ns, f->last_unix_ns);
	return r ? r : db_commit(&f->out.db);
}

int foreign_import(struct sqlite3 *db, const struct read_scope *scope, bool has_stacks, char *why,
		   struct sqlite3 **ret_db)
{
	CLEANUP(file_freep) struct foreign_file *f = calloc(1, sizeof(*f));
	static const char *const needed[] = { "timestamp", "pid", "tid", "source", "op", "duration" };
	int64_t version = 0;
	bool is_foreign;
	int r;

	why[0] = '\0';
	if (!f)
		return -ENOMEM;
	f->out = (struct writer)WRITER_INIT;
	f->db = db;
	f->has_stacks = has_stacks;
	r = tables_find(f);
	r = r ? r : version_read(f, &version);
	is_foreign = f->has[FOREIGN_EVENTS];
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		is_foreign = is_foreign && foreign_has_column(f, FOREIGN_EVENTS, needed[i]);
	if (r == 0 && !is_foreign)
		return -ENOENT;
	if (r == 0 && (version < 0 || version > FOREIGN_VERSION_MAX)) {
		snprintf(why, READ_WHY_BYTES,
			 "it was written by a newer Ingero: its version is %lld, supported are 0 to %d",
			 (long long)version, FOREIGN_VERSION_MAX);
		return -ENOTSUP;
	}
	if (r == 0 && !scope->all) {
		snprintf(why, READ_WHY_BYTES,
			 "it was recorded by Ingero and does not say whose its rows are: open it with --db, as a user "
			 "who may read the file");
		return -EACCES;
	}
	r = r ? r : contents_import(f);
	if (r < 0) {
		snprintf(why, READ_WHY_BYTES, "its tables cannot be read: %s",
			 r == -EBADMSG ? sqlite3_errmsg(db) : strerror(-r));
		return r;
	}
	(void)sqlite3_db_release_memory(db); /* its cache is no longer needed */
	*ret_db = db_take(&f->out.db);
	return 0;
}
