// SPDX-License-Identifier: Apache-2.0
/*
 * Selecting the rows of figures that cover a window, so that each call is counted once.
 *
 * The same calls are in rows of 10 s, of a minute and of an hour, as long as each kind is kept; the latest 10 s are in
 * rows of about a second. Fine rows are used if they reach from the beginning of a coarse row to its end: a time
 * without fine rows in between had no calls, unless rows were damaged. Otherwise the coarse row is used, and the fine
 * rows of its time are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/read/own.h"

struct piece {
	int64_t id;
	uint64_t t0, t1;
	uint64_t from_unix, to_unix;
	uint64_t span_from_unix, span_to_unix; /* of all rows of the boot that share a time with it, any owner's */
	uint32_t uid;
	uint32_t boot;
	uint32_t crc;
	bool is_replaced;
};

struct pieces {
	struct piece *items;
	size_t n;
	size_t room;
};

static int piece_compare(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->boot != y->boot)
		return x->boot < y->boot ? -1 : 1;
	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	return (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* Rows mostly come in order. */
static void pieces_sort(struct pieces *list, int (*compare)(const void *, const void *))
{
	for (size_t i = 1; i < list->n; i++)
		if (compare(&list->items[i - 1], &list->items[i]) > 0) {
			qsort(list->items, list->n, sizeof(*list->items), compare);
			return;
		}
}

static int piece_compare_time(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->from_unix > y->from_unix) - (x->from_unix < y->from_unix);
}

/* Bounds of a row with a clock step or a suspend in it: it keeps its length, and its end is by the wall clock. */
static void end_only(const struct own_boot *boot, struct piece *p)
{
	p->to_unix = own_unix(boot, p->t1);
	p->from_unix = p->to_unix - MIN(p->t1 - p->t0, p->to_unix);
}

static int level_load(struct own_file *own, int64_t level, uint64_t from_unix_ns, uint64_t to_unix_ns,
		      struct pieces *list)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r;

	r = sql_prepare(own->db,
			own->scope.all ? "SELECT id, uid, t0, t1, crc FROM figures "
					 "WHERE level = ?1 AND boot = ?2 AND t1 > ?3 AND t0 < ?4"
				       : "SELECT id, uid, t0, t1, crc FROM figures "
					 "WHERE level = ?1 AND boot = ?2 AND t1 > ?3 AND t0 < ?4 AND uid = ?5",
			&s);
	for (size_t i = 0; i < own->boots.n && r == 0; i++) {
		const struct own_boot *boot = &own->boots.items[i];
		uint64_t from = 0, to = 0;
		int step;

		if (!own_mono_range(boot, from_unix_ns, to_unix_ns, &from, &to))
			continue;
		(void)sqlite3_reset(s);
		SQL_INTS(s, 1, level, boot->id, (int64_t)from, (int64_t)to);
		if (!own->scope.all)
			(void)sqlite3_bind_int64(s, 5, own->scope.uid);
		while ((step = sql_step(s)) > 0 && r == 0) {
			struct piece p = { .boot = boot->id };

			p.id = sqlite3_column_int64(s, 0);
			p.uid = (uint32_t)sqlite3_column_int64(s, 1);
			p.t0 = (uint64_t)sqlite3_column_int64(s, 2);
			p.t1 = (uint64_t)sqlite3_column_int64(s, 3);
			p.crc = (uint32_t)sqlite3_column_int64(s, 4);
			own_unix_range(boot, p.t0, p.t1, &p.from_unix, &p.to_unix);
			if (p.t1 > p.t0 && p.to_unix - p.from_unix > p.t1 - p.t0)
				end_only(boot, &p);
			r = ARRAY_PUSH(list, p);
		}
		if (r == 0)
			r = step;
	}
	return r;
}

static bool is_before(const struct piece *a, const struct piece *b)
{
	return a->boot != b->boot ? a->boot < b->boot : a->uid != b->uid ? a->uid < b->uid : a->t1 <= b->t0;
}

static bool piece_overlaps(const struct piece *a, const struct piece *b)
{
	return a->boot == b->boot && a->uid == b->uid && a->t0 < b->t1 && b->t0 < a->t1;
}

static void replaced_drop(struct pieces *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (!list->items[i].is_replaced)
			list->items[n++] = list->items[i];
	list->n = n;
	pieces_sort(list, piece_compare);
}

/* Load the times of damaged rows. */
static int damaged_load(struct own_file *own, struct pieces *list)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT boot, coalesce(uid, ?1), t0, t1 FROM gap WHERE reason = 'damaged'", &s);

	if (r == 0)
		(void)sqlite3_bind_int64(s, 1, UINT32_MAX);
	while (r == 0) {
		struct piece p = { .id = 0 };
		int step = sql_step(s);

		if (step <= 0)
			return step;
		p.boot = (uint32_t)sqlite3_column_int64(s, 0);
		p.uid = (uint32_t)sqlite3_column_int64(s, 1);
		p.t0 = (uint64_t)sqlite3_column_int64(s, 2);
		p.t1 = (uint64_t)sqlite3_column_int64(s, 3);
		r = ARRAY_PUSH(list, p);
	}
	return r;
}

static bool is_damaged_in(const struct pieces *damaged, const struct piece *p)
{
	for (size_t i = 0; i < damaged->n; i++) {
		const struct piece *d = &damaged->items[i];

		if (d->boot == p->boot && (d->uid == p->uid || d->uid == UINT32_MAX) && d->t0 < p->t1 && d->t1 > p->t0)
			return true;
	}
	return false;
}

enum replace {
	REPLACE_INCOMPLETE, /* use a coarse row if the fine rows do not cover it */
	REPLACE_COMPLETE,   /* use a coarse row even if the fine rows cover it */
};

/* Replace fine rows by coarse rows. Both lists are sorted by boot, owner, time. */
static int coarse_merge(struct pieces *fine, const struct pieces *coarse, const struct pieces *damaged,
			enum replace which)
{
	size_t n_fine = fine->n, low = 0;
	int r = 0;

	for (size_t i = 0; i < coarse->n && r == 0; i++) {
		const struct piece *c = &coarse->items[i];
		bool is_within = true;
		uint64_t covered = 0, reached = 0;
		size_t end;

		while (low < n_fine && is_before(&fine->items[low], c))
			low++;
		for (end = low; end < n_fine && piece_overlaps(&fine->items[end], c); end++) {
			const struct piece *f = &fine->items[end];

			covered += MIN(f->t1, c->t1) - MAX(f->t0, c->t0);
			reached = MAX(reached, f->t1);
			is_within = is_within && f->t0 >= c->t0 && f->t1 <= c->t1;
		}
		if (which == REPLACE_COMPLETE ? covered != c->t1 - c->t0 || !is_within || !covered
					      : covered >= c->t1 - c->t0)
			continue;
		/* The fine rows reach from end to end: a time without rows had no calls, unless rows were damaged. */
		if (which == REPLACE_INCOMPLETE && end > low && fine->items[low].t0 <= c->t0 && reached >= c->t1 &&
		    !is_damaged_in(damaged, c))
			continue;
		for (size_t k = low; k < end; k++)
			fine->items[k].is_replaced = true;
		r = ARRAY_PUSH(fine, *c);
	}
	replaced_drop(fine);
	return r;
}

static int piece_compare_boot_time(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->boot != y->boot)
		return x->boot < y->boot ? -1 : 1;
	return (x->from_unix > y->from_unix) - (x->from_unix < y->from_unix);
}

/*
 * Rows of several owners share a time, but not their bounds: a row begins with the first call of its owner.
 * The bounds of an answer hold for all owners only if such rows are in it together.
 */
static void spans_find(struct pieces *list)
{
	size_t end;

	pieces_sort(list, piece_compare_boot_time);
	for (size_t first = 0; first < list->n; first = end) {
		const struct piece *f = &list->items[first];
		uint64_t to = f->to_unix;

		for (end = first + 1;
		     end < list->n && list->items[end].boot == f->boot && list->items[end].from_unix < to; end++)
			to = MAX(to, list->items[end].to_unix);
		for (size_t i = first; i < end; i++) {
			list->items[i].span_from_unix = f->from_unix;
			list->items[i].span_to_unix = to;
		}
	}
}

/*
 * A row belongs to the window that contains the middle of its span: the answer's bounds are the bounds nearest to the
 * requested ones.
 */
static bool piece_is_inside(const struct piece *p, uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	uint64_t middle = p->span_from_unix + (p->span_to_unix - p->span_from_unix) / 2;

	return middle >= from_unix_ns && (!to_unix_ns || middle < to_unix_ns);
}

static void outside_drop(struct pieces *list, uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	bool is_any = false;

	spans_find(list);
	for (size_t i = 0; i < list->n && !is_any; i++)
		is_any = piece_is_inside(&list->items[i], from_unix_ns, to_unix_ns);
	for (size_t i = 0; i < list->n; i++) {
		struct piece *p = &list->items[i];

		/* If no row has its middle in the window, rows that overlap the window are used. */
		p->is_replaced =
			is_any ? !piece_is_inside(p, from_unix_ns, to_unix_ns)
			       : p->span_to_unix <= from_unix_ns || (to_unix_ns && p->span_from_unix >= to_unix_ns);
	}
	replaced_drop(list);
}

static const int64_t levels[] = { 1, 10, 60, 3600 }; /* schema.sql */

/* Choose the rows for a window: the finest rows kept; with @coarsely the coarsest rows that cover it, for summing. */
static int pieces_choose(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, bool coarsely,
			 struct pieces *list)
{
	const uint64_t margin = 3600 * NSEC_PER_SEC; /* longest row: rows across a bound are loaded, too */
	uint64_t from = from_unix_ns > margin ? from_unix_ns - margin : 0;
	uint64_t to = to_unix_ns ? to_unix_ns + margin : 0;
	struct pieces rows[ARRAY_SIZE(levels)] = { { .items = NULL } };
	struct pieces damaged = { .items = NULL };
	int r = damaged_load(own, &damaged);

	for (size_t i = 0; i < ARRAY_SIZE(levels) && r == 0; i++) {
		r = level_load(own, levels[i], from, to, &rows[i]);
		pieces_sort(&rows[i], piece_compare);
		if (r == 0)
			r = coarse_merge(list, &rows[i], &damaged, REPLACE_INCOMPLETE);
	}
	outside_drop(list, from_unix_ns, to_unix_ns);
	for (size_t i = 1; i < ARRAY_SIZE(levels) && coarsely && r == 0; i++)
		r = coarse_merge(list, &rows[i], &damaged, REPLACE_COMPLETE);
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		ARRAY_DONE(&rows[i]);
	ARRAY_DONE(&damaged);
	return r;
}

static void decoder_freep(struct figures_decoder **decoder)
{
	figures_decoder_free(*decoder);
}

static int piece_read(struct own_file *own, struct figures_decoder *decoder, sqlite3_stmt *s, const struct piece *p,
		      own_blob_func func, void *data)
{
	CLEANUP(figures_blob_done) struct figures_blob blob = { .figures = { .items = NULL } };
	int step, r;

	(void)sqlite3_reset(s);
	(void)sqlite3_bind_int64(s, 1, p->id);
	step = sql_step(s);
	if (step <= 0)
		return step;
	r = figures_decode(decoder, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), p->crc, &blob);
	if (r == -EBADMSG || r == -ENOTSUP)
		return own_damaged(own, 'f', p->id, p->boot, p->t0, p->t1, 0);
	return r ? r : func(own, &blob, p->from_unix, p->to_unix, data);
}

int own_blobs(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, struct own_blobs_wish wish,
	      own_blob_func func, void *data)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	CLEANUP(decoder_freep) struct figures_decoder *decoder = NULL;
	struct pieces list = { .items = NULL };
	int r = figures_decoder_new(&decoder);

	if (r == 0 && wish.without_accounts)
		figures_decoder_skip_accounts(decoder);
	if (r == 0)
		r = sql_prepare(own->db, "SELECT data FROM figures WHERE id = ?", &s);
	if (r == 0)
		r = pieces_choose(own, from_unix_ns, to_unix_ns, wish.coarsely, &list);
	/* A sum needs no order in time; reading owner by owner keeps the sums in the CPU cache. */
	pieces_sort(&list, wish.coarsely ? piece_compare : piece_compare_time);
	for (size_t i = 0; i < list.n && r == 0; i++)
		r = piece_read(own, decoder, s, &list.items[i], func, data);
	ARRAY_DONE(&list);
	return r;
}
