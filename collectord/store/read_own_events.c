// SPDX-License-Identifier: Apache-2.0
/*
 * Walking over blocks and tail rows.
 *
 * Headers of all that may match are read first: a few dozen bytes for some thousand
 * calls. They are put in order of time, and what is decoded of each is first what the
 * filter needs, then, if a call is left, the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/read_own.h"

#define OPS_BITMAP_BYTES 32

struct item {
	int64_t id;
	uint64_t t0, t1;	     /* of its boot */
	uint64_t from_unix, to_unix; /* the same by the wall clock, widened by its steps */
	uint32_t boot;
	uint32_t n;
	uint32_t crc;
	bool is_block; /* else a row of the tail */
	bool is_whole; /* every call in it matches, as far as the header tells */
};

struct own_cursor {
	struct read_cursor base;
	struct read_filter filter;
	struct own_source *own;
	ARRAY(struct item) items;
	size_t next;
	sqlite3_stmt *block_data;
	sqlite3_stmt *tail_data;
	struct block_decoder *decoder;
	struct stored_event *events; /* BLOCK_EVENTS_MAX: of a block */
	uint32_t *selected;	     /* BLOCK_EVENTS_MAX */
	ARRAY(struct stored_event) tail;
	ARRAY(struct read_event) batch;
	/* Who was looked up last: runs of one process are the rule. */
	const struct read_process *process;
	uint32_t process_id;
};

/* ---- which rows ---- */

static bool is_listed(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static const struct read_process *cursor_process(struct own_cursor *c, uint32_t id)
{
	if (id != c->process_id || !c->process) {
		c->process = own_process(&c->own->base, id);
		c->process_id = id;
	}
	return c->process;
}

static bool process_matches(const struct own_cursor *c, const struct read_process *p)
{
	return p && (!c->filter.pids || is_listed(c->filter.pids, c->filter.n_pids, p->pid));
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

/* What a block's header says about whose calls it has. */
static enum processes_match processes_match(struct own_cursor *c, uint32_t process, const uint8_t *list, size_t n_bytes)
{
	size_t n_match = 0;

	if (process)
		return process_matches(c, cursor_process(c, process)) ? PROCESSES_ALL : PROCESSES_NONE;
	if (n_bytes < 4)
		return PROCESSES_SOME; /* more than the header lists */
	for (size_t i = 0; i + 4 <= n_bytes; i += 4)
		n_match += process_matches(c, cursor_process(c, le32(list + i)));
	if (n_match == 0)
		return PROCESSES_NONE;
	return n_match == n_bytes / 4 ? PROCESSES_ALL : PROCESSES_SOME;
}

static int items_load_blocks(struct own_cursor *c, sqlite3_stmt *s, const struct own_boot *boot)
{
	const struct read_filter *f = &c->filter;

	for (;;) {
		struct item item = { .is_block = true, .boot = boot->id };
		enum processes_match who;
		int step = sqlite3_step(s);

		if (step != SQLITE_ROW)
			return own_errno(step);
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
		own_unix_range(boot, item.t0, item.t1, &item.from_unix, &item.to_unix);
		item.is_whole = who == PROCESSES_ALL && !f->ops && !f->min_duration_ns && !f->max_duration_ns &&
				item.from_unix >= f->from_unix_ns && (!f->to_unix_ns || item.to_unix < f->to_unix_ns);
		if (ARRAY_PUSH(&c->items, item) < 0)
			return -ENOMEM;
	}
}

static int items_load_tail(struct own_cursor *c, sqlite3_stmt *s, const struct own_boot *boot)
{
	for (;;) {
		struct item item = { .boot = boot->id };
		int step = sqlite3_step(s);

		if (step != SQLITE_ROW)
			return own_errno(step);
		item.id = sqlite3_column_int64(s, 0);
		item.t0 = (uint64_t)sqlite3_column_int64(s, 1);
		item.t1 = (uint64_t)sqlite3_column_int64(s, 2);
		item.n = (uint32_t)sqlite3_column_int64(s, 3);
		item.crc = (uint32_t)sqlite3_column_int64(s, 4);
		own_unix_range(boot, item.t0, item.t1, &item.from_unix, &item.to_unix);
		if (ARRAY_PUSH(&c->items, item) < 0)
			return -ENOMEM;
	}
}

/* Each uid on its own, so that the index finds his rows and how many others own costs nothing. */
static int items_bind(const struct own_cursor *c, sqlite3_stmt *s, const struct own_boot *boot, uint64_t from,
		      uint64_t to)
{
	const struct read_scope *scope = &c->own->scope;
	bool has_uid = !scope->all || c->filter.has_uid;
	uint32_t uid = scope->all ? c->filter.uid : scope->uid;

	(void)sqlite3_reset(s);
	(void)sqlite3_bind_int64(s, 1, boot->id);
	(void)sqlite3_bind_int64(s, 2, (int64_t)from);
	(void)sqlite3_bind_int64(s, 3, (int64_t)to);
	if (has_uid)
		(void)sqlite3_bind_int64(s, 4, uid);
	return 0;
}

static int items_load(struct own_cursor *c)
{
	const struct read_scope *scope = &c->own->scope;
	bool has_uid = !scope->all || c->filter.has_uid;
	CLEANUP(own_finalizep) sqlite3_stmt *blocks = NULL;
	CLEANUP(own_finalizep) sqlite3_stmt *tail = NULL;
	int r;

	if (!scope->all && c->filter.has_uid && c->filter.uid != scope->uid)
		return 0;
	r = own_prepare(c->own->db,
			has_uid ? "SELECT id, process, t0, t1, n, max_ns, ops, processes, crc FROM block "
				  "WHERE boot = ?1 AND t1 >= ?2 AND t0 < ?3 AND uid = ?4"
				: "SELECT id, process, t0, t1, n, max_ns, ops, processes, crc FROM block "
				  "WHERE boot = ?1 AND t1 >= ?2 AND t0 < ?3",
			&blocks);
	if (r == 0)
		r = own_prepare(
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
	return r;
}

static int item_compare_begin(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->from_unix > y->from_unix) - (x->from_unix < y->from_unix);
}

static int item_compare_end(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->to_unix < y->to_unix) - (x->to_unix > y->to_unix);
}

/* ---- what is in them ---- */

static bool event_matches(struct own_cursor *c, const struct stored_event *e, const struct own_boot *boot)
{
	const struct read_filter *f = &c->filter;
	uint64_t start;

	if (f->min_duration_ns && e->call.duration_ns < f->min_duration_ns)
		return false;
	if (f->max_duration_ns && e->call.duration_ns > f->max_duration_ns)
		return false;
	if (f->ops && !is_listed(f->ops, f->n_ops, e->op))
		return false;
	if (!process_matches(c, cursor_process(c, e->process)))
		return false;
	start = own_unix(boot, e->call.start_ns);
	return start >= f->from_unix_ns && (!f->to_unix_ns || start < f->to_unix_ns);
}

static int batch_add(struct own_cursor *c, const struct stored_event *e, const struct own_boot *boot)
{
	struct read_event event = { .event = e, .boot = boot->id };

	event.process = cursor_process(c, e->process);
	event.start_unix_ns = own_unix(boot, e->call.start_ns);
	return ARRAY_PUSH(&c->batch, event);
}

static uint32_t filter_columns(const struct read_filter *f)
{
	uint32_t columns = BLOCK_COLUMN(BLOCK_TIME) | BLOCK_COLUMN(BLOCK_PROCESS);

	if (f->ops)
		columns |= BLOCK_COLUMN(BLOCK_OP);
	if (f->min_duration_ns || f->max_duration_ns)
		columns |= BLOCK_COLUMN(BLOCK_DURATION);
	return columns;
}

/* Return: number of calls that match, their places in c->selected; or -errno */
static ssize_t block_select(struct own_cursor *c, const struct item *item, const void *data, size_t n_bytes)
{
	const struct own_boot *boot = own_boot(c->own, item->boot);
	uint32_t first = filter_columns(&c->filter);
	size_t n = 0, n_selected = 0;
	int r;

	r = block_decode(c->decoder, data, n_bytes, item->crc, first, c->events, &n);
	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (event_matches(c, &c->events[i], boot))
			c->selected[n_selected++] = (uint32_t)i;
	return (ssize_t)n_selected;
}

static int block_read(struct own_cursor *c, const struct item *item, bool counts, uint64_t *ret_n)
{
	const struct own_boot *boot = own_boot(c->own, item->boot);
	uint32_t rest = c->filter.columns & ~filter_columns(&c->filter);
	const void *data;
	ssize_t n;
	size_t n_bytes, n_all = 0;
	int step, r = 0;

	(void)sqlite3_reset(c->block_data);
	(void)sqlite3_bind_int64(c->block_data, 1, item->id);
	step = sqlite3_step(c->block_data);
	if (step != SQLITE_ROW)
		return step == SQLITE_DONE ? -EBADMSG : own_errno(step);
	data = sqlite3_column_blob(c->block_data, 0);
	n_bytes = (size_t)sqlite3_column_bytes(c->block_data, 0);

	n = block_select(c, item, data, n_bytes);
	if (n < 0)
		return (int)n;
	if (counts) {
		*ret_n += (uint64_t)n;
		return 0;
	}
	if (n && rest)
		r = block_decode(c->decoder, data, n_bytes, item->crc, rest, c->events, &n_all);
	for (ssize_t i = 0; i < n && r == 0; i++)
		r = batch_add(c, &c->events[c->selected[i]], boot);
	return r;
}

static int tail_keep(const struct stored_event *event, void *data)
{
	struct own_cursor *c = data;

	return ARRAY_PUSH(&c->tail, *event);
}

static int tail_read(struct own_cursor *c, const struct item *item, bool counts, uint64_t *ret_n)
{
	const struct own_boot *boot = own_boot(c->own, item->boot);
	const void *data;
	size_t n_bytes;
	int step, r;

	(void)sqlite3_reset(c->tail_data);
	(void)sqlite3_bind_int64(c->tail_data, 1, item->id);
	step = sqlite3_step(c->tail_data);
	if (step != SQLITE_ROW)
		return step == SQLITE_DONE ? -EBADMSG : own_errno(step);
	data = sqlite3_column_blob(c->tail_data, 0);
	n_bytes = (size_t)sqlite3_column_bytes(c->tail_data, 0);

	if (codec_crc(data, n_bytes) != item->crc)
		return -EBADMSG;
	c->tail.n = 0;
	r = tail_decode(data, n_bytes, tail_keep, c);
	for (size_t i = 0; i < c->tail.n && r == 0; i++) {
		if (!event_matches(c, &c->tail.items[i], boot))
			continue;
		if (counts)
			(*ret_n)++;
		else
			r = batch_add(c, &c->tail.items[i], boot);
	}
	return r;
}

/* What is damaged is left out and becomes a gap. */
static int item_read(struct own_cursor *c, const struct item *item, bool counts, uint64_t *ret_n)
{
	int r = item->is_block ? block_read(c, item, counts, ret_n) : tail_read(c, item, counts, ret_n);

	if (r != -EBADMSG && r != -ENOTSUP)
		return r;
	c->batch.n = 0;
	return own_damaged(c->own, item->is_block ? 'b' : 't', item->id, item->boot, item->t0, item->t1, item->n);
}

int own_cursor_next(struct read_cursor *cursor, struct read_batch *ret_batch)
{
	struct own_cursor *c = (struct own_cursor *)cursor;
	const struct item *item;
	int r;

	if (c->next == c->items.n)
		return 0;
	item = &c->items.items[c->next++];
	c->batch.n = 0;
	r = item_read(c, item, false, NULL);
	if (r)
		return r;
	ret_batch->events = c->batch.items;
	ret_batch->n = c->batch.n;
	if (c->next < c->items.n)
		ret_batch->bound_unix_ns =
			c->filter.newest_first ? c->items.items[c->next].to_unix : c->items.items[c->next].from_unix;
	else
		ret_batch->bound_unix_ns = c->filter.newest_first ? 0 : UINT64_MAX;
	return 1;
}

void own_cursor_close(struct read_cursor *cursor)
{
	struct own_cursor *c = (struct own_cursor *)cursor;

	(void)sqlite3_finalize(c->block_data);
	(void)sqlite3_finalize(c->tail_data);
	block_decoder_free(c->decoder);
	free(c->events);
	free(c->selected);
	ARRAY_DONE(&c->items);
	ARRAY_DONE(&c->tail);
	ARRAY_DONE(&c->batch);
	free(c);
}

int own_cursor_open(struct read_source *source, const struct read_filter *filter, struct read_cursor **ret_cursor)
{
	struct own_cursor *c = calloc(1, sizeof(*c));
	int r = -ENOMEM;

	if (!c)
		return -ENOMEM;
	c->own = (struct own_source *)source;
	c->base.source = source;
	c->filter = *filter;
	c->events = calloc(BLOCK_EVENTS_MAX, sizeof(*c->events));
	c->selected = calloc(BLOCK_EVENTS_MAX, sizeof(*c->selected));
	if (c->events && c->selected)
		r = block_decoder_new(&c->decoder);
	if (r == 0)
		r = own_prepare(c->own->db, "SELECT data FROM block_data WHERE id = ?", &c->block_data);
	if (r == 0)
		r = own_prepare(c->own->db, "SELECT data FROM tail WHERE id = ?", &c->tail_data);
	if (r == 0)
		r = items_load(c);
	if (r) {
		own_cursor_close(&c->base);
		return r;
	}
	if (c->items.n)
		qsort(c->items.items, c->items.n, sizeof(*c->items.items),
		      filter->newest_first ? item_compare_end : item_compare_begin);
	*ret_cursor = &c->base;
	return 0;
}

int own_count(struct read_source *source, const struct read_filter *filter, uint64_t *ret_n)
{
	struct read_cursor *cursor = NULL;
	struct own_cursor *c;
	uint64_t n = 0;
	int r = own_cursor_open(source, filter, &cursor);

	if (r)
		return r;
	c = (struct own_cursor *)cursor;
	for (size_t i = 0; i < c->items.n && r == 0; i++) {
		const struct item *item = &c->items.items[i];

		if (item->is_whole)
			n += item->n;
		else
			r = item_read(c, item, true, &n);
	}
	own_cursor_close(cursor);
	if (r == 0)
		*ret_n = n;
	return r;
}
