// SPDX-License-Identifier: Apache-2.0
/*
 * Deletion by age, and the gaps of all deletion: one row for each owner, boot and reason, extended each time, records
 * how far data was deleted. By size: retention_size.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "archive/write/writer.h"

#define FINE_NS (3600 * NSEC_PER_SEC)		  /* maximum age of 10-s figures */
#define MINUTES_NS (7 * 24 * 3600 * NSEC_PER_SEC) /* maximum age of figures by the minute, and of snapshots */

int retention_load(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle,
			    "SELECT id, boot, t0, t1, count, coalesce(uid, 4294967295), reason FROM gap WHERE"
			    " reason GLOB 'retention*'",
			    &s);

	writer->retention_gaps.n = 0;
	while (r == 0 && (r = sql_step(s)) > 0) {
		struct writer_gap g = { .id = sqlite3_column_int64(s, 0), .boot = sqlite3_column_int64(s, 1) };

		g.gap = (struct batch_gap){ .t0_ns = (uint64_t)sqlite3_column_int64(s, 2),
					    .t1_ns = (uint64_t)sqlite3_column_int64(s, 3),
					    .count = (uint64_t)sqlite3_column_int64(s, 4),
					    .uid = (uint32_t)sqlite3_column_int64(s, 5) };
		(void)snprintf(g.gap.reason, sizeof(g.gap.reason), "%s", (const char *)sqlite3_column_text(s, 6));
		r = ARRAY_PUSH(&writer->retention_gaps, g);
	}
	return r;
}

int retention_commit(struct writer *writer, int r)
{
	r = r ? r : db_commit(&writer->db);
	if (r < 0) {
		db_rollback(&writer->db);
		(void)retention_load(writer);
	}
	return r;
}

int retention_note(struct writer *writer, int64_t boot, const struct batch_gap *gap)
{
	struct writer_gap *g = NULL;

	for (size_t i = 0; i < writer->retention_gaps.n; i++)
		if (writer->retention_gaps.items[i].boot == boot &&
		    writer->retention_gaps.items[i].gap.uid == gap->uid &&
		    strcmp(writer->retention_gaps.items[i].gap.reason, gap->reason) == 0)
			g = &writer->retention_gaps.items[i];
	if (!g) {
		if (ARRAY_PUSH(&writer->retention_gaps,
			       ((struct writer_gap){ .id = writer->next_gap, .boot = boot, .gap = *gap })) < 0)
			return -ENOMEM;
		writer->next_gap++;
		g = &writer->retention_gaps.items[writer->retention_gaps.n - 1];
	} else {
		g->gap.t0_ns = MIN(g->gap.t0_ns, gap->t0_ns);
		g->gap.t1_ns = MAX(g->gap.t1_ns, gap->t1_ns);
		g->gap.count += gap->count;
	}
	return writer_put_gap(writer, g->id, boot, &g->gap);
}

/* Monotonic time of a boot `age_ns` before now; 0 when all of it is younger. */
static uint64_t cutoff(struct writer *writer, int64_t boot, uint64_t age_ns)
{
	uint64_t unix_of_zero = 0;
	uint64_t limit = writer->now_unix_ns - MIN(writer->now_unix_ns, age_ns);

	if (boot == writer->boot)
		return writer->now_ns - MIN(writer->now_ns, age_ns);
	/* By the last clock row of the boot; an error of an hour does not matter for an old boot. */
	if (writer_unix_ns(writer, boot, INT64_MAX, &unix_of_zero) < 0)
		return 0;
	unix_of_zero -= INT64_MAX;
	return limit > unix_of_zero ? limit - unix_of_zero : 0;
}

static int run_text(struct writer *writer, const char *text, int64_t boot, uint64_t limit_ns)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	if (r < 0)
		return r;
	SQL_INTS(s, 1, boot, (int64_t)limit_ns);
	return sql_run(s);
}

/* Deletes rows of all owners that are too old. */
static int old_blocks(struct writer *writer, int64_t boot, uint64_t limit_ns)
{
	static const char *const texts[] = {
		"DELETE FROM block_data WHERE id IN (SELECT id FROM block WHERE boot = ?1 AND t1 < ?2)",
		"DELETE FROM block WHERE boot = ?1 AND t1 < ?2",
		"DELETE FROM figures WHERE boot = ?1 AND t1 < ?2",
		"DELETE FROM finding WHERE boot = ?1 AND end_ns < ?2",
		"DELETE FROM gap WHERE boot = ?1 AND t1 < ?2",
		"DELETE FROM damaged WHERE boot = ?1 AND t1 < ?2",
		"DELETE FROM session WHERE boot = ?1 AND end_ns < ?2",
		"DELETE FROM process WHERE boot = ?1 AND gone_ns < ?2",
	};
	int r = 0;

	for (size_t i = 0; r == 0 && limit_ns && i < ARRAY_SIZE(texts); i++)
		r = run_text(writer, texts[i], boot, limit_ns);
	return r;
}

static int drop_finer(struct writer *writer, int level, uint32_t uid, int64_t boot, uint64_t age_ns)
{
	sqlite3_stmt *s = db_statement(&writer->db, DB_DROP_FINER);

	SQL_INTS(s, 1, bucket_level_s[level], bucket_level_s[level + 1], boot, (int64_t)cutoff(writer, boot, age_ns),
		 uid);
	return sql_run(s);
}

static int old_figures(struct writer *writer, int64_t boot)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	ARRAY(uint32_t) uids = { 0 };
	int r = sql_prepare(writer->db.handle,
			    "SELECT DISTINCT uid FROM figures WHERE level = 3600 AND boot = ?1"
			    " UNION SELECT DISTINCT uid FROM figures WHERE level = 60 AND boot = ?1",
			    &s);

	(void)sqlite3_bind_int64(s, 1, boot);
	while (r == 0 && (r = sql_step(s)) > 0)
		r = ARRAY_PUSH(&uids, (uint32_t)sqlite3_column_int64(s, 0));
	for (size_t i = 0; r == 0 && i < uids.n; i++) {
		r = drop_finer(writer, 0, uids.items[i], boot, BUCKET_PARTS_NS);
		r = r ? r : drop_finer(writer, 1, uids.items[i], boot, FINE_NS);
		r = r ? r : drop_finer(writer, 2, uids.items[i], boot, MINUTES_NS);
	}
	ARRAY_DONE(&uids);
	return r ? r
		 : run_text(writer, "DELETE FROM snapshot WHERE boot = ?1 AND t < ?2", boot,
			    cutoff(writer, boot, MINUTES_NS));
}

int retention_by_age(struct writer *writer)
{
	int64_t last = 0;
	int r = db_begin(&writer->db), one;

	one = r ? r : db_get_int(&writer->db, "SELECT max(id) FROM boot", &last);
	r = one < 0 ? one : 0;
	for (int64_t boot = 1; r == 0 && boot <= last; boot++) {
		r = old_figures(writer, boot);
		if (r == 0 && writer->options.max_age_ns)
			r = old_blocks(writer, boot, cutoff(writer, boot, writer->options.max_age_ns));
	}
	r = r ? r : retention_all_stacks(writer);
	/* Sealing checks the size, but without recorded calls nothing is sealed. */
	r = retention_commit(writer, r ? r : retention_by_size(writer));
	if (r < 0)
		return r;
	writer->retained_ns = writer->now_ns;
	writer->oldest_unix_ns = 0;
	return retention_load(writer);
}
