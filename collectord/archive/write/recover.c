// SPDX-License-Identifier: Apache-2.0
/*
 * Repairs what a run left that ended unexpectedly: an open session, rows of the tail, figures of minutes and hours that
 * were not written, perhaps damage.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive/write/writer.h"

#define SCRUB_BLOCKS 32 /* verified at each commit: 1.5 MiB */

static int close_sessions(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, "SELECT boot, seen_ns FROM session WHERE end_ns IS NULL", &s);

	while (r == 0 && (r = sql_step(s)) > 0) {
		int64_t boot = sqlite3_column_int64(s, 0);
		struct batch_gap gap = { .t0_ns = (uint64_t)sqlite3_column_int64(s, 1),
					 .uid = UINT32_MAX,
					 .reason = "recorder_ended" };

		/* The end of an earlier boot is unknown: its gap has no length. */
		gap.t1_ns = boot == writer->boot ? MAX(writer->now_ns, gap.t0_ns) : gap.t0_ns;
		r = writer_put_gap(writer, writer->next_gap++, boot, &gap);
	}
	return r ? r : db_exec(&writer->db, "UPDATE session SET end_ns = seen_ns WHERE end_ns IS NULL");
}

/* ---- damage ---- */

typedef ARRAY(int64_t) id_list;

static int row_set_aside(struct writer *writer, const char *was, sqlite3_stmt *row, const void *data, int n)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_SET_ASIDE);
	struct batch_gap gap = { .t0_ns = (uint64_t)sqlite3_column_int64(row, 3),
				 .t1_ns = (uint64_t)sqlite3_column_int64(row, 4),
				 .count = (uint64_t)sqlite3_column_int64(row, 5),
				 .uid = (uint32_t)sqlite3_column_int64(row, 1),
				 .reason = "damaged" };
	int r;

	sql_text(s, 1, was);
	for (int i = 1; i <= 6; i++) /* uid, boot, t0, t1, n, crc */
		(void)sqlite3_bind_value(s, i + 1, sqlite3_column_value(row, i));
	(void)sqlite3_bind_blob(s, 8, data, n, SQLITE_STATIC);
	r = sql_run(s);
	return r ? r : writer_put_gap(writer, writer->next_gap++, sqlite3_column_int64(row, 2), &gap);
}

static int delete_rows(struct writer *writer, const int64_t *ids, size_t n, const char *table)
{
	char sql[96];
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		(void)snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE id = %" PRId64, table, ids[i]);
		r = db_exec(&writer->db, sql);
	}
	return r;
}

/* ---- sums ---- */

/* Adds the finer row of the statement to its bucket; a damaged row is copied to table damaged and listed in @bad. */
static int roll_up_row(struct writer *writer, struct buckets *buckets, int level, sqlite3_stmt *row, id_list *bad)
{
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 };
	const void *data = sqlite3_column_blob(row, 7);
	int64_t boot = sqlite3_column_int64(row, 2);
	uint64_t t0_ns = (uint64_t)sqlite3_column_int64(row, 3), t1_ns = (uint64_t)sqlite3_column_int64(row, 4);
	uint64_t middle_unix_ns = t0_ns;
	int n = sqlite3_column_bytes(row, 7), r;

	r = figures_blob_decode(data, (size_t)n, (uint32_t)sqlite3_column_int64(row, 6), &blob);
	if (r == -EBADMSG) {
		r = row_set_aside(writer, "figures", row, data, n);
		return r ? r : ARRAY_PUSH(bad, sqlite3_column_int64(row, 0));
	}
	if (r == 0)
		r = writer_unix_ns(writer, boot, t0_ns + (t1_ns - t0_ns) / 2, &middle_unix_ns);
	if (r < 0 && r != -ENODATA)
		return r;
	return buckets_add_row(buckets, level, (uint32_t)sqlite3_column_int64(row, 1),
			       (int64_t)(middle_unix_ns / NSEC_PER_SEC / bucket_level_s[level]), t0_ns, t1_ns, &blob);
}

static int rows_write(struct writer *writer, struct buckets *buckets, int64_t boot, uint32_t level_s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < buckets->rows.n; i++)
		if (buckets->rows.items[i].level_s == level_s)
			r = writer_put_figures(writer, boot, &buckets->rows.items[i]);
	return r;
}

/* Sums the finer rows of one boot that begin after the last coarser row of their owner. */
static int roll_up(struct writer *writer, int level, int64_t boot)
{
	static const char text[] =
		"SELECT f.id, f.uid, f.boot, f.t0, f.t1, f.n, f.crc, f.data FROM figures f WHERE f.level = ?1"
		" AND f.boot = ?3 AND f.t0 >= coalesce((SELECT max(c.t1) FROM figures c WHERE"
		" c.level = ?2 AND c.uid = f.uid AND c.boot = ?3), 0) ORDER BY f.uid, f.t0";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	struct buckets buckets = { 0 };
	id_list bad = { 0 };
	int r = sql_prepare(writer->db.handle, text, &s);

	SQL_INTS(s, 1, bucket_level_s[level - 1], bucket_level_s[level], boot);
	while (r == 0 && (r = sql_step(s)) > 0)
		r = roll_up_row(writer, &buckets, level, s, &bad);
	(void)sqlite3_finalize(TAKE_PTR(s)); /* read to its end, or failed: r has the error */
	r = r ? r : delete_rows(writer, bad.items, bad.n, "figures");
	if (r == 0)
		r = buckets_close(&buckets);
	r = r ? r : rows_write(writer, &buckets, boot, bucket_level_s[level]);
	buckets_done(&buckets);
	ARRAY_DONE(&bad);
	return r;
}

int recover_previous(struct writer *writer)
{
	int64_t last = 0;
	int r = db_begin(&writer->db), one;

	r = r ? r : close_sessions(writer);
	r = r ? r : recover_gone(writer);
	one = r ? r : db_get_int(&writer->db, "SELECT max(id) FROM boot", &last);
	r = one < 0 ? one : 0;
	for (int64_t boot = 1; r == 0 && boot <= last; boot++)
		for (int level = 1; r == 0 && level < BUCKET_LEVELS; level++)
			r = roll_up(writer, level, boot);
	r = r ? r : db_commit(&writer->db);
	db_rollback(&writer->db);
	return r ? r : seal_all(writer);
}

/* ---- checksums ---- */

static int scrub_blocks(struct writer *writer)
{
	CLEANUP(sql_resetp) sqlite3_stmt *s = db_statement(&writer->db, DB_SCRUB_BLOCKS);
	int64_t bad[SCRUB_BLOCKS];
	size_t n_bad = 0, n = 0;
	int r;

	SQL_INTS(s, 1, writer->scrub_next, writer->scrub_end, SCRUB_BLOCKS);
	while ((r = sql_step(s)) > 0) {
		const void *data = sqlite3_column_blob(s, 7);
		int bytes = sqlite3_column_bytes(s, 7);

		n++;
		writer->scrub_next = sqlite3_column_int64(s, 0);
		if (data && codec_crc(data, (size_t)bytes) == (uint32_t)sqlite3_column_int64(s, 6))
			continue;
		r = row_set_aside(writer, "block", s, data, bytes);
		if (r < 0)
			return r;
		bad[n_bad++] = writer->scrub_next;
	}
	(void)sqlite3_reset(s); /* returns the error in r again */
	r = r ? r : delete_rows(writer, bad, n_bad, "block_data");
	r = r ? r : delete_rows(writer, bad, n_bad, "block");
	if (r == 0 && n < SCRUB_BLOCKS)
		writer->scrub_end = 0;
	return r;
}

/* Checks all rows at once: there are few. */
static int scrub_figures(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	id_list bad = { 0 };
	int r = sql_prepare(writer->db.handle, "SELECT id, uid, boot, t0, t1, n, crc, data FROM figures", &s);

	while (r == 0 && (r = sql_step(s)) > 0) {
		const void *data = sqlite3_column_blob(s, 7);
		int bytes = sqlite3_column_bytes(s, 7);

		if (data && codec_crc(data, (size_t)bytes) == (uint32_t)sqlite3_column_int64(s, 6)) {
			r = 0;
			continue;
		}
		r = row_set_aside(writer, "figures", s, data, bytes);
		r = r ? r : ARRAY_PUSH(&bad, sqlite3_column_int64(s, 0));
	}
	(void)sqlite3_finalize(TAKE_PTR(s)); /* read to its end, or failed: r has the error */
	r = r ? r : delete_rows(writer, bad.items, bad.n, "figures");
	ARRAY_DONE(&bad);
	return r;
}

int scrub_some(struct writer *writer)
{
	int64_t from = writer->scrub_next, end = writer->scrub_end;
	int r;

	if (!writer->scrub_end)
		return 0;
	r = db_begin(&writer->db);
	if (r == 0 && writer->scrub_next == 0)
		r = scrub_figures(writer);
	r = r ? r : scrub_blocks(writer);
	r = r ? r : db_commit(&writer->db);
	if (r < 0) {
		db_rollback(&writer->db);
		writer->scrub_next = from;
		writer->scrub_end = end;
	}
	return r;
}
