// SPDX-License-Identifier: Apache-2.0
/*
 * Deletion by size: every stored row counts in the share of its owner, whatever its kind; snapshots, and gaps without
 * an owner, in the share of the machine.
 *
 * The owner with the largest share pays: of the kind that takes most, the oldest rows are deleted, down to 90 % of the
 * limit, so that deletion is not needed at each commit. Others pay only when nothing of it can be deleted, and keep an
 * equal part of the limit. If that is not enough, new data of the owner is not stored (stopped.c).
 *
 * A row of table process is deleted when nothing that is stored can refer to it: nobody has data as old as its end.
 */
#include <errno.h>
#include <stdlib.h>

#include "archive/write/writer.h"

#define KEEP_RATIO_PERCENT 90
#define AGAIN_NS (60 * NSEC_PER_SEC)	   /* between two tries while an owner is stopped: each reads the tables */
#define STEP_BYTES ((uint64_t)256 << 10)   /* deleted between two checks of the size, at most */
#define FRESH_NS (60 * NSEC_PER_SEC)	   /* rows of processes that ended later may be written again */
#define GAP_FRESH_NS (3600 * NSEC_PER_SEC) /* younger gaps may still grow */
#define NO_LATER_NS ((uint64_t)INT64_MAX)  /* all times are earlier */

/* Rows that are deleted together. Parameters of `oldest`: ?1 owner, ?2 boot, ?3 a time of this boot. */
struct rows {
	const char *reason;    /* of the gap; NULL: nothing is lost */
	const char *oldest;    /* id, boot, t0, t1, number that is lost, bytes; the oldest first */
	const char *remove[2]; /* ?1 id, ?2 boot */
	int (*remove_func)(struct writer *writer, int64_t id); /* instead of `remove` */
};

/* Owners and the bytes of their rows. Lengths of blobs are read without the blobs. */
static const char *const sizes[] = {
	/* 13 bytes an event: contents of blocks are not looked at, they are most of a file */
	[SHARE_CALLS] = "SELECT uid, sum(n * 13 + 200) FROM block GROUP BY uid",
	[SHARE_FIGURES] = "SELECT uid, sum(length(data) + 80) FROM figures GROUP BY uid",
	[SHARE_FINDINGS] = "SELECT uid, sum(length(data) + 120) FROM finding GROUP BY uid",
	/* A text of a frame is in the table and in its index. */
	[SHARE_STACKS] = ("SELECT uid, sum(bytes) FROM (SELECT uid, length(frames) + length(why) + 100 AS bytes FROM"
			  " stack UNION ALL SELECT uid, 2 * (length(symbol) + length(qualname) + length(file) +"
			  " length(module) + 24) FROM frame) GROUP BY uid"),
	[SHARE_PROCESSES] =
		("SELECT uid, sum(60 + length(comm) + coalesce(length(script), 0) +"
		 " coalesce(length(executable), 0) + coalesce(length(container), 0)) FROM process GROUP BY uid"),
	[SHARE_DAMAGED] = "SELECT uid, sum(coalesce(length(data), 0) + 60) FROM damaged GROUP BY uid",
	[SHARE_GAPS] = "SELECT coalesce(uid, 4294967295), sum(40 + length(reason)) FROM gap GROUP BY 1",
	[SHARE_SNAPSHOTS] = "SELECT 4294967295, count(*) * 90 FROM snapshot",
};
_Static_assert(ARRAY_SIZE(sizes) == SHARE_KINDS, "each kind has its size");

#define ROWS_MOST "256"

static const struct rows rows[SHARE_KINDS][2] = {
	[SHARE_CALLS] = { { .reason = "retention",
			    .oldest = "SELECT id, boot, t0, t1, n, n * 13 + 200 FROM block WHERE uid = ?1"
				      " ORDER BY boot, t1 LIMIT " ROWS_MOST,
			    .remove = { "DELETE FROM block WHERE id = ?1", "DELETE FROM block_data WHERE id = ?1" } } },
	/* First those within an hour's row, which has their sums. */
	[SHARE_FIGURES] = { { .oldest = "SELECT f.id, f.boot, f.t0, f.t1, 0, length(f.data) + 80 FROM (SELECT a.id FROM"
					" figures a WHERE a.level IN (1, 10, 60) AND a.uid = ?1 AND a.t1 <= (SELECT"
					" max(c.t1) FROM figures c WHERE c.level = 3600 AND c.uid = ?1 AND c.boot ="
					" a.boot) ORDER BY a.boot, a.t0 LIMIT " ROWS_MOST ") o JOIN figures f"
					" ON f.id = o.id",
			      .remove = { "DELETE FROM figures WHERE id = ?1" } },
			    { .reason = "retention_figures",
			      .oldest = "SELECT f.id, f.boot, f.t0, f.t1, 0, length(f.data) + 80 FROM (SELECT id FROM"
					" figures WHERE level IN (1, 10, 60, 3600) AND uid = ?1 ORDER BY boot, t0"
					" LIMIT " ROWS_MOST ") o JOIN figures f ON f.id = o.id",
			      .remove = { "DELETE FROM figures WHERE id = ?1" } } },
	[SHARE_FINDINGS] = { { .reason = "retention_findings",
			       .oldest = "SELECT id, boot, start_ns, coalesce(end_ns, start_ns), 1, length(data) + 120"
					 " FROM finding WHERE uid = ?1 ORDER BY boot, start_ns LIMIT " ROWS_MOST,
			       .remove = { "DELETE FROM finding WHERE id = ?1" } } },
	/* Those of the time that calls have least of; stacks without a call go first (stacks_delete()). */
	[SHARE_STACKS] = { { .reason = "retention_stacks",
			     .oldest = "SELECT id, boot, last_ns, last_ns, 1, length(frames) + length(why) + 100 FROM"
				       " stack WHERE uid = ?1 ORDER BY boot, last_ns LIMIT " ROWS_MOST,
			     .remove_func = writer_delete_stack } },
	/* Of boot ?2 those that ended before ?3. A finding can be of a process that ended before. */
	[SHARE_PROCESSES] = { { .oldest = "SELECT id, boot, first_ns, gone_ns, 0, 60 FROM process WHERE uid = ?1"
					  " AND boot = ?2 AND gone_ns < ?3 AND id NOT IN (SELECT process FROM finding"
					  " WHERE uid = ?1) LIMIT 2048",
				.remove = { "DELETE FROM process WHERE id = ?1" } } },
	[SHARE_DAMAGED] = { { .oldest = "SELECT id, boot, t0, t1, 0, coalesce(length(data), 0) + 60 FROM damaged"
					" WHERE uid = ?1 ORDER BY boot, t0 LIMIT " ROWS_MOST,
			      .remove = { "DELETE FROM damaged WHERE id = ?1" } } },
	/* Figures are read by the gaps `damaged`. The gaps that deletion writes are few. */
	[SHARE_GAPS] = { { .reason = "retention_gaps",
			   .oldest = "SELECT id, boot, t0, t1, 1, 60 FROM gap WHERE coalesce(uid, 4294967295) = ?1 AND"
				     " reason <> 'damaged' AND reason NOT LIKE 'retention%' AND NOT (boot = ?2 AND"
				     " t1 >= ?3) ORDER BY boot, t0 LIMIT " ROWS_MOST,
			   .remove = { "DELETE FROM gap WHERE id = ?1" } } },
	[SHARE_SNAPSHOTS] = { { .reason = "retention_snapshots",
				.oldest = "SELECT t, boot, t, t, 1, 90 FROM snapshot WHERE ?1 = 4294967295"
					  " ORDER BY boot, t LIMIT 2048",
				.remove = { "DELETE FROM snapshot WHERE t = ?1 AND boot = ?2" } } },
};

struct share {
	uint32_t uid;
	bool is_spent; /* nothing of it can be deleted */
	uint64_t bytes[SHARE_KINDS];
};

struct shares {
	ARRAY(struct share) items;
};

static void shares_done(struct shares *shares)
{
	ARRAY_DONE(&shares->items);
}

static uint64_t share_sum(const struct share *share)
{
	uint64_t sum = 0;

	for (int kind = 0; kind < SHARE_KINDS; kind++)
		sum += share->bytes[kind];
	return sum;
}

static int share_add(struct shares *shares, uint32_t uid, int kind, uint64_t bytes)
{
	struct share fresh = { .uid = uid };

	fresh.bytes[kind] = bytes;
	for (size_t i = 0; i < shares->items.n; i++)
		if (shares->items.items[i].uid == uid) {
			shares->items.items[i].bytes[kind] += bytes;
			return 0;
		}
	return bytes ? ARRAY_PUSH(&shares->items, fresh) : 0;
}

static int shares_load(struct writer *writer, int first, int end, struct shares *shares)
{
	int r = 0;

	for (int kind = first; r == 0 && kind < end; kind++) {
		CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;

		r = sql_prepare(writer->db.handle, sizes[kind], &s);
		while (r == 0 && (r = sql_step(s)) > 0)
			r = share_add(shares, (uint32_t)sqlite3_column_int64(s, 0), kind,
				      (uint64_t)sqlite3_column_int64(s, 1));
	}
	return r;
}

/* Reads again what a kind takes of an owner. */
static int share_again(struct writer *writer, struct share *share, int kind)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, sizes[kind], &s);

	share->bytes[kind] = 0;
	while (r == 0 && (r = sql_step(s)) > 0) {
		r = 0;
		if ((uint32_t)sqlite3_column_int64(s, 0) == share->uid)
			share->bytes[kind] = (uint64_t)sqlite3_column_int64(s, 1);
	}
	return r;
}

/* The bytes by which a share is compared: subordinate user ids weigh together. */
static uint64_t share_weight(const struct writer *writer, const struct shares *shares, const struct share *share)
{
	const struct subordinate *together = &writer->options.together;
	uint64_t sum = 0;

	if (!subordinate_has(together, share->uid))
		return share_sum(share);
	for (size_t i = 0; i < shares->items.n; i++)
		if (subordinate_has(together, shares->items.items[i].uid))
			sum += share_sum(&shares->items.items[i]);
	return sum;
}

/* Of user ids that weigh together the one that has most. */
static struct share *share_largest(const struct writer *writer, const struct shares *shares)
{
	struct share *apart = NULL, *member = NULL;

	for (size_t i = 0; i < shares->items.n; i++) {
		struct share *s = &shares->items.items[i];
		struct share **most = subordinate_has(&writer->options.together, s->uid) ? &member : &apart;

		if (!s->is_spent && (!*most || share_sum(s) > share_sum(*most)))
			*most = s;
	}
	if (!apart || !member)
		return apart ? apart : member;
	return share_weight(writer, shares, member) > share_sum(apart) ? member : apart;
}

/* The part of the limit that each owner keeps. */
static uint64_t share_fair(const struct writer *writer, const struct shares *shares)
{
	uint64_t n_apart = 0, n = shares->items.n;

	for (size_t i = 0; i < n; i++)
		n_apart += !subordinate_has(&writer->options.together, shares->items.items[i].uid);
	return writer->options.max_bytes * KEEP_RATIO_PERCENT / 100 / MAX(n_apart + (n_apart < n), 1);
}

/* ---- deletion ---- */

struct old_row {
	sqlite3_value *id; /* owned */
	int64_t boot;
	uint64_t t0_ns, t1_ns, n, bytes;
};

typedef ARRAY(struct old_row) old_rows;

static void old_rows_done(old_rows *list)
{
	for (size_t i = 0; i < list->n; i++)
		sqlite3_value_free(list->items[i].id);
	ARRAY_DONE(list);
}

static int old_rows_load(struct writer *writer, const struct rows *which, uint32_t uid, int64_t boot, uint64_t to_ns,
			 old_rows *list)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, which->oldest, &s);
	uint64_t bytes = 0, most = MIN(STEP_BYTES, MAX(writer->options.max_bytes / 64, (uint64_t)4096));

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(s, 1, uid);
	(void)sqlite3_bind_int64(s, 2, boot); /* this and the next only where the statement has them */
	(void)sqlite3_bind_int64(s, 3, (int64_t)to_ns);
	while (r == 0 && bytes < most && (r = sql_step(s)) > 0) {
		struct old_row row = { .id = sqlite3_value_dup(sqlite3_column_value(s, 0)),
				       .boot = sqlite3_column_int64(s, 1),
				       .t0_ns = (uint64_t)sqlite3_column_int64(s, 2),
				       .t1_ns = (uint64_t)sqlite3_column_int64(s, 3),
				       .n = (uint64_t)sqlite3_column_int64(s, 4),
				       .bytes = (uint64_t)sqlite3_column_int64(s, 5) };

		bytes += row.bytes;
		r = row.id ? ARRAY_PUSH(list, row) : -ENOMEM;
		if (r < 0)
			sqlite3_value_free(row.id);
	}
	return r;
}

static int old_row_delete(struct writer *writer, const struct rows *which, const struct old_row *row)
{
	int r = which->remove_func ? which->remove_func(writer, sqlite3_value_int64(row->id)) : 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(which->remove) && which->remove[i]; i++) {
		CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;

		r = sql_prepare(writer->db.handle, which->remove[i], &s);
		if (r < 0)
			break;
		(void)sqlite3_bind_value(s, 1, row->id);
		(void)sqlite3_bind_int64(s, 2, row->boot);
		r = sql_run(s);
	}
	return r;
}

/* Return: 0, -ENOENT when there is nothing to delete, -errno */
static int rows_delete(struct writer *writer, const struct rows *which, struct share *share, int kind, int64_t boot,
		       uint64_t to_ns)
{
	CLEANUP(old_rows_done) old_rows list = { 0 };
	int r = which->oldest ? old_rows_load(writer, which, share->uid, boot, to_ns, &list) : 0;

	if (r == 0 && !list.n)
		return -ENOENT;
	for (size_t i = 0; r == 0 && i < list.n; i++) {
		const struct old_row *row = &list.items[i];
		struct batch_gap gap = { .t0_ns = row->t0_ns, .t1_ns = row->t1_ns, .count = row->n, .uid = share->uid };

		r = old_row_delete(writer, which, row);
		if (r == 0 && which->reason) {
			(void)snprintf(gap.reason, sizeof(gap.reason), "%s", which->reason);
			r = retention_note(writer, row->boot, &gap);
		}
		share->bytes[kind] -= MIN(share->bytes[kind], row->bytes);
	}
	return r;
}

/* Time of the oldest data of an owner and boot, also of data that is still summed. */
static int oldest_data(struct writer *writer, uint32_t uid, int64_t boot, uint64_t *ret_ns)
{
	static const char text[] =
		"SELECT min(t) FROM (SELECT min(t0) AS t FROM block WHERE uid = ?1 AND boot = ?2 UNION ALL"
		" SELECT min(t0) FROM tail WHERE uid = ?1 AND boot = ?2 UNION ALL SELECT min(t0) FROM figures WHERE"
		" level IN (1, 10, 60, 3600) AND uid = ?1 AND boot = ?2)";
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(writer->db.handle, text, &s);

	if (r < 0)
		return r;
	SQL_INTS(s, 1, uid, boot);
	r = sql_step(s);
	*ret_ns =
		r > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL ? (uint64_t)sqlite3_column_int64(s, 0) : NO_LATER_NS;
	for (int level = 0; boot == writer->boot && level < BUCKET_LEVELS; level++)
		for (size_t i = 0; i < writer->buckets.open[level].n; i++)
			if (writer->buckets.open[level].items[i].uid == uid)
				*ret_ns = MIN(*ret_ns, writer->buckets.open[level].items[i].t0_ns);
	return MIN(r, 0);
}

static uint64_t before(uint64_t ns, uint64_t by_ns)
{
	return ns - MIN(ns, by_ns);
}

/* Deletes rows of processes, of the first boot that has some. Return: as rows_delete() */
static int processes_delete(struct writer *writer, struct share *share)
{
	int64_t last = 0;
	int one = db_get_int(&writer->db, "SELECT max(id) FROM boot", &last), r = one < 0 ? one : -ENOENT;

	for (int64_t boot = 1; r == -ENOENT && boot <= last; boot++) {
		uint64_t oldest_ns = 0;

		r = oldest_data(writer, share->uid, boot, &oldest_ns);
		if (r < 0)
			return r;
		/* A tick after the end can have some more of it. */
		if (boot == writer->boot)
			oldest_ns = MIN(oldest_ns, writer->now_ns);
		r = rows_delete(writer, &rows[SHARE_PROCESSES][0], share, SHARE_PROCESSES, boot,
				before(oldest_ns, oldest_ns == NO_LATER_NS ? 0 : FRESH_NS));
	}
	return r;
}

/*
 * Deletes stacks: first those that no call has any more, then those that were used longest ago, which are missing in
 * their calls. Return: as rows_delete()
 */
static int stacks_delete(struct writer *writer, struct share *share)
{
	int64_t last = 0;
	int r = db_get_int(&writer->db, "SELECT max(id) FROM boot", &last);

	for (int64_t boot = 1; r >= 0 && boot <= last; boot++) {
		r = retention_stacks(writer, share->uid, boot);
		if (r > 0)
			return share_again(writer, share, SHARE_STACKS);
	}
	if (r < 0)
		return r;
	r = rows_delete(writer, &rows[SHARE_STACKS][0], share, SHARE_STACKS, 0, 0);
	writer->stack_losses += r == 0;
	return r;
}

/* Return: as rows_delete() */
static int kind_delete(struct writer *writer, struct share *share, int kind)
{
	int r = -ENOENT;

	if (kind == SHARE_PROCESSES)
		return processes_delete(writer, share);
	if (kind == SHARE_STACKS)
		return stacks_delete(writer, share);
	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(rows[kind]); i++)
		r = rows_delete(writer, &rows[kind][i], share, kind, writer->boot,
				before(writer->now_ns, GAP_FRESH_NS));
	return r;
}

/* Deletes some of an owner: of the kind that takes most and can be deleted. Return: as rows_delete() */
static int share_delete(struct writer *writer, struct share *share)
{
	bool is_tried[SHARE_KINDS] = { false };
	int r = -ENOENT;

	while (r == -ENOENT) {
		int most = -1;

		for (int kind = 0; kind < SHARE_KINDS; kind++)
			if (!is_tried[kind] && share->bytes[kind] &&
			    (most < 0 || share->bytes[kind] > share->bytes[most]))
				most = kind;
		if (most < 0)
			return -ENOENT;
		is_tried[most] = true;
		r = kind_delete(writer, share, most);
	}
	return r;
}

/* ---- the limit ---- */

/* Stops the owners that have nothing more to delete; when there is room, all are stored again. */
static int owners_stop(struct writer *writer, const struct shares *shares, uint64_t used, uint64_t most)
{
	uint64_t fair = share_fair(writer, shares), largest = 0;

	if (used <= most * KEEP_RATIO_PERCENT / 100)
		stopped_end(writer);
	if (used <= most)
		return 0;
	for (size_t i = 0; i < shares->items.n; i++)
		largest = MAX(largest, share_weight(writer, shares, &shares->items.items[i]));
	for (size_t i = 0; i < shares->items.n; i++) {
		const struct share *share = &shares->items.items[i];
		uint64_t weight = share->is_spent ? share_weight(writer, shares, share) : 0;
		struct writer_owner *owner;

		if (!weight || (weight <= fair && weight < largest))
			continue;
		owner = writer_owner(writer, stopped_owner(writer, share->uid));
		if (!owner)
			return -ENOMEM;
		owner->storing = OWNER_STOPPED;
	}
	return 0;
}

static int delete_down(struct writer *writer, uint64_t most)
{
	CLEANUP(shares_done) struct shares shares = { 0 };
	bool is_any_spent = false;
	uint64_t used = 0;
	int r = shares_load(writer, 0, SHARE_KINDS, &shares);

	r = r ? r : db_used_pages(&writer->db, &used);
	while (r == 0 && used > most * KEEP_RATIO_PERCENT / 100) {
		struct share *share = share_largest(writer, &shares);

		if (!share || (is_any_spent && share_weight(writer, &shares, share) <= share_fair(writer, &shares)))
			break;
		r = share_delete(writer, share);
		if (r == -ENOENT) {
			share->is_spent = is_any_spent = true;
			r = 0;
		}
		r = r ? r : db_used_pages(&writer->db, &used);
	}
	writer->oldest_unix_ns = 0; /* unknown now: writer_tidy() finds it */
	return r ? r : owners_stop(writer, &shares, used, most);
}

int retention_by_size(struct writer *writer)
{
	uint64_t most = writer->options.max_bytes / 4096, used = 0;
	bool is_any_stopped = stopped_any(writer);
	int r = most ? db_used_pages(&writer->db, &used) : 0;

	if (r < 0 || !most || (used <= most && !is_any_stopped))
		return r;
	if (is_any_stopped && writer->now_ns - writer->stop_seen_ns < AGAIN_NS)
		return 0;
	writer->stop_seen_ns = writer->now_ns;
	return delete_down(writer, most);
}

int retention_delete_some(struct writer *writer, uint64_t bytes)
{
	CLEANUP(shares_done) struct shares shares = { 0 };
	int r = db_begin(&writer->db);

	r = r ? r : shares_load(writer, SHARE_CALLS, SHARE_CALLS + 1, &shares);
	for (uint64_t deleted = 0; r == 0 && deleted < bytes;) {
		struct share *share = share_largest(writer, &shares);
		uint64_t had = share ? share_sum(share) : 0;

		r = had ? kind_delete(writer, share, SHARE_CALLS) : -ENOENT;
		if (r == -ENOENT && deleted) {
			r = 0;
			break;
		}
		deleted += r == 0 ? had - share_sum(share) : 0;
	}
	r = retention_commit(writer, r);
	writer->oldest_unix_ns = 0;
	return r;
}
