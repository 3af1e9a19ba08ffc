// SPDX-License-Identifier: Apache-2.0
/*
 * Iteration over blocks and tail rows of a database of ours: own_items.c selects the rows, own_events.c reads their
 * calls. Only these two files include this header.
 */
#pragma once

#include "archive/read/own.h"

struct item {
	int64_t id;
	uint64_t t0, t1;	     /* monotonic times of its boot */
	struct read_time begin, end; /* bounds of the calls not read yet, in the requested order */
	uint32_t boot;
	uint32_t n;
	uint32_t crc;
	uint32_t left_from, left_to; /* indexes of the calls of a block not read yet; left_to 0: all */
	uint32_t slice;		     /* number of events in the last slice; 0: none read so far */
	bool is_block;		     /* true: a block; false: a row of the tail */
	bool is_wanted;		     /* the header shows that every call in the window matches */
	bool is_whole;		     /* ... and that every call is in the window */
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
	/* Process that was looked up last: the next call mostly has the same process. */
	const struct read_process *process;
	uint32_t process_id;
};

/** own_items_load() - load the headers of all rows that may match, in order. Return: 0 or -errno */
int own_items_load(struct own_cursor *c);
/** own_items_again() - put an item with calls not read yet back in order */
void own_items_again(struct own_cursor *c, const struct item *item);
/** own_item_bounds() - set begin and end of an item from two monotonic times, in the requested order */
void own_item_bounds(const struct own_cursor *c, const struct own_boot *boot, uint64_t t0, uint64_t t1,
		     struct item *item);
/** own_cursor_process() - own_process() with the last result cached. Return: NULL: none in scope */
const struct read_process *own_cursor_process(struct own_cursor *c, uint32_t id);
/** own_process_matches() - whether a process matches the filter; @p: may be NULL */
bool own_process_matches(const struct own_cursor *c, const struct read_process *p);

static inline bool own_is_listed(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}
