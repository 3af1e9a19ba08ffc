// SPDX-License-Identifier: Apache-2.0
/* Helpers built on the functions of a reader. */
#include "archive/read/read.h"

#include <string.h>

#include "base/op_name.h"

struct op_search {
	const char *name;
	uint32_t *ids;
	size_t room;
	size_t n;
};

static int op_match(const struct read_op *op, void *data)
{
	struct op_search *search = data;

	if (read_op_is_called(op, search->name)) {
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

size_t store_reader_find_op(struct store_reader *reader, const char *name, uint32_t *ret_ids, size_t room)
{
	struct op_search search = { .name = name, .ids = ret_ids, .room = room };

	(void)store_reader_ops(reader, op_match, &search); /* use the operations found before an error */
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
