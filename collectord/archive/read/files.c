// SPDX-License-Identifier: Apache-2.0
/*
 * A reader of one or several files: reads them one after another, or merges their rows if order matters.
 *
 * Rows of one file keep their order. The reader's id of a process or stack is its id in the file plus an offset, so
 * that it follows the ids of the previous file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/read/own.h"
#include "archive/read/window.h"

struct store_reader {
	struct own_file *files[READ_FILES_MAX];
	size_t n;
	struct own_ops ops; /* operations of all files */
};

/* ---- opening ---- */

static int greatest_read(struct sqlite3 *db, const char *sql, uint32_t *ret)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(db, sql, &s), step = r ? r : sql_step(s);
	int64_t greatest = step > 0 ? sqlite3_column_int64(s, 0) : 0;

	*ret = (uint32_t)MIN(MAX(greatest, 0), (int64_t)UINT32_MAX);
	return MIN(step, 0);
}

/* Sets the offsets of a file's ids: they follow the ids of the previous file. */
static int ids_place(struct own_file *own, const struct own_file *before)
{
	int r = greatest_read(own->db, "SELECT max(id) FROM process", &own->process_max);

	r = r ? r : greatest_read(own->db, "SELECT max(id) FROM stack", &own->stack_max);
	if (r < 0)
		return r;
	own->is_one_of_several = true;
	own->first_process = before ? before->first_process + before->process_max : 0;
	own->first_stack = before ? before->first_stack + before->stack_max : 0;
	return own->process_max >= UINT32_MAX - own->first_process || own->stack_max >= UINT32_MAX - own->first_stack
		       ? -E2BIG
		       : 0;
}

static int file_open(struct store_reader *reader, const struct read_file *file, size_t n,
		     const struct read_scope *scope, char *why)
{
	struct own_file *own = NULL;
	int r = own_open(file->db, scope, why, &reader->ops, &own);

	if (r < 0)
		return r;
	reader->files[reader->n++] = own;
	own->number = (uint32_t)reader->n;
	own->tells_nodes = n > 1 || own->n_nodes > 1;
	if (n == 1)
		return 0;
	if (!own->node[0])
		(void)snprintf(own->node, sizeof(own->node), "%s", file->name);
	r = ids_place(own, reader->n > 1 ? reader->files[reader->n - 2] : NULL);
	if (r == -E2BIG)
		(void)snprintf(why, READ_WHY_BYTES, "its row ids are too large to read it together with other files");
	else if (r < 0)
		(void)snprintf(why, READ_WHY_BYTES, "the database cannot be read: %s", sqlite3_errmsg(file->db));
	return r;
}

static void store_reader_closep(struct store_reader **reader)
{
	store_reader_close(*reader);
}

int store_reader_open_files(const struct read_file *files, size_t n, const struct read_scope *scope, char *why,
			    size_t *ret_wrong, struct store_reader **ret_reader)
{
	CLEANUP(store_reader_closep) struct store_reader *reader = calloc(1, sizeof(*reader));

	why[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		int r = reader ? file_open(reader, &files[i], n, scope, why) : -ENOMEM;

		*ret_wrong = i;
		if (r < 0)
			return r;
	}
	*ret_reader = TAKE_PTR(reader);
	return 0;
}

int store_reader_open(struct sqlite3 *db, const struct read_scope *scope, char *why, struct store_reader **ret_reader)
{
	const struct read_file file = { .db = db, .name = "" };
	size_t wrong;

	return store_reader_open_files(&file, 1, scope, why, &wrong, ret_reader);
}

void store_reader_close(struct store_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->n; i++)
		own_close(reader->files[i]);
	own_ops_done(&reader->ops);
	free(reader);
}

bool store_reader_tells_nodes(const struct store_reader *reader)
{
	return reader->files[0]->tells_nodes;
}

size_t store_reader_files(const struct store_reader *reader)
{
	return reader->n;
}

bool store_reader_tells_losses(const struct store_reader *reader)
{
	for (size_t i = 0; i < reader->n; i++)
		if (reader->files[i]->is_imported)
			return false;
	return true;
}

/* ---- rows ---- */

/* File that contains an id of the reader: the last one whose ids begin before it. */
#define FILE_OF(reader, first, id)                                                                                     \
	({                                                                                                             \
		size_t of_ = (reader)->n - 1;                                                                          \
		while (of_ && (reader)->files[of_]->first >= (id))                                                     \
			of_--;                                                                                         \
		(reader)->files[of_];                                                                                  \
	})

/* Calls a function for each file until it returns a value other than 0. */
#define EACH_FILE(reader, own, call)                                                                                   \
	({                                                                                                             \
		int each_r_ = 0;                                                                                       \
		for (size_t each_i_ = 0; each_i_ < (reader)->n && each_r_ == 0; each_i_++) {                           \
			struct own_file *own = (reader)->files[each_i_];                                               \
			each_r_ = (call);                                                                              \
		}                                                                                                      \
		each_r_;                                                                                               \
	})

const struct read_process *store_reader_process(struct store_reader *reader, uint32_t id)
{
	struct own_file *own = FILE_OF(reader, first_process, id);

	return own_process(own, id - own->first_process);
}

int store_reader_processes(struct store_reader *reader, read_process_func func, void *data)
{
	return EACH_FILE(reader, own, own_processes(own, func, data));
}

const struct read_op *store_reader_op(struct store_reader *reader, uint32_t id)
{
	size_t at = SORTED_PLACE(reader->ops.n, i, reader->ops.items[i].row.id < id);

	return at < reader->ops.n && reader->ops.items[at].row.id == id ? &reader->ops.items[at].row : NULL;
}

int store_reader_ops(struct store_reader *reader, read_op_func func, void *data)
{
	int r = 0;

	for (size_t i = 0; i < reader->ops.n && r == 0; i++)
		r = func(&reader->ops.items[i].row, data);
	return r;
}

int store_reader_stacks(struct store_reader *reader, uint32_t only_id, read_stack_func func, void *data)
{
	struct own_file *own = FILE_OF(reader, first_stack, only_id);

	if (only_id)
		return own_stacks(own, only_id - own->first_stack, func, data);
	return EACH_FILE(reader, file, own_stacks(file, 0, func, data));
}

int store_reader_stack(struct store_reader *reader, uint32_t id, const struct read_stack **ret_stack)
{
	struct own_file *own = FILE_OF(reader, first_stack, id);

	return own_stack_get(own, id - own->first_stack, ret_stack);
}

int store_reader_stack_is_complete(struct store_reader *reader, uint32_t id, bool *ret_is_complete)
{
	struct own_file *own = FILE_OF(reader, first_stack, id);
	struct own_stack *stack;
	int r = own_stack_find(own, id - own->first_stack, &stack);

	*ret_is_complete = stack && stack->is_complete;
	return r;
}

void store_reader_stacks_trim(struct store_reader *reader)
{
	for (size_t i = 0; i < reader->n; i++)
		own_stacks_trim(reader->files[i]);
}

int store_reader_buckets(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
			 void *data)
{
	return EACH_FILE(reader, own, own_buckets(own, from_unix_ns, to_unix_ns, func, data));
}

int store_reader_sums(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		      void *data)
{
	return EACH_FILE(reader, own, own_sums(own, from_unix_ns, to_unix_ns, func, data));
}

int store_reader_window_add(struct store_reader *reader, struct window_sum *sum)
{
	return EACH_FILE(reader, own, own_window_add(own, sum));
}

int store_reader_findings(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			  read_finding_func func, void *data)
{
	return EACH_FILE(reader, own, own_findings(own, from_unix_ns, to_unix_ns, func, data));
}

int store_reader_gaps(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, read_gap_func func,
		      void *data)
{
	return EACH_FILE(reader, own, own_gaps(own, from_unix_ns, to_unix_ns, func, data));
}

int store_reader_snapshots(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			   read_snapshot_func func, void *data)
{
	return EACH_FILE(reader, own, own_snapshots(own, from_unix_ns, to_unix_ns, func, data));
}

int store_reader_snapshot_next(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
			       uint64_t *ret_unix_ns)
{
	*ret_unix_ns = to_unix_ns;
	return EACH_FILE(reader, own, own_snapshot_next(own, from_unix_ns, ret_unix_ns));
}

int store_reader_sessions(struct store_reader *reader, read_session_func func, void *data)
{
	return EACH_FILE(reader, own, own_sessions(own, func, data));
}

int store_reader_cost(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns,
		      Ingero__V1__Cost *ret_cost)
{
	bool is_any = false;
	int r = 0;

	for (size_t i = 0; i < reader->n && r >= 0; i++) {
		r = own_cost(reader->files[i], from_unix_ns, to_unix_ns, ret_cost);
		is_any |= r > 0;
	}
	return r < 0 ? r : is_any;
}

/* ---- time ---- */

uint64_t store_reader_unix(struct store_reader *reader, uint32_t file, uint32_t boot, uint64_t mono_ns)
{
	return own_unix(own_boot(reader->files[file - 1], boot), mono_ns);
}

int store_reader_span(struct store_reader *reader, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns)
{
	uint64_t from = UINT64_MAX, to = 0;
	int r = 0;

	for (size_t i = 0; i < reader->n && r == 0; i++) {
		uint64_t begin = 0, end = 0;

		r = own_span(reader->files[i], &begin, &end);
		from = end ? MIN(from, begin) : from;
		to = MAX(to, end);
	}
	if (r)
		return r;
	*ret_from_unix_ns = to ? from : 0;
	*ret_to_unix_ns = to;
	return 0;
}

int store_reader_seen(struct store_reader *reader, uint64_t *ret_unix_ns)
{
	uint64_t newest = 0;
	int r = 0;

	for (size_t i = 0; i < reader->n && r == 0; i++) {
		uint64_t seen = 0;

		r = own_seen(reader->files[i], &seen);
		newest = MAX(newest, seen);
	}
	*ret_unix_ns = newest;
	return r;
}

/* ---- calls ---- */

/* Cursor of one file, and the filter's operations with their ids in that file. */
struct part {
	struct own_cursor *cursor;
	ARRAY(uint32_t) ops;
};

struct read_cursor {
	bool newest_first;
	size_t n;
	struct part parts[READ_FILES_MAX];
};

/* Translate the filter to the ids of one file. Return: 0 or -ENOMEM */
static int filter_for(const struct own_file *own, const struct read_filter *filter, struct part *part,
		      struct read_filter *ret)
{
	static const uint32_t none = UINT32_MAX;
	int r = 0;

	*ret = *filter;
	ret->by_wall_clock |= own->is_one_of_several;
	if (!filter->ops || !own->op_numbers.n)
		return 0;
	for (size_t i = 0; i < own->op_numbers.n && r == 0; i++)
		for (size_t k = 0; k < filter->n_ops && r == 0; k++)
			if (filter->ops[k] == own->op_numbers.items[i].id)
				r = ARRAY_PUSH(&part->ops, own->op_numbers.items[i].own);
	ret->ops = part->ops.n ? part->ops.items : &none;
	ret->n_ops = part->ops.n ? part->ops.n : 1;
	return r;
}

static bool is_asked(const struct own_file *own, const struct read_filter *filter)
{
	return !filter->only_file || filter->only_file == own->number;
}

int store_reader_cursor_open(struct store_reader *reader, const struct read_filter *filter,
			     struct read_cursor **ret_cursor)
{
	struct read_cursor *c = calloc(1, sizeof(*c));
	int r = c ? 0 : -ENOMEM;

	for (size_t i = 0; i < reader->n && r == 0; i++) {
		struct read_filter own_filter;

		if (!is_asked(reader->files[i], filter))
			continue;
		r = filter_for(reader->files[i], filter, &c->parts[c->n], &own_filter);
		r = r ? r : own_cursor_open(reader->files[i], &own_filter, &c->parts[c->n].cursor);
		c->n++;
	}
	if (r < 0) {
		read_cursor_close(c);
		return r;
	}
	c->newest_first = filter->newest_first;
	*ret_cursor = c;
	return 0;
}

void read_cursor_close(struct read_cursor *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		own_cursor_close(c->parts[i].cursor);
		ARRAY_DONE(&c->parts[i].ops);
	}
	free(c);
}

/* Return: cursor whose next piece comes first; NULL if all cursors are at their end */
static struct own_cursor *cursor_first(const struct read_cursor *c, struct read_time *ret_at)
{
	struct own_cursor *first = NULL;

	for (size_t i = 0; i < c->n; i++) {
		struct read_time at;

		if (!own_cursor_ahead(c->parts[i].cursor, &at))
			continue;
		if (first && !(c->newest_first ? read_time_is_before(ret_at, &at) : read_time_is_before(&at, ret_at)))
			continue;
		first = c->parts[i].cursor;
		*ret_at = at;
	}
	return first;
}

int read_cursor_next(struct read_cursor *c, struct read_batch *ret_batch)
{
	struct read_time at = { 0 };
	struct own_cursor *own = cursor_first(c, &at);
	int r;

	if (!own)
		return 0;
	r = own_cursor_next(own, ret_batch);
	if (r == 1 && c->n > 1 && cursor_first(c, &at))
		ret_batch->bound = at;
	return r;
}

int store_reader_count(struct store_reader *reader, const struct read_filter *filter, uint64_t *ret_n)
{
	uint64_t sum = 0;
	int r = 0;

	for (size_t i = 0; i < reader->n && r == 0; i++) {
		struct part part = { .cursor = NULL };
		struct read_filter own_filter;
		uint64_t n = 0;

		if (!is_asked(reader->files[i], filter))
			continue;
		r = filter_for(reader->files[i], filter, &part, &own_filter);
		r = r ? r : own_count(reader->files[i], &own_filter, &n);
		ARRAY_DONE(&part.ops);
		sum += n;
	}
	*ret_n = r ? *ret_n : sum;
	return r;
}
