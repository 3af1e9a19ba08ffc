// SPDX-License-Identifier: Apache-2.0
/* Writes the rows of a foreign file as calls, in order of time. */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

/* Calls packed at a time. With 4096 a reader needs 1.4 MiB more memory, and the file is no smaller. */
#define PENDING_CALLS 512

/* Calls of one node that are not packed yet. */
struct pending {
	ARRAY(struct stored_event) calls;
};

struct calls {
	struct foreign_file *file;
	struct sqlite3_stmt *statement;
	struct foreign_figures *figures;
	ARRAY(struct pending) nodes; /* by index of node */
	size_t n_pending;
};

static void calls_done(struct calls *c)
{
	for (size_t i = 0; i < c->nodes.n; i++)
		ARRAY_DONE(&c->nodes.items[i].calls);
	ARRAY_DONE(&c->nodes);
	sqlite3_finalize(c->statement);
	foreign_figures_freep(&c->figures);
}

static int pending_pack(struct calls *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->nodes.n; i++) {
		struct pending *p = &c->nodes.items[i];

		r = seal_events(&c->file->out, FOREIGN_UID, (int64_t)i + 1, p->calls.items, p->calls.n);
		ARRAY_DONE(&p->calls); /* at once, since there may be a thousand nodes */
	}
	c->n_pending = 0;
	return r;
}

static int pending_add(struct calls *c, uint32_t node, const struct stored_event *event)
{
	int r = 0;

	while (r == 0 && c->nodes.n <= node)
		r = ARRAY_PUSH(&c->nodes, (struct pending){ 0 });
	if (r == 0)
		r = ARRAY_PUSH(&c->nodes.items[node].calls, *event);
	return r == 0 && ++c->n_pending >= PENDING_CALLS ? pending_pack(c) : r;
}

static int row_put(struct calls *c)
{
	struct foreign_file *f = c->file;
	const struct foreign_process *process;
	const struct foreign_op *op;
	char text[FOREIGN_NAME_BYTES];
	struct stored_event event = { 0 };
	struct call_record *call = &event.call;
	struct foreign_row row;
	uint32_t node;
	int r;

	if (!foreign_row(c->statement, &row))
		return 0;
	op = foreign_op_find(f, row.source, row.number);
	node = foreign_node(f, foreign_text(c->statement, 10, text, sizeof(text)));
	process = op && node != UINT32_MAX ? foreign_process_find(f, node, row.pid, row.start_unix_ns) : NULL;
	if (!process)
		return 0;

	event.process = process->process.id;
	event.op = op->op.id;
	event.stack = foreign_stack_id(f, sqlite3_column_int64(c->statement, 9));
	call->start_ns = row.start_unix_ns;
	call->duration_ns = call->raw_ns = row.duration_ns;
	call->args[0] = (uint64_t)sqlite3_column_int64(c->statement, 6);
	call->args[1] = (uint64_t)sqlite3_column_int64(c->statement, 7);
	call->ret = (int32_t)sqlite3_column_int64(c->statement, 8);
	call->tid = row.tid;
	r = foreign_figures_add(c->figures, op, &event);
	return r ? r : pending_add(c, node, &event);
}

int foreign_calls_put(struct foreign_file *f)
{
	CLEANUP(calls_done) struct calls c = { .file = f };
	int r = foreign_figures_open(f, &c.figures);

	/* In SQLite every text is greater than any number: < '' selects only numbers. */
	r = r ? r
	      : foreign_select(f, FOREIGN_EVENTS, FOREIGN_ROW_COLUMNS " arg0 arg1 ret_code stack_hash node=''",
			       "WHERE timestamp > 0 AND timestamp < '' ORDER BY timestamp", &c.statement);
	while (r == 0 && (r = foreign_step(c.statement)) > 0)
		r = row_put(&c);
	r = r ? r : foreign_figures_close(c.figures);
	return r ? r : pending_pack(&c);
}
