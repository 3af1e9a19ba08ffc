// SPDX-License-Identifier: Apache-2.0
/*
 * Reading calls from blocks and tail rows.
 *
 * First the headers of all rows that may match are read, a few dozen bytes for some thousand calls, and sorted by time.
 * Then the columns that the filter needs are decoded row by row; the other columns only if a call matches. For callers
 * that may stop soon, blocks are read in slices: the newest hundred calls of fifty processes are in fifty blocks, about
 * two calls in each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/read/own_cursor.h"

#define SLICE_EVENTS 64 /* number of events in the first slice of a block */
#define SLICE_GROWTH 8	/* growth of further slices: a block read to its end is unpacked three times */

static bool is_in_window(const struct read_filter *f, uint64_t unix_ns)
{
	return unix_ns >= f->from_unix_ns && (!f->to_unix_ns || unix_ns < f->to_unix_ns);
}

static bool event_matches(struct own_cursor *c, const struct stored_event *e, const struct own_boot *boot,
			  struct read_event *ret_event)
{
	const struct read_filter *f = &c->filter;
	struct read_event event = { .event = e, .boot = boot->id };

	if (f->min_duration_ns && e->call.duration_ns < f->min_duration_ns)
		return false;
	if (f->max_duration_ns && e->call.duration_ns > f->max_duration_ns)
		return false;
	if (f->ops && !own_is_listed(f->ops, f->n_ops, e->op))
		return false;
	event.process = own_cursor_process(c, e->process);
	if (!own_process_matches(c, event.process))
		return false;
	event.start_unix_ns = own_unix(boot, e->call.start_ns);
	if (!is_in_window(f, event.start_unix_ns))
		return false;
	event.at = f->by_wall_clock ? (struct read_time){ .ns = event.start_unix_ns }
				    : (struct read_time){ .boot = boot->id, .ns = e->call.start_ns };
	*ret_event = event;
	return !read_time_is_before(&event.at, &f->since);
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

/* Choose the next slice of a block, from the calls not read yet. */
static void slice_take(struct own_cursor *c, struct item *item, size_t n, size_t *ret_from, size_t *ret_to)
{
	/* A block that begins before filter.since is read whole: its first slices may have no match. */
	bool is_whole = !c->filter.in_slices ||
			(!c->filter.newest_first && read_time_is_before(&item->begin, &c->filter.since));
	uint32_t left;

	if (!item->slice)
		item->left_to = (uint32_t)n;
	left = item->left_to - item->left_from;
	item->slice = is_whole ? left : item->slice ? item->slice * SLICE_GROWTH : SLICE_EVENTS;
	item->slice = MIN(item->slice, left);
	*ret_from = c->filter.newest_first ? item->left_to - item->slice : item->left_from;
	*ret_to = *ret_from + item->slice;
	if (c->filter.newest_first)
		item->left_to -= item->slice;
	else
		item->left_from += item->slice;
}

/* Put the item back with the bounds of the calls not read yet: from one end of the block to the last slice. */
static void slice_left(struct own_cursor *c, const struct own_boot *boot, const struct item *item,
		       const struct stored_event *events, size_t n)
{
	struct item rest = *item;

	if (item->left_from >= item->left_to)
		return;
	if (c->filter.newest_first)
		own_item_bounds(c, boot, item->t0, events[0].call.start_ns, &rest);
	else
		own_item_bounds(c, boot, events[n - 1].call.start_ns, item->t1, &rest);
	own_items_again(c, &rest);
}

static int block_data(struct own_cursor *c, int64_t id, const void **ret_data, size_t *ret_n)
{
	int step;

	(void)sqlite3_reset(c->block_data);
	(void)sqlite3_bind_int64(c->block_data, 1, id);
	step = sql_step(c->block_data);
	if (step <= 0)
		return step == 0 ? -EBADMSG : step;
	*ret_data = sqlite3_column_blob(c->block_data, 0);
	*ret_n = (size_t)sqlite3_column_bytes(c->block_data, 0);
	return 0;
}

/* Unpack the block of an item. Return: 0, -EBADMSG, -ENOTSUP, -errno */
static int item_open(struct own_cursor *c, const struct item *item, size_t *ret_n)
{
	size_t n_bytes = 0;
	const void *data = NULL;
	int r = block_data(c, item->id, &data, &n_bytes);

	return r ? r : block_open(c->scratch->decoder, data, n_bytes, item->crc, ret_n);
}

/* Count the calls of a block that is_wanted: their times are enough. */
static int block_count(struct own_cursor *c, const struct item *item, uint64_t *n_counted)
{
	const struct own_boot *boot = own_boot(c->own, item->boot);
	struct stored_event *events = c->scratch->events;
	size_t n = 0;
	int r = item_open(c, item, &n);

	if (r == 0)
		r = block_columns(c->scratch->decoder, BLOCK_COLUMN(BLOCK_TIME), 0, n, events);
	for (size_t i = 0; i < n && r == 0; i++)
		*n_counted += is_in_window(&c->filter, own_unix(boot, events[i].call.start_ns));
	return r;
}

/* @ret_n: NULL: matching calls are put into the batch; else they are only counted */
static int block_read(struct own_cursor *c, struct item *item, uint64_t *ret_n)
{
	const struct own_boot *boot = own_boot(c->own, item->boot);
	uint32_t first = filter_columns(&c->filter), rest = c->filter.columns & ~first;
	struct own_scratch *scratch = c->scratch;
	struct stored_event *events = scratch->events;
	size_t n = 0, from, to;
	struct read_event event;
	int r = item_open(c, item, &n);

	if (r)
		return r;
	slice_take(c, item, n, &from, &to);
	r = block_columns(scratch->decoder, first, from, to, events);
	for (size_t i = 0; i < to - from && r == 0; i++) {
		if (!event_matches(c, &events[i], boot, &event))
			continue;
		if (ret_n)
			(*ret_n)++;
		else
			r = ARRAY_PUSH(&c->batch, event);
	}
	if (r == 0 && c->batch.n && rest)
		r = block_columns(scratch->decoder, rest, from, to, events);
	if (r == 0)
		slice_left(c, boot, item, events, to - from);
	return r;
}

static int tail_keep(const struct stored_event *event, void *data)
{
	struct own_cursor *c = data;

	return ARRAY_PUSH(&c->tail, *event);
}

static int tail_read(struct own_cursor *c, const struct item *item, uint64_t *ret_n)
{
	const struct own_boot *boot = own_boot(c->own, item->boot);
	struct read_event event;
	const void *data;
	size_t n_bytes;
	int step, r;

	(void)sqlite3_reset(c->tail_data);
	(void)sqlite3_bind_int64(c->tail_data, 1, item->id);
	step = sql_step(c->tail_data);
	if (step <= 0)
		return step == 0 ? -EBADMSG : step;
	data = sqlite3_column_blob(c->tail_data, 0);
	n_bytes = (size_t)sqlite3_column_bytes(c->tail_data, 0);

	if (codec_crc(data, n_bytes) != item->crc)
		return -EBADMSG;
	c->tail.n = 0;
	r = tail_decode(data, n_bytes, tail_keep, c);
	for (size_t i = 0; i < c->tail.n && r == 0; i++) {
		if (!event_matches(c, &c->tail.items[i], boot, &event))
			continue;
		if (ret_n)
			(*ret_n)++;
		else
			r = ARRAY_PUSH(&c->batch, event);
	}
	return r;
}

/* Read one item. A damaged item is left out and reported as a gap. */
static int item_read(struct own_cursor *c, struct item *item, uint64_t *ret_n)
{
	int r;

	if (!item->is_block)
		r = tail_read(c, item, ret_n);
	else if (ret_n && item->is_wanted)
		r = block_count(c, item, ret_n);
	else
		r = block_read(c, item, ret_n);
	if (r != -EBADMSG && r != -ENOTSUP)
		return r;
	c->batch.n = 0;
	return own_damaged(c->own, item->is_block ? 'b' : 't', item->id, item->boot, item->t0, item->t1, item->n);
}

bool own_cursor_ahead(const struct own_cursor *c, struct read_time *ret_at)
{
	if (c->next == c->items.n)
		return false;
	*ret_at = c->filter.newest_first ? c->items.items[c->next].end : c->items.items[c->next].begin;
	return true;
}

/*
 * A stack that has no row in scope is none: it was not named in time, or was lost. Of rows with the same frames the
 * first one counts. Return: 0 or -errno
 */
static int stack_number(const struct own_cursor *c, struct stored_event *e)
{
	struct own_stack *stack = NULL;
	int r = 0;

	if (e->stack && c->filter.columns & BLOCK_COLUMN(BLOCK_STACK))
		r = own_stack_find(c->own, e->stack, &stack);
	e->stack = stack ? c->own->first_stack + stack->first : 0;
	return r;
}

/* Convert the ids of a batch from those of the file to those of the reader. Return: 0 or -errno */
static int batch_number(const struct own_cursor *c)
{
	const struct own_file *own = c->own;
	int r = 0;

	for (size_t i = 0; i < c->batch.n && r == 0; i++) {
		/* The event is in memory of this cursor, so it may be changed. */
		struct stored_event *e = (struct stored_event *)(uintptr_t)c->batch.items[i].event;
		const struct read_op *op;

		r = stack_number(c, e);
		if (!own->is_one_of_several)
			continue;
		op = own_op(own, e->op);
		e->process = c->batch.items[i].process->id;
		e->op = op ? op->id : UINT32_MAX;
	}
	return r;
}

int own_cursor_next(struct own_cursor *c, struct read_batch *ret_batch)
{
	static const struct read_time last = { .boot = UINT32_MAX, .ns = UINT64_MAX };
	bool is_down = c->filter.newest_first;
	struct item item;
	int r;

	if (c->next == c->items.n)
		return 0;
	item = c->items.items[c->next++];
	c->batch.n = 0;
	r = item_read(c, &item, NULL);
	r = r ? r : batch_number(c);
	if (r)
		return r;
	ret_batch->events = c->batch.items;
	ret_batch->n = c->batch.n;
	ret_batch->bound = is_down ? (struct read_time){ 0 } : last;
	(void)own_cursor_ahead(c, &ret_batch->bound);
	return 1;
}

/* ---- opening ---- */

static void scratch_free(struct own_scratch *scratch)
{
	if (!scratch)
		return;
	block_decoder_free(scratch->decoder);
	free(scratch->events);
	free(scratch);
}

void own_scratch_free(struct own_file *own)
{
	scratch_free(own->scratch);
}

/* Reuse the memory of a closed cursor, if there is one: its pages are mapped already. */
static int scratch_take(struct own_file *own, struct own_scratch **ret_scratch)
{
	struct own_scratch *scratch = TAKE_PTR(own->scratch);
	int r = 0;

	if (!scratch) {
		scratch = calloc(1, sizeof(*scratch));
		if (!scratch)
			return -ENOMEM;
		scratch->events = calloc(BLOCK_EVENTS_MAX, sizeof(*scratch->events));
		r = scratch->events ? block_decoder_new(&scratch->decoder) : -ENOMEM;
	}
	*ret_scratch = scratch;
	return r;
}

void own_cursor_close(struct own_cursor *c)
{
	if (!c)
		return;
	(void)sqlite3_finalize(c->block_data);
	(void)sqlite3_finalize(c->tail_data);
	if (c->own->scratch)
		scratch_free(c->scratch);
	else if (c->scratch && c->scratch->decoder)
		c->own->scratch = c->scratch;
	else
		scratch_free(c->scratch);
	ARRAY_DONE(&c->items);
	ARRAY_DONE(&c->tail);
	ARRAY_DONE(&c->batch);
	free(c);
}

int own_cursor_open(struct own_file *own, const struct read_filter *filter, struct own_cursor **ret_cursor)
{
	struct own_cursor *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->own = own;
	c->filter = *filter;
	c->filter.by_wall_clock |=
		own->is_imported; /* the nodes of an imported file have only the wall clock in common */
	r = scratch_take(c->own, &c->scratch);
	if (r == 0)
		r = sql_prepare(c->own->db, "SELECT data FROM block_data WHERE id = ?", &c->block_data);
	if (r == 0)
		r = sql_prepare(c->own->db, "SELECT data FROM tail WHERE id = ?", &c->tail_data);
	if (r == 0)
		r = own_items_load(c);
	if (r) {
		own_cursor_close(c);
		return r;
	}
	*ret_cursor = c;
	return 0;
}

int own_count(struct own_file *own, const struct read_filter *filter, uint64_t *ret_n)
{
	struct read_filter whole = *filter;
	struct own_cursor *c = NULL;
	uint64_t n = 0;
	int r;

	whole.in_slices = false;
	r = own_cursor_open(own, &whole, &c);
	if (r)
		return r;
	for (size_t i = 0; i < c->items.n && r == 0; i++) {
		struct item *item = &c->items.items[i];

		if (item->is_whole)
			n += item->n;
		else
			r = item_read(c, item, &n);
	}
	own_cursor_close(c);
	if (r == 0)
		*ret_n = n;
	return r;
}
