// SPDX-License-Identifier: Apache-2.0
#include "archive/tables/op_limit.h"

#include <string.h>

#include "base/array.h"
#include "archive/job.h"
#include "archive/tables/unknown_op.h"

#define NAMES_CHECKED_MOST 8 /* a longer list is a SELECT's, and not written by hand */

struct op_search {
	const struct op_wish *wish;
	struct table_cursor *cursor;
};

static bool is_called_any(const struct read_op *op, sqlite3_value *names)
{
	sqlite3_value *name = NULL;

	for (int r = sqlite3_vtab_in_first(names, &name); r == SQLITE_OK && name;
	     r = sqlite3_vtab_in_next(names, &name))
		if (sqlite3_value_type(name) == SQLITE_TEXT &&
		    read_op_is_called(op, (const char *)sqlite3_value_text(name)))
			return true;
	return false;
}

static int op_limit_match(const struct read_op *op, void *data)
{
	const struct op_search *search = data;
	const struct op_wish *wish = search->wish;
	struct op_number n = table_op_number(search->cursor->job, op);

	if ((wish->has_source && wish->source != n.source) || (wish->has_number && wish->number != n.number) ||
	    (wish->name && !read_op_is_called(op, wish->name)) || (wish->names && !is_called_any(op, wish->names)))
		return 0;
	return ARRAY_PUSH(&search->cursor->limits.ops, op->id);
}

/* ---- names that nothing has ---- */

struct name_search {
	struct store_reader *reader;
	const char *name;
	bool is_known; /* there is an operation with this name that the caller may know of */
};

static int op_name_look(const struct read_op *op, void *data)
{
	struct name_search *search = data;

	search->is_known |= read_op_is_called(op, search->name) && store_reader_may_know(search->reader, op);
	return 0;
}

static int name_check(struct table_cursor *c, const char *name)
{
	struct name_search search = { .reader = c->job->reader, .name = name };
	int r = store_reader_ops(c->job->reader, op_name_look, &search);

	if (r == 0 && !search.is_known && !c->job->note[0])
		unknown_op_say(c->job->reader, name, c->job->note);
	return r;
}

static int names_count(sqlite3_value *names)
{
	sqlite3_value *name = NULL;
	int n = 0;

	for (int r = sqlite3_vtab_in_first(names, &name); r == SQLITE_OK && name;
	     r = sqlite3_vtab_in_next(names, &name))
		n++;
	return n;
}

static int names_check(struct table_cursor *c, sqlite3_value *names)
{
	sqlite3_value *name = NULL;
	int r = 0;

	if (names_count(names) > NAMES_CHECKED_MOST)
		return 0;
	for (int step = sqlite3_vtab_in_first(names, &name); step == SQLITE_OK && name && r == 0;
	     step = sqlite3_vtab_in_next(names, &name))
		if (sqlite3_value_type(name) == SQLITE_TEXT)
			r = name_check(c, (const char *)sqlite3_value_text(name));
	return r;
}

int op_limit_set(struct table_cursor *c, const struct op_wish *wish)
{
	struct op_search search = { .wish = wish, .cursor = c };
	int r;

	c->limits.has_ops = wish->name || wish->names || wish->has_source || wish->has_number;
	r = c->limits.has_ops ? store_reader_ops(c->job->reader, op_limit_match, &search) : 0;
	if (r == 0 && wish->names)
		r = names_check(c, wish->names);
	if (r == 0 && wish->name)
		r = name_check(c, wish->name);
	return r;
}
