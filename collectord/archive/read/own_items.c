// SPDX-License-Identifier: Apache-2.0
/* Selecting the blocks and tail rows that may have matching calls, by their headers. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "archive/read/own_cursor.h"

#define OPS_BITMAP_BYTES 32

const struct read_process *own_cursor_process(struct own_cursor *c, uint32_t id)
{
	if (id != c->process_id || !c->process) {
		c->process = own_process(c->own, id);
		c->process_id = id;
	}
	return c->process;
}

bool own_process_matches(const struct own_cursor *c, const struct read_process *p)
{
	return p && (!c->filter.pids || own_is_listed(c->filter.pids, c->filter.n_pids, p->pid));
}

static bool ops_match(const struct read_filter *f, const uint8_t *bitmap, size_t n_bytes)
{
	if (!f->ops || n_bytes < OPS_BITMAP_BYTES)
		return true;
	for (size_t i = 0; i < f->n_ops; i++) {
		uint32_t bit = MIN(f->ops[i], 255u);

		if (bitmap[bit / 8] & 1u << bit % 8)
			return true;
	}
	return false;
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum processes_match { PROCESSES_NONE, PROCESSES_SOME, PROCESSES_ALL };

/* Whether the processes in a block's header match the filter. */
static enum processes_match processes_match(struct own_cursor *c, uint32_t process, const uint8_t *list, size_t n_bytes)
{
	size_t n_match = 0;

	if (process)
		return own_process_matches(c, own_cursor_process(c, process)) ? PROCESSES_ALL : PROCESSES_NONE;
	if (n_bytes < 4)
		return PROCESSES_SOME; /* the block has more processes than the header lists */
	for (size_t i = 0; i + 4 <= n_bytes; i += 4)
		n_match += own_process_matches(c, own_cursor_process(c, le32(list + i)));
	if (n_match == 0)
		return PROCESSES_NONE;
	return n_match == n_bytes / 4 ? PROCESSES_ALL : PROCESSES_SOME;
}

/* The clock may have been stepped in between: by the wall clock, the smallest range with all times is used. */
void own_item_bounds(const struct own_cursor *c, const struct own_boot *boot, uint64_t t0, uint64_t t1,
		     struct item *item)
{
	item->begin = (struct read_time){ .boot = boot->id, .ns = t0 };
	item->end = (struct read_time){ .boot = boot->id, .ns = t1 };
	if (!c->filter.by_wall_clock)
		return;
	item->begin.boot = item->end.boot = 0;
	own_unix_range(boot, t0, t1, &item->begin.ns, &item->end.ns);
}

/* Return: 0 or -ENOMEM */
static int item_add(struct own_cursor *c, const struct own_boot *boot, struct item *item)
{
	own_item_bounds(c, boot, item->t0, item->t1, item);
	if (read_time_is_before(&item->end, &c->filter.since))
		return 0;
	return ARRAY_PUSH(&c->items, *item);
}

/* Whether all calls of an item are in the filter's window. */
static bool is_inside(const struct read_filter *f, const struct own_boot *boot, const struct item *item)
{
	uint64_t from, to;

	if (!f->from_unix_ns && !f->to_unix_ns)
		return true;
	own_unix_range(boot, item->t0, item->t1, &from, &to);
	return from >= f->from_unix_ns && (!f->to_unix_ns || to < f->to_unix_ns);
}

static int items_load_blocks(struct own_cursor *c, sqlite3_stmt *s, const struct own_boot *boot)
{
	const struct read_filter *f = &c->filter;

	for (;;) {
		struct item item = { .is_block = true, .boot = boot->id };
		enum processes_match who;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		item.id = sqlite3_column_int64(s, 0);
		item.t0 = (uint64_t)sqlite3_column_int64(s, 2);
		item.t1 = (uint64_t)sqlite3_column_int64(s, 3);
		item.n = (uint32_t)sqlite3_column_int64(s, 4);
		item.crc = (uint32_t)sqlite3_column_int64(s, 8);
		if (f->min_duration_ns && (uint64_t)sqlite3_column_int64(s, 5) < f->min_duration_ns)
			continue;
		if (!ops_match(f, sqlite3_column_blob(s, 6), (size_t)sqlite3_column_bytes(s, 6)))
			continue;
		who = processes_match(c, (uint32_t)sqlite3_column_int64(s, 1), sqlite3_column_blob(s, 7),
				      (size_t)sqlite3_column_bytes(s, 7));
		if (who == PROCESSES_NONE)
			continue;
		item.is_wanted = who == PROCESSES_ALL && !f->ops && !f->min_duration_ns && !f->max_duration_ns &&
				 !f->since.boot && !f->since.ns;
		item.is_whole = item.is_wanted && is_inside(f, boot, &item);
		if (item_add(c, boot, &item) < 0)
			return -ENOMEM;
	}
}

static int items_load_tail(struct own_cursor *c, sqlite3_stmt *s, const struct own_boot *boot)
{
	for (;;) {
		struct item item = { .boot = boot->id };
		int step = sql_step(s);

		if (step <= 0)
			return step;
		item.id = sqlite3_column_int64(s, 0);
		item.t0 = (uint64_t)sqlite3_column_int64(s, 1);
		item.t1 = (uint64_t)sqlite3_column_int64(s, 2);
		item.n = (uint32_t)sqlite3_column_int64(s, 3);
		item.crc = (uint32_t)sqlite3_column_int64(s, 4);
		if (item_add(c, boot, &item) < 0)
			return -ENOMEM;
	}
}

/* Bind the query of one uid: the index finds its rows, and rows of other owners cost no time. */
static int items_bind(const struct own_cursor *c, sqlite3_stmt *s, const struct own_boot *boot, uint64_t from,
		      uint64_t to)
{
	const struct read_scope *scope = &c->own->scope;
	bool has_uid = !scope->all || c->filter.has_uid;
	uint32_t uid = scope->all ? c->filter.uid : scope->uid;

	(void)sqlite3_reset(s);
	SQL_INTS(s, 1, boot->id, (int64_t)from, (int64_t)to);
	if (has_uid)
		(void)sqlite3_bind_int64(s, 4, uid);
	return 0;
}

static int item_compare_begin(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return read_time_is_before(&y->begin, &x->begin) - read_time_is_before(&x->begin, &y->begin);
}

static int item_compare_end(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return read_time_is_before(&x->end, &y->end) - read_time_is_before(&y->end, &x->end);
}

int own_items_load(struct own_cursor *c)
{
	const struct read_scope *scope = &c->own->scope;
	bool has_uid = !scope->all || c->filter.has_uid;
	CLEANUP(sql_finalizep) sqlite3_stmt *blocks = NULL;
	CLEANUP(sql_finalizep) sqlite3_stmt *tail = NULL;
	int r;

	if (!scope->all && c->filter.has_uid && c->filter.uid != scope->uid)
		return 0;
	r = sql_prepare(c->own->db,
			has_uid ? "SELECT id, process, t0, t1, n, max_ns, ops, processes, crc FROM block "
				  "WHERE boot = ?1 AND t1 >= ?2 AND t0 < ?3 AND uid = ?4"
				: "SELECT id, process, t0, t1, n, max_ns, ops, processes, crc FROM block "
				  "WHERE boot = ?1 AND t1 >= ?2 AND t0 < ?3",
			&blocks);
	if (r == 0)
		r = sql_prepare(
			c->own->db,
			has_uid ? "SELECT id, t0, t1, n, crc FROM tail "
				  "WHERE boot = ?1 AND t1 >= ?2 AND t0 < ?3 AND uid = ?4"
				: "SELECT id, t0, t1, n, crc FROM tail WHERE boot = ?1 AND t1 >= ?2 AND t0 < ?3",
			&tail);
	for (size_t i = 0; i < c->own->boots.n && r == 0; i++) {
		const struct own_boot *boot = &c->own->boots.items[i];
		uint64_t from = 0, to = 0;

		if (!own_mono_range(boot, c->filter.from_unix_ns, c->filter.to_unix_ns, &from, &to))
			continue;
		r = items_bind(c, blocks, boot, from, to);
		if (r == 0)
			r = items_load_blocks(c, blocks, boot);
		if (r == 0)
			r = items_bind(c, tail, boot, from, to);
		if (r == 0)
			r = items_load_tail(c, tail, boot);
	}
	if (r == 0 && c->items.n)
		qsort(c->items.items, c->items.n, sizeof(*c->items.items),
		      c->filter.newest_first ? item_compare_end : item_compare_begin);
	return r;
}

void own_items_again(struct own_cursor *c, const struct item *item)
{
	int (*compare)(const void *, const void *) = c->filter.newest_first ? item_compare_end : item_compare_begin;
	size_t at = --c->next;

	for (; at + 1 < c->items.n && compare(item, &c->items.items[at + 1]) > 0; at++)
		c->items.items[at] = c->items.items[at + 1];
	c->items.items[at] = *item;
}
