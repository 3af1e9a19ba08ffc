// SPDX-License-Identifier: Apache-2.0
/* Table events: recorded calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/tables/tables.h"
#include "events/call_id.h"
#include "events/event.h"
#include "archive/read/order.h"

enum column {
#define EVENTS(name, type, value, needs, push, what) COLUMN_##name,
#include "events/columns.def"
	COLUMN_BLAME,
};

#define B(id) BLOCK_COLUMN(BLOCK_##id)
#define BLAME_NEED (B(BLAME) | B(MEASURED) | B(DURATION) | B(OVERHEAD))

static const struct table_column columns[] = {
#define EVENTS(name, type, value, needs, push, what) DEFINED_COLUMN(name, type, needs, push, what)
#include "events/columns.def"
#define BLAME(id, field, label, phrase, remedy) BLAME_COLUMN(field, phrase, BLAME_NEED, "duration_raw")
#include "bpf/blame.def"
#undef BLAME
};

struct state {
	struct read_filter filter;
	struct read_cursor *cursor; /* for rows in any order */
	struct read_order *order;   /* for rows in order of time */
	struct read_batch batch;
	size_t next;
	struct read_event event;
};

static int events_start(struct table_cursor *c)
{
	struct state *s = calloc(1, sizeof(*s));
	struct table_limits *limits = &c->limits;

	if (!s)
		return -ENOMEM;
	c->state = s;
	s->filter = (struct read_filter){
		.from_unix_ns = limits->from_unix_ns,
		.to_unix_ns = limits->to_unix_ns,
		.min_duration_ns = limits->min_duration_ns,
		.max_duration_ns = limits->max_duration_ns,
		.has_uid = limits->has_uid,
		.uid = limits->uid,
		.columns = c->need,
		.by_wall_clock = true, /* the same clock as that of the column */
		.newest_first = c->order == ORDER_DESCENDING,
	};
	if (limits->has_pid) {
		s->filter.pids = &limits->pid;
		s->filter.n_pids = 1;
	}
	if (limits->has_ops) {
		static const uint32_t none = UINT32_MAX;

		s->filter.ops = limits->ops.n ? limits->ops.items : &none;
		s->filter.n_ops = limits->ops.n;
	}
	return c->order == ORDER_NONE ? store_reader_cursor_open(c->job->reader, &s->filter, &s->cursor)
				      : read_order_open(c->job->reader, &s->filter, &s->order);
}

static int next_ordered(struct table_cursor *c, struct state *s)
{
	int r;

	while ((r = read_order_next(s->order, &s->event)) == -EAGAIN)
		if (reader_is_late(c->job))
			return -ETIME;
	return r;
}

static int events_next(struct table_cursor *c)
{
	struct state *s = c->state;

	if (s->order)
		return next_ordered(c, s);
	while (s->next == s->batch.n) {
		int r = reader_is_late(c->job) ? -ETIME : read_cursor_next(s->cursor, &s->batch);

		if (r <= 0)
			return r;
		s->next = 0;
	}
	s->event = s->batch.events[s->next++];
	return 1;
}

static void events_stop(struct table_cursor *c)
{
	struct state *s = c->state;

	read_cursor_close(s->cursor);
	read_order_close(s->order);
}

static void result_id(const struct read_event *e, sqlite3_context *result)
{
	char id[READ_NODE_BYTES + CALL_ID_BYTES];
	size_t n = 0;
	const struct call_id parts = { .boot = e->boot,
				       .tid = e->event->call.tid,
				       .start_ns = e->event->call.start_ns };

	if (e->process->tells_node)
		n = (size_t)snprintf(id, READ_NODE_BYTES + 1, "%s:", e->process->node);
	call_id_format(&parts, id + n);
	table_result_text(result, id);
}

static void result_reasons(uint8_t reason, sqlite3_context *result)
{
	char text[64] = "";

	for (size_t i = 0; i < EVENT_REASONS; i++) {
		if (!(reason & 1u << i))
			continue;
		if (text[0])
			strcat(text, " ");
		strcat(text, event_reason_names[i]);
	}
	table_result_text(result, text);
}

#define OP(column) table_result_op(result, c->job, store_reader_op(c->job->reader, e->event->op), OP_COLUMN_##column)
#define CALL_ID result_id(e, result)
#define NUMBER(name)                                                                                                   \
	if (e->process->program.name.is_known)                                                                         \
	sqlite3_result_int64(result, e->process->program.name.value)
#define REASONS result_reasons(call->reason, result)

static void events_column(const struct table_cursor *c, int column, sqlite3_context *result)
{
	const struct state *s = c->state;
	const struct read_event *e = &s->event;
	const struct call_record *call = &e->event->call;

	switch ((enum column)column) {
#define EVENTS(name, type, value, needs, push, what)                                                                   \
	case COLUMN_##name:                                                                                            \
		value;                                                                                                 \
		return;
#include "events/columns.def"
	case COLUMN_BLAME:
		break;
	}
	table_result_blame(result, call->blame_ns, e->event->measured, call->raw_ns, column - COLUMN_BLAME);
}

const struct table table_events = {
	.name = "events",
	.what = "calls that were recorded one by one: slow, failed, synchronising, allocating, and one in N; to count "
		"calls, use operations or event_aggregates, which include all calls",
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.is_ordered = true,
	.rows = 1e7,
	.start = events_start,
	.next = events_next,
	.column = events_column,
	.stop = events_stop,
};
