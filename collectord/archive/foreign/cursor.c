// SPDX-License-Identifier: Apache-2.0
/*
 * Walks over the rows of a foreign file, in order of time.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define BATCH_ROWS 2048
#define PIDS_IN_SQL 64 /* more are looked at here */

struct foreign_cursor {
	struct read_cursor cursor;
	struct foreign_source *file;
	struct read_filter filter;
	struct sqlite3_stmt *statement;
	bool is_at_end; /* another step would begin anew */
	struct read_event events[BATCH_ROWS];
	struct stored_event stored[BATCH_ROWS];
};

static void cursor_free(struct foreign_cursor *c)
{
	if (!c)
		return;
	sqlite3_finalize(c->statement);
	free(c);
}

static void cursor_freep(struct foreign_cursor **c)
{
	cursor_free(*c);
}

static int prepare(struct foreign_cursor *c)
{
	const struct read_filter *filter = &c->filter;
	CLEANUP(buf_done) struct buf rest = BUF_INIT;
	int r;

	buf_append_text(&rest, "WHERE timestamp >= ?1 AND timestamp < ?2 AND duration >= ?3 AND duration <= ?4");
	if (filter->pids && filter->n_pids <= PIDS_IN_SQL) {
		buf_append_text(&rest, " AND pid IN (-1");
		for (size_t i = 0; i < filter->n_pids; i++)
			buf_printf(&rest, ", %u", filter->pids[i]);
		buf_append_text(&rest, ")");
	}
	buf_printf(&rest, " ORDER BY timestamp%s", filter->newest_first ? " DESC" : "");
	if (rest.failed)
		return -ENOMEM;

	r = foreign_select(c->file, FOREIGN_EVENTS,
			   FOREIGN_ROW_COLUMNS " arg0 arg1 ret_code stack_hash node='' comm=''", buf_text(&rest),
			   &c->statement);
	if (r < 0)
		return r;
	sqlite3_bind_int64(c->statement, 1, (int64_t)MIN(filter->from_unix_ns, (uint64_t)INT64_MAX));
	sqlite3_bind_int64(c->statement, 2,
			   filter->to_unix_ns ? (int64_t)MIN(filter->to_unix_ns, (uint64_t)INT64_MAX) : INT64_MAX);
	sqlite3_bind_int64(c->statement, 3, (int64_t)MIN(filter->min_duration_ns, (uint64_t)INT64_MAX));
	sqlite3_bind_int64(c->statement, 4,
			   filter->max_duration_ns ? (int64_t)MIN(filter->max_duration_ns, (uint64_t)INT64_MAX)
						   : INT64_MAX);
	return 0;
}

int foreign_cursor_open(struct read_source *source, const struct read_filter *filter, struct read_cursor **ret_cursor)
{
	CLEANUP(cursor_freep) struct foreign_cursor *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->cursor.source = source;
	c->file = CONTAINER_OF(source, struct foreign_source, source);
	c->filter = *filter;
	if (filter->columns & BLOCK_COLUMN(BLOCK_STACK)) {
		r = foreign_stacks_load(c->file);
		if (r < 0)
			return r;
	}
	r = prepare(c);
	if (r < 0)
		return r;
	*ret_cursor = &TAKE_PTR(c)->cursor;
	return 0;
}

void foreign_cursor_close(struct read_cursor *cursor)
{
	cursor_free(cursor ? CONTAINER_OF(cursor, struct foreign_cursor, cursor) : NULL);
}

static bool is_among(uint32_t value, const uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] == value)
			return true;
	return values == NULL;
}

/* Return: whether the row at hand is one that was asked for */
static bool row_take(struct foreign_cursor *c, struct stored_event *ret_stored, struct read_event *ret_event)
{
	struct foreign_source *f = c->file;
	const struct foreign_process *process;
	const struct foreign_op *op;
	char text[FOREIGN_NAME_BYTES];
	struct call_record *call = &ret_stored->call;
	struct foreign_row row;
	uint32_t node;

	if (!foreign_row(c->statement, &row) || !is_among(row.pid, c->filter.pids, c->filter.n_pids))
		return false;
	op = foreign_op_find(f, row.source, row.number);
	node = foreign_node(f, foreign_text(c->statement, 10, text, sizeof(text)));
	process = op && node != UINT32_MAX ? foreign_process_find(f, node, row.pid, row.start_unix_ns) : NULL;
	if (!process || !is_among(op->op.id, c->filter.ops, c->filter.n_ops) || row.start_unix_ns < c->filter.since.ns)
		return false;

	*ret_stored = (struct stored_event){
		.process = process->process.id,
		.op = op->op.id,
		.stack = foreign_stack_id(f, sqlite3_column_int64(c->statement, 9)),
	};
	call->start_ns = row.start_unix_ns;
	call->duration_ns = call->raw_ns = row.duration_ns;
	call->args[0] = (uint64_t)sqlite3_column_int64(c->statement, 6);
	call->args[1] = (uint64_t)sqlite3_column_int64(c->statement, 7);
	call->ret = (int32_t)sqlite3_column_int64(c->statement, 8);
	call->tgid = row.pid;
	call->tid = row.tid;
	call->uid = FOREIGN_UID;
	call->exec_gen = process->process.exec_gen;
	foreign_text(c->statement, 11, call->comm, sizeof(call->comm));
	*ret_event = (struct read_event){
		.event = ret_stored,
		.process = &process->process,
		.start_unix_ns = row.start_unix_ns,
		.boot = process->process.boot,
		.at = { .ns = row.start_unix_ns },
	};
	return true;
}

int foreign_cursor_next(struct read_cursor *cursor, struct read_batch *ret_batch)
{
	struct foreign_cursor *c = CONTAINER_OF(cursor, struct foreign_cursor, cursor);
	uint64_t bound_unix_ns = c->filter.newest_first ? 0 : UINT64_MAX;
	size_t n = 0;
	int r = 0;

	if (c->is_at_end || (c->filter.has_uid && c->filter.uid != FOREIGN_UID))
		return 0;
	/* Rows that do not match cost time, too. */
	for (size_t looked_at = 0; looked_at < BATCH_ROWS && (r = foreign_step(c->statement)) > 0; looked_at++) {
		if (row_take(c, &c->stored[n], &c->events[n]))
			n++;
		foreign_u64(c->statement, 0, INT64_MAX, &bound_unix_ns);
	}
	if (r < 0)
		return r;
	c->is_at_end = r == 0;
	if (c->is_at_end && n == 0)
		return 0;
	*ret_batch = (struct read_batch){ .events = c->events, .n = n, .bound = { .ns = bound_unix_ns } };
	return 1;
}

int foreign_count(struct read_source *source, const struct read_filter *filter, uint64_t *ret_n)
{
	struct read_filter plain = *filter;
	struct read_cursor *cursor;
	struct read_batch batch;
	uint64_t n = 0;
	int r;

	plain.columns = 0;
	r = foreign_cursor_open(source, &plain, &cursor);
	if (r < 0)
		return r;
	while ((r = foreign_cursor_next(cursor, &batch)) > 0)
		n += batch.n;
	foreign_cursor_close(cursor);
	if (r == 0)
		*ret_n = n;
	return r;
}
