// SPDX-License-Identifier: Apache-2.0
/* Helpers built on the functions of a reader. */
#include "archive/read/read.h"

#include <string.h>

#include "base/op_name.h"

struct op_search {
	struct store_reader *reader;
	const char *name;
	uint32_t *ids;
	size_t room;
	size_t n;
};

static int op_match(const struct read_op *op, void *data)
{
	struct op_search *search = data;

	if (read_op_is_called(op, search->name) && store_reader_may_know(search->reader, op)) {
		if (search->n < search->room)
			search->ids[search->n] = op->id;
		search->n++;
	}
	return 0;
}

bool read_op_is_called(const struct read_op *op, const char *name)
{
	return op_name_is_same(op->name, name) || op_name_is_same(op->short_name, name);
}

bool read_op_is_call(const struct read_op *op)
{
	return !op || strcmp(op->source, "host") != 0;
}

/* Return: 1 if the bucket has figures of the operation */
static int op_look(const struct read_bucket *bucket, void *data)
{
	const struct read_op *op = data;

	for (size_t i = 0; i < bucket->n_figures; i++)
		if (bucket->figures[i].op && bucket->figures[i].op->id == op->id)
			return 1;
	return 0;
}

bool store_reader_may_know(struct store_reader *reader, const struct read_op *op)
{
	const struct read_filter calls = { .ops = &op->id, .n_ops = 1 };
	uint64_t n = 0;

	if (!op->is_unlisted)
		return true;
	if (store_reader_count(reader, &calls, &n) == 0 && n > 0)
		return true;
	return store_reader_sums(reader, 0, 0, op_look, (void *)(uintptr_t)op) > 0;
}

size_t store_reader_find_op(struct store_reader *reader, const char *name, uint32_t *ret_ids, size_t room)
{
	struct op_search search = { .reader = reader, .name = name, .ids = ret_ids, .room = room };

	(void)store_reader_ops(reader, op_match, &search); /* on an error, the operations found so far are used */
	return MIN(search.n, room);
}

int store_reader_events(struct store_reader *reader, const struct read_filter *filter, read_event_func func, void *data)
{
	struct read_cursor *cursor = NULL;
	struct read_batch batch;
	int r = store_reader_cursor_open(reader, filter, &cursor), stop = 0;

	if (r)
		return r;
	while (!stop && (r = read_cursor_next(cursor, &batch)) == 1)
		for (size_t i = 0; i < batch.n && !stop; i++)
			stop = func(&batch.events[i], data);
	read_cursor_close(cursor);
	return stop ? stop : r;
}
