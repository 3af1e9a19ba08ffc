// SPDX-License-Identifier: Apache-2.0
/*
 * Copies everything that can still be read of a damaged file, row by row.
 *
 * A damaged page ends a pass over its table. So each table is read from both ends: a pass reads the ids, without long
 * contents, and then each row is read by its id. Rows between the two ends are lost, and a gap records their time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "archive/write/writer.h"

#define LOG_TOPIC "store"
#define COLUMNS_MAX 24

/* Every table. key: columns by which it is ordered. is_numbered: the key is one number, by which a row is read. */
static const struct {
	const char *table;
	const char *key;
	const char *backward;
	bool is_numbered;
	const char *times; /* table that has t0 and t1 of the rows, by the same id; NULL: none */
} tables[] = {
	{ "boot", "id", "id DESC", true, NULL },
	{ "clock", "boot, mono_ns", "boot DESC, mono_ns DESC", false, NULL },
	{ "session", "id", "id DESC", true, NULL },
	{ "process", "id", "id DESC", true, NULL },
	{ "op", "id", "id DESC", true, NULL },
	{ "frame", "id", "id DESC", true, NULL },
	{ "stack", "id", "id DESC", true, NULL },
	{ "gap", "id", "id DESC", true, NULL },
	{ "tail", "id", "id DESC", true, "tail" },
	{ "block_data", "id", "id DESC", true, "block" },
	{ "block", "id", "id DESC", true, "block" },
	{ "damaged", "id", "id DESC", true, NULL },
	{ "figures", "id", "id DESC", true, "figures" },
	{ "finding", "id", "id DESC", false, NULL },
	{ "snapshot", "boot, t", "boot DESC, t DESC", false, NULL },
};

struct copy {
	sqlite3 *from;
	struct writer *writer;
	size_t table;
	sqlite3_stmt *put;
	uint64_t n_lost;
	uint64_t t0_ns, t1_ns; /* of the lost rows */
};

/* Uses the column names of the damaged file, which may be of an older version. Return: 0 or -errno */
static int put_prepare(struct copy *copy, sqlite3_stmt *row)
{
	CLEANUP(buf_done) struct buf sql = BUF_INIT;
	int n = MIN(sqlite3_column_count(row), COLUMNS_MAX);

	buf_printf(&sql, "INSERT OR IGNORE INTO %s(", tables[copy->table].table);
	for (int i = 0; i < n; i++) {
		buf_append_text(&sql, i ? ",\"" : "\"");
		for (const char *c = sqlite3_column_name(row, i); c && *c; c++)
			buf_printf(&sql, *c == '"' ? "\"\"" : "%c", *c);
		buf_append_text(&sql, "\"");
	}
	buf_append_text(&sql, ") VALUES(?");
	for (int i = 1; i < n; i++)
		buf_append_text(&sql, ",?");
	buf_append_text(&sql, ")");
	if (sql.failed)
		return -ENOMEM;
	return sqlite3_prepare_v2(copy->writer->db.handle, buf_text(&sql), -1, &copy->put, NULL) == SQLITE_OK
		       ? 0
		       : -EBADMSG;
}

static int put_row(struct copy *copy, sqlite3_stmt *row)
{
	int r = copy->put ? 0 : put_prepare(copy, row);

	if (r < 0)
		return r;
	for (int i = 0; i < MIN(sqlite3_column_count(row), COLUMNS_MAX); i++)
		(void)sqlite3_bind_value(copy->put, i + 1, sqlite3_column_value(row, i));
	return sql_run(copy->put);
}

/* Return: 0; -EBADMSG when the row cannot be read; -errno when the new file cannot be written */
static int copy_numbered_row(struct copy *copy, int64_t id)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE id = %" PRId64, tables[copy->table].table, id);
	if (sqlite3_prepare_v2(copy->from, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
		return -EBADMSG;
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		/* Long contents are read only here; for a broken chain of pages the result is NULL. */
		if (sqlite3_column_type(s, i) == SQLITE_BLOB && !sqlite3_column_blob(s, i) &&
		    sqlite3_column_bytes(s, i))
			return -EBADMSG;
	}
	return put_row(copy, s);
}

/* Counts a lost row, and notes its times if they can still be read. */
static void note_lost(struct copy *copy, int64_t id)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	char sql[128];

	copy->n_lost++;
	if (!tables[copy->table].times)
		return;
	(void)snprintf(sql, sizeof(sql), "SELECT t0, t1 FROM %s WHERE id = %" PRId64, tables[copy->table].times, id);
	if (sqlite3_prepare_v2(copy->from, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
		return;
	copy->t0_ns = MIN(copy->t0_ns, (uint64_t)sqlite3_column_int64(s, 0));
	copy->t1_ns = MAX(copy->t1_ns, (uint64_t)sqlite3_column_int64(s, 1));
}

/*
 * One pass over the table. @last: last id of the forward pass, at which the backward pass ends
 * Return: 1: the pass is complete; 0: damage ended it; -errno when the new file cannot be written
 */
static int walk(struct copy *copy, bool is_backward, int64_t *last)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	bool is_numbered = tables[copy->table].is_numbered;
	char sql[160];
	int r = 0, code;

	(void)snprintf(sql, sizeof(sql), "SELECT %s FROM %s ORDER BY %s", is_numbered ? "id" : "*",
		       tables[copy->table].table, is_backward ? tables[copy->table].backward : tables[copy->table].key);
	if (sqlite3_prepare_v2(copy->from, sql, -1, &s, NULL) != SQLITE_OK)
		return 0;
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		int64_t id = is_numbered ? sqlite3_column_int64(s, 0) : 0;

		if (is_numbered && is_backward && id <= *last)
			return 1;
		if (is_numbered && !is_backward)
			*last = id;
		r = is_numbered ? copy_numbered_row(copy, id) : put_row(copy, s);
		if (r == -EBADMSG)
			note_lost(copy, id);
		else if (r < 0)
			return r;
	}
	return code == SQLITE_DONE;
}

static int copy_table(struct copy *copy)
{
	int64_t last = INT64_MIN;
	int r = walk(copy, false, &last);

	if (r == 0) {
		r = walk(copy, true, &last);
		copy->n_lost++; /* one page: the number of rows on it is unknown */
	}
	(void)sqlite3_finalize(TAKE_PTR(copy->put)); /* every step was checked */
	return MIN(r, 0);
}

/* Writes a gap for the lost rows: for their times if these are known, else for the whole time of the file. */
static int lost_gap(struct copy *copy)
{
	struct writer *writer = copy->writer;
	struct batch_gap gap = { .t0_ns = copy->t0_ns, .t1_ns = copy->t1_ns, .uid = UINT32_MAX, .reason = "damaged" };
	int64_t boot = 0, value = 0;
	int r = db_get_int(&writer->db, "SELECT max(boot) FROM session", &boot);

	if (r <= 0)
		boot = 1;
	if (r >= 0 && gap.t0_ns > gap.t1_ns) {
		r = db_get_int(&writer->db, "SELECT min(start_ns) FROM session", &value);
		gap.t0_ns = (uint64_t)value;
		value = (int64_t)writer->now_ns;
		r = r < 0 ? r : db_get_int(&writer->db, "SELECT max(seen_ns) FROM session", &value);
		gap.t1_ns = (uint64_t)value;
	}
	if (r >= 0)
		r = db_get_int(&writer->db, "SELECT coalesce(max(id), 0) + 1 FROM gap", &value);
	if (r < 0)
		return r;
	writer->next_gap = MAX(writer->next_gap, value) + 1;
	return writer_put_gap(writer, writer->next_gap - 1, boot, &gap);
}

int salvage(struct writer *writer, const char *damaged_path)
{
	struct copy copy = { .writer = writer, .t0_ns = UINT64_MAX };
	int code = sqlite3_open_v2(damaged_path, &copy.from,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
	int r = db_begin(&writer->db);

	if (copy.from) /* the damaged file stays unchanged */
		(void)sqlite3_db_config(copy.from, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	for (copy.table = 0; r == 0 && code == SQLITE_OK && copy.table < ARRAY_SIZE(tables); copy.table++)
		r = copy_table(&copy);
	if (r == 0 && (copy.n_lost || code != SQLITE_OK))
		r = lost_gap(&copy);
	r = r ? r : salvage_heads(writer);
	r = r ? r : writer_check_stacks(writer);
	/* Headers without contents are deleted: each check would report them as damage. */
	r = r ? r : db_exec(&writer->db, "DELETE FROM block WHERE id NOT IN (SELECT id FROM block_data)");
	r = r ? r : db_exec(&writer->db, "DELETE FROM block_data WHERE id NOT IN (SELECT id FROM block)");
	r = r ? r : db_commit(&writer->db);
	db_rollback(&writer->db);
	(void)sqlite3_close(copy.from); /* nothing was written */
	writer->scrub_next = 0;
	writer->scrub_end = INT64_MAX;
	if (r == 0)
		log_notice("a damaged database was copied: %" PRIu64 " rows or pages could not be read", copy.n_lost);
	return r;
}
