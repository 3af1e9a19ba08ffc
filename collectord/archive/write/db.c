// SPDX-License-Identifier: Apache-2.0
#include "archive/write/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Maximum wait of a commit for a reader that recovers the log; readers do not lock the log for longer. */
#define DB_BUSY_MS 2000

#define FIND_CLOCK "SELECT unix_ns - mono_ns FROM clock WHERE boot = ?1 "

static const char *const statement_texts[DB_STATEMENT_COUNT] = {
	[DB_BEGIN] = "BEGIN IMMEDIATE",
	[DB_COMMIT] = "COMMIT",
	[DB_ROLLBACK] = "ROLLBACK",
	[DB_PUT_CLOCK] = "INSERT OR REPLACE INTO clock(boot, mono_ns, unix_ns) VALUES(?1, ?2, ?3)",
	[DB_PUT_OP] = "INSERT OR IGNORE INTO op(id, source, name, short_name) VALUES(?1, ?2, ?3, ?3)",
	[DB_PUT_PROCESS] =
		"INSERT INTO process(id, boot, pid, start_boot_ns, start_unix_ns, exec_gen, uid, flags, comm,"
		" first_ns, gone_ns, script, executable, container, cgroup_id, rank, local_rank, world_size)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
		" ON CONFLICT(id) DO UPDATE SET comm = excluded.comm, gone_ns = excluded.gone_ns,"
		" script = coalesce(excluded.script, script), executable = coalesce(excluded.executable, executable),"
		" container = coalesce(excluded.container, container), cgroup_id = coalesce(excluded.cgroup_id, "
		"cgroup_id),"
		" rank = coalesce(excluded.rank, rank), local_rank = coalesce(excluded.local_rank, local_rank),"
		" world_size = coalesce(excluded.world_size, world_size), flags = excluded.flags, first_ns = "
		"min(first_ns, excluded.first_ns)",
	[DB_END_PROCESS] = "UPDATE process SET gone_ns = ?2 WHERE id = ?1",
	[DB_PUT_TAIL] = "INSERT OR REPLACE INTO tail(id, uid, boot, t0, t1, n, crc, data)"
			" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[DB_PUT_FIGURES] = "INSERT OR REPLACE INTO figures(id, level, uid, boot, t0, t1, n, crc, data)"
			   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[DB_DELETE_PARTS] = "DELETE FROM figures WHERE level = ?1 AND uid = ?2 AND boot = ?3 AND t0 < ?4",
	[DB_PUT_FINDING] =
		"INSERT OR REPLACE INTO finding(id, uid, boot, process, kind, severity, start_ns, end_ns, crc,"
		" data) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[DB_FIND_FRAME] =
		"SELECT id FROM frame WHERE uid = ?1 AND symbol = ?2 AND line = ?3 AND file = ?4 AND module = ?5"
		" AND qualname = ?6 AND python = ?7",
	[DB_PUT_FRAME] = "INSERT INTO frame(uid, symbol, line, file, module, qualname, python, n)"
			 " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)",
	[DB_COUNT_FRAME] = "UPDATE frame SET n = n + ?2 WHERE id = ?1",
	[DB_DELETE_FRAME] = "DELETE FROM frame WHERE id = ?1 AND n <= 0",
	[DB_PUT_STACK] = "INSERT OR REPLACE INTO stack(id, uid, boot, last_ns, guarded, is_complete, why, frames, crc)"
			 " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[DB_USE_STACK] = "UPDATE stack SET last_ns = max(last_ns, ?2) WHERE id = ?1",
	[DB_GET_STACK] = "SELECT frames, crc FROM stack WHERE id = ?1",
	[DB_DELETE_STACK] = "DELETE FROM stack WHERE id = ?1",
	[DB_PUT_GAP] =
		"INSERT OR REPLACE INTO gap(id, boot, t0, t1, reason, count, uid) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[DB_PUT_SNAPSHOT] = "INSERT OR REPLACE INTO snapshot(boot, t, cpu_ratio, load_1min, memory_bytes,"
			    " available_bytes, swap_used_bytes, major_faults, pressure_cpu, pressure_memory,"
			    " pressure_io) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[DB_SEEN_SESSION] = "UPDATE session SET seen_ns = ?2, last_stack = ?3 WHERE id = ?1",
	[DB_END_SESSION] = "UPDATE session SET seen_ns = ?2, last_stack = ?3, end_ns = ?2 WHERE id = ?1",
	[DB_COST_SESSION] = "UPDATE session SET cost = ?2 WHERE id = ?1",
	[DB_BACK_END_SESSION] = "UPDATE session SET back_end = ?2 WHERE id = ?1",
	[DB_GET_TAILS] = "SELECT id, t0, t1, n, crc, data FROM tail WHERE uid = ?1 AND boot = ?2 ORDER BY id",
	[DB_DELETE_TAIL] = "DELETE FROM tail WHERE id = ?1",
	[DB_PUT_BLOCK] =
		"INSERT INTO block(id, uid, boot, process, t0, t1, n, max_ns, slow, ops, processes, format, crc)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
	[DB_PUT_BLOCK_DATA] = "INSERT INTO block_data(id, data, data_crc) VALUES(?1, ?2, ?3)",
	[DB_SET_ASIDE] = "INSERT INTO damaged(was, uid, boot, t0, t1, n, crc, data)"
			 " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	/* Only rows up to the end of a coarser row, so that coarser rows cover the whole time of each deleted row. */
	[DB_DROP_FINER] =
		"DELETE FROM figures WHERE level = ?1 AND uid = ?5 AND boot = ?3 AND t1 <= (SELECT t1 FROM figures"
		" WHERE level = ?2 AND uid = ?5 AND boot = ?3 AND t1 <= ?4 ORDER BY t0 DESC LIMIT 1)",
	[DB_CLOCK_AT] = FIND_CLOCK "AND mono_ns <= ?2 ORDER BY mono_ns DESC LIMIT 1",
	[DB_CLOCK_FIRST] = FIND_CLOCK "ORDER BY mono_ns LIMIT 1",
	[DB_SCRUB_BLOCKS] =
		"SELECT b.id, b.uid, b.boot, b.t0, b.t1, b.n, b.crc, d.data FROM block b LEFT JOIN block_data d"
		" ON d.id = b.id WHERE b.id > ?1 AND b.id <= ?2 ORDER BY b.id LIMIT ?3",
	[DB_PAGES] = "PRAGMA page_count",
	[DB_FREE_PAGES] = "PRAGMA freelist_count",
};

static int note_log(void *data, sqlite3 *handle, const char *name, int pages)
{
	struct db *db = data;

	(void)handle;
	(void)name;
	db->log_pages = pages;
	return SQLITE_OK;
}

int db_open(struct db *db, const char *path)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW;
	int code = sqlite3_open_v2(path, &db->handle, flags, NULL);

	if (!db->handle)
		return -ENOMEM;
	if (code != SQLITE_OK)
		return sql_errno(db->handle, code);
	(void)sqlite3_extended_result_codes(db->handle, 1);
	(void)sqlite3_busy_timeout(db->handle, DB_BUSY_MS);
	(void)sqlite3_wal_hook(db->handle, note_log, db);
	return 0;
}

int db_configure(struct db *db)
{
	int keep_log = 1, r;
	char limit[64];

	/* The write-ahead log stays when the file is closed, for readers that may not write into the directory. */
	(void)sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep_log);
	(void)snprintf(limit, sizeof(limit), "PRAGMA journal_size_limit = %lld", DB_LOG_BYTES_MAX);
	r = db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
			"PRAGMA secure_delete = FAST; PRAGMA cache_size = -2048; PRAGMA mmap_size = 0;"
			"PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF");
	if (r == 0)
		r = db_exec(db, limit);
	/* PRAGMA wal_autocheckpoint removed the hook. */
	(void)sqlite3_wal_hook(db->handle, note_log, db);
	return r;
}

int db_prepare(struct db *db)
{
	for (int i = 0; i < DB_STATEMENT_COUNT; i++) {
		int code = sqlite3_prepare_v3(db->handle, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
					      &db->statements[i], NULL);

		if (code != SQLITE_OK)
			return sql_errno(db->handle, code);
	}
	return 0;
}

sqlite3 *db_take(struct db *db)
{
	sqlite3 *handle = db->handle;

	for (int i = 0; i < DB_STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(db->statements[i]);
	if (handle)
		(void)sqlite3_wal_hook(handle, NULL, NULL);
	*db = (struct db)DB_INIT;
	return handle;
}

static void disconnect(struct db *db)
{
	(void)sqlite3_close(db_take(db));
}

void db_close(struct db *db)
{
	if (db->statements[DB_STATEMENT_COUNT - 1])
		(void)sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	disconnect(db);
}

void db_abandon(struct db *db)
{
	if (db->handle)
		(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	disconnect(db);
}

int db_exec(struct db *db, const char *sql)
{
	return sql_errno(db->handle, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

int db_get_int(struct db *db, const char *sql, int64_t *ret_value)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(db->handle, sql, &s);

	r = r ? r : sql_step(s);
	if (r <= 0)
		return r;
	if (sqlite3_column_type(s, 0) == SQLITE_NULL)
		return 0;
	*ret_value = sqlite3_column_int64(s, 0);
	return 1;
}

sqlite3_stmt *db_statement(struct db *db, enum db_statement which)
{
	return db->statements[which];
}

int db_begin(struct db *db)
{
	return sql_run(db->statements[DB_BEGIN]);
}

int db_commit(struct db *db)
{
	return sql_run(db->statements[DB_COMMIT]);
}

void db_rollback(struct db *db)
{
	if (!sqlite3_get_autocommit(db->handle))
		(void)sql_run(db->statements[DB_ROLLBACK]); /* fails only without a transaction */
}

int db_checkpoint(struct db *db)
{
	int pages = 0, done = 0, code;

	if (db->log_pages < DB_CHECKPOINT_PAGES)
		return 0;
	code = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &done);
	if (code == SQLITE_OK && pages == done)
		db->log_pages = 0; /* the next commit starts the log from its beginning */
	return (code & 0xff) == SQLITE_BUSY ? 0 : sql_errno(db->handle, code);
}

int db_used_pages(struct db *db, uint64_t *ret_pages)
{
	uint64_t value[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		sqlite3_stmt *s = db->statements[i == 0 ? DB_PAGES : DB_FREE_PAGES];
		int r = sql_step(s);

		if (r > 0)
			value[i] = (uint64_t)sqlite3_column_int64(s, 0);
		(void)sqlite3_reset(s);
		if (r < 0)
			return r;
	}
	*ret_pages = value[0] - MIN(value[0], value[1]);
	return 0;
}
