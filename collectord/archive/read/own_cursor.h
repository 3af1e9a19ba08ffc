// SPDX-License-Identifier: Apache-2.0
/*
 * A walk over blocks and tail rows of our own kind of file: which rows (own_items.c), and what is
 * in them (own_events.c); shared by these two alone.
 */
#pragma once

#include "archive/read/own.h"

struct item {
	int64_t id;
	uint64_t t0, t1;	     /* of its boot */
	struct read_time begin, end; /* of what is left of it, in the order asked for */
	uint32_t boot;
	uint32_t n;
	uint32_t crc;
	uint32_t left_from, left_to; /* positions in a block; left_to 0: all of it */
	uint32_t slice;		     /* events of the last one; 0: none was given */
	bool is_block;		     /* else a row of the tail */
	bool is_whole;		     /* every call in it matches, as far as the header tells */
};

struct own_cursor {
	struct read_filter filter;
	struct own_file *own;
	ARRAY(struct item) items;
	size_t next;
	sqlite3_stmt *block_data;
	sqlite3_stmt *tail_data;
	struct own_scratch *scratch;
	ARRAY(struct stored_event) tail;
	ARRAY(struct read_event) batch;
	/* Who was looked up last: runs of one process are the rule. */
	const struct read_process *process;
	uint32_t process_id;
};

/** own_items_load() - all that may match, in order. Return: 0 or -errno */
int own_items_load(struct own_cursor *c);
/** own_items_again() - what is left of the item given last goes back among those to come */
void own_items_again(struct own_cursor *c, const struct item *item);
/** own_item_bounds() - first and last place of what is between two moments, in the order asked for */
void own_item_bounds(const struct own_cursor *c, const struct own_boot *boot, uint64_t t0, uint64_t t1,
		     struct item *item);
/** own_cursor_process() - the row as own_process() gives it. Return: NULL where there is none in scope */
const struct read_process *own_cursor_process(struct own_cursor *c, uint32_t id);
/** own_process_matches() - @p: may be NULL */
bool own_process_matches(const struct own_cursor *c, const struct read_process *p);

static inline bool own_is_listed(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}
