// SPDX-License-Identifier: Apache-2.0
#include "archive/read/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/op_name.h"
#include "archive/read/own.h"
#include "archive/read/source.h"

/* Kinds of file, asked in this order. */
static const struct read_source_ops *const kinds[] = { &read_own_source };

struct store_reader {
	struct read_source *source;
};

int store_reader_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct store_reader **ret_reader)
{
	CLEANUP(freep) struct store_reader *reader = calloc(1, sizeof(*reader));
	int r = -ENOENT;

	why[0] = '\0';
	if (!reader) {
		(void)snprintf(why, READ_WHY_BYTES, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == -ENOENT; i++)
		r = kinds[i]->open(db, scope, why, &reader->source);
	if (r == -ENOENT) {
		(void)snprintf(why, READ_WHY_BYTES, "the file is a database, but neither ingero's nor Ingero's");
		return -EINVAL;
	}
	if (r)
		return r;
	*ret_reader = TAKE_PTR(reader);
	return 0;
}

void store_reader_close(struct store_reader *reader)
{
	if (!reader)
		return;
	reader->source->ops->close(reader->source);
	free(reader);
}

bool store_reader_is_foreign(const struct store_reader *reader)
{
	return ((const struct own_source *)reader->source)->is_imported;
}

const struct read_process *store_reader_process(struct store_reader *reader, uint32_t id)
{
	return reader->source->ops->process(reader->source, id);
}

int store_reader_processes(struct store_reader *reader, read_process_func func, void *data)
{
	return reader->source->ops->processes(reader->source, func, data);
}

const struct read_op *store_reader_op(struct store_reader *reader, uint32_t id)
{
	return reader->source->ops->op(reader->source, id);
}

int store_reader_ops(struct store_reader *reader, read_op_func func, void *data)
{
	return reader->source->ops->ops(reader->source, func, data);
}

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

	(void)store_reader_ops(reader, op_match, &search); /* what was found until an error */
	return MIN(search.n, room);
}

int store_reader_stacks(struct store_reader *reader, uint32_t only_id, read_stack_func func, void *data)
{
	return reader->source->ops->stacks(reader->source, only_id, func, data);
}

int store_reader_cursor_open(struct store_reader *reader, const struct read_filter *filter,
			     struct read_cursor **ret_cursor)
{
	int r = reader->source->ops->cursor_open(reader->source, filter, ret_cursor);

	if (r == 0)
		(*ret_cursor)->source = reader->source;
	return r;
}

int read_cursor_next(struct read_cursor *cursor, struct read_batch *ret_batch)
{
	return cursor->source->ops->cursor_next(cursor, ret_batch);
}

void read_cursor_close(struct read_cursor *cursor)
{
	if (cursor)
		cursor->source->ops->cursor_close(cursor);
}

int store_reader_count(struct store_reader *reader, const struct read_filter *filter, uint64_t *ret_n)
{
	return reader->source->ops->count(reader->source, filter, ret_n);
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

int store_reader_buckets(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
			 void *data)
{
	return reader->source->ops->buckets(reader->source, from_unix_ns, to_unix_ns, func, data);
}

int store_reader_sums(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		      void *data)
{
	const struct read_source_ops *ops = reader->source->ops;

	return (ops->sums ? ops->sums : ops->buckets)(reader->source, from_unix_ns, to_unix_ns, func, data);
}

int store_reader_findings(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			  read_finding_func func, void *data)
{
	return reader->source->ops->findings(reader->source, from_unix_ns, to_unix_ns, func, data);
}

int store_reader_gaps(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func,
		      void *data)
{
	return reader->source->ops->gaps(reader->source, from_unix_ns, to_unix_ns, func, data);
}

int store_reader_snapshots(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			   read_snapshot_func func, void *data)
{
	return reader->source->ops->snapshots(reader->source, from_unix_ns, to_unix_ns, func, data);
}

int store_reader_sessions(struct store_reader *reader, read_session_func func, void *data)
{
	return reader->source->ops->sessions(reader->source, func, data);
}

int store_reader_cost(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
		      Ingero__V1__Cost *ret_cost)
{
	const struct read_source_ops *ops = reader->source->ops;

	return ops->cost ? ops->cost(reader->source, from_unix_ns, to_unix_ns, ret_cost) : 0;
}

uint64_t store_reader_unix(struct store_reader *reader, uint32_t boot, uint64_t mono_ns)
{
	const struct read_source_ops *ops = reader->source->ops;

	return ops->unix_of ? ops->unix_of(reader->source, boot, mono_ns) : mono_ns;
}

int store_reader_span(struct store_reader *reader, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns)
{
	return reader->source->ops->span(reader->source, ret_from_unix_ns, ret_to_unix_ns);
}

int store_reader_seen(struct store_reader *reader, uint64_t *ret_unix_ns)
{
	const struct read_source_ops *ops = reader->source->ops;

	*ret_unix_ns = 0;
	return ops->seen ? ops->seen(reader->source, ret_unix_ns) : 0;
}
