// SPDX-License-Identifier: Apache-2.0
/*
 * Deletion, oldest first: by the size of the file, by age, and when a disk is full.
 *
 * By size, blocks of the owner with the most events are deleted, so that this owner does not displace the others.
 * Deletion continues down to 90 % of the limit, so that it is not needed at each seal. One gap row for each owner and
 * boot, extended each time, records how far blocks were deleted.
 */
#include <errno.h>
#include <string.h>

#include "archive/write/writer.h"

#define KEEP_RATIO_PERCENT 90
#define LOOK_EVERY 8				  /* blocks deleted between two checks of the size */
#define PARTS_NS (60 * NSEC_PER_SEC)		  /* maximum age of parts of 10 s */
#define FINE_NS (3600 * NSEC_PER_SEC)		  /* maximum age of 10-s figures */
#define MINUTES_NS (7 * 24 * 3600 * NSEC_PER_SEC) /* maximum age of figures by the minute, and of snapshots */

int retention_load(struct writer *writer)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *owners = NULL, *gaps = NULL;
	sqlite3 *db = writer->db.handle;
	int r = sql_prepare(db, "SELECT uid, sum(n) FROM block GROUP BY uid", &owners);

	r = r ? r
	      : sql_prepare(db,
			    "SELECT id, boot, t0, t1, count, uid FROM gap WHERE reason = 'retention'"
			    " AND uid IS NOT NULL",
			    &gaps);
	if (r < 0)
		return r;
	for (size_t i = 0; i < writer->owners.n; i++)
		writer->owners.items[i].events = 0;
	while ((r = sql_step(owners)) > 0) {
		struct writer_owner *o = writer_owner(writer, (uint32_t)sqlite3_column_int64(owners, 0));

		if (!o)
			return -ENOMEM;
		o->events = (uint64_t)sqlite3_column_int64(owners, 1);
	}
	writer->retention_gaps.n = 0;
	while (r == 0 && (r = sql_step(gaps)) > 0) {
		struct writer_gap g = { .id = sqlite3_column_int64(gaps, 0), .boot = sqlite3_column_int64(gaps, 1) };

		g.gap = (struct batch_gap){ .t0_ns = (uint64_t)sqlite3_column_int64(gaps, 2),
					    .t1_ns = (uint64_t)sqlite3_column_int64(gaps, 3),
					    .count = (uint64_t)sqlite3_column_int64(gaps, 4),
					    .uid = (uint32_t)sqlite3_column_int64(gaps, 5),
					    .reason = "retention" };
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

static int note_gap(struct writer *writer, int64_t boot, const struct batch_gap *gap)
{
	struct writer_gap *g = NULL;

	for (size_t i = 0; i < writer->retention_gaps.n; i++)
		if (writer->retention_gaps.items[i].boot == boot && writer->retention_gaps.items[i].gap.uid == gap->uid)
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

/* Return: 0, -ENOENT when the owner has no block, -errno */
static int delete_oldest(struct writer *writer, struct writer_owner *owner)
{
	struct batch_gap gap = { .uid = owner->uid, .reason = "retention" };
	int64_t id = 0, boot = 0;
	int r;
	{
		CLEANUP(sql_resetp) sqlite3_stmt *s = db_statement(&writer->db, DB_OLDEST_BLOCK);

		(void)sqlite3_bind_int64(s, 1, owner->uid);
		r = sql_step(s);
		if (r > 0) {
			id = sqlite3_column_int64(s, 0);
			boot = sqlite3_column_int64(s, 1);
			gap.t0_ns = (uint64_t)sqlite3_column_int64(s, 2);
			gap.t1_ns = (uint64_t)sqlite3_column_int64(s, 3);
			gap.count = (uint64_t)sqlite3_column_int64(s, 4);
		}
	}
	if (r <= 0)
		return r ? r : -ENOENT;
	for (int i = 0; i < 2; i++) {
		sqlite3_stmt *s = db_statement(&writer->db, i == 0 ? DB_DELETE_BLOCK : DB_DELETE_BLOCK_DATA);

		(void)sqlite3_bind_int64(s, 1, id);
		r = sql_run(s);
		if (r < 0)
			return r;
	}
	owner->events -= MIN(owner->events, gap.count);
	return note_gap(writer, boot, &gap);
}

/* Owner with the most events in blocks. */
static struct writer_owner *largest(struct writer *writer)
{
	struct writer_owner *most = NULL;

	for (size_t i = 0; i < writer->owners.n; i++)
		if (writer->owners.items[i].events && (!most || writer->owners.items[i].events > most->events))
			most = &writer->owners.items[i];
	return most;
}

static int delete_blocks(struct writer *writer, int n)
{
	int r = 0;

	for (int i = 0; r == 0 && i < n; i++) {
		struct writer_owner *owner = largest(writer);

		if (!owner)
			return i ? 0 : -ENOENT;
		r = delete_oldest(writer, owner);
		if (r == -ENOENT) {
			owner->events = 0;
			r = 0;
		}
	}
	return r;
}

/* Deletes other rows when no block is left, in this order: damaged rows, snapshots, finer figures, all figures. */
static int delete_others(struct writer *writer)
{
	static const char *const steps[] = {
		"DELETE FROM damaged",
		"DELETE FROM snapshot WHERE (boot, t) IN (SELECT boot, t FROM snapshot ORDER BY boot, t LIMIT 8192)",
		"DELETE FROM figures WHERE id IN (SELECT id FROM figures WHERE level<3600 ORDER BY boot, t0 LIMIT 64)",
		"DELETE FROM figures WHERE id IN (SELECT id FROM figures ORDER BY boot, t0 LIMIT 64)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int r = db_exec(&writer->db, steps[i]);

		if (r < 0 || sqlite3_changes(writer->db.handle))
			return r;
	}
	return -ENOENT;
}

int retention_by_size(struct writer *writer)
{
	uint64_t most = writer->options.max_bytes / 4096, used = 0;
	int r = most ? db_used_pages(&writer->db, &used) : 0;

	if (r < 0 || used <= most)
		return r;
	while (r == 0 && used > most * KEEP_RATIO_PERCENT / 100) {
		r = delete_blocks(writer, LOOK_EVERY);
		if (r == -ENOENT)
			r = delete_others(writer);
		if (r == -ENOENT)
			return 0; /* the remaining rows are small, or findings */
		r = r ? r : db_used_pages(&writer->db, &used);
	}
	writer->oldest_unix_ns = 0; /* unknown now: writer_tidy() finds it */
	return r;
}

int retention_delete_some(struct writer *writer, int n)
{
	int r = db_begin(&writer->db);

	r = retention_commit(writer, r ? r : delete_blocks(writer, n));
	writer->oldest_unix_ns = 0;
	return r;
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
		r = drop_finer(writer, 0, uids.items[i], boot, PARTS_NS);
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
	/* Sealing checks the size, but without recorded calls nothing is sealed. */
	r = retention_commit(writer, r ? r : retention_by_size(writer));
	if (r < 0)
		return r;
	writer->retained_ns = writer->now_ns;
	writer->oldest_unix_ns = 0;
	return retention_load(writer);
}
