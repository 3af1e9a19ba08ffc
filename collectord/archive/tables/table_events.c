// SPDX-License-Identifier: Apache-2.0
/*
 * Table events: kept calls.
 */
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
	COLUMN_ID,
	COLUMN_TIMESTAMP,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_SOURCE,
	COLUMN_OP,
	COLUMN_DURATION,
	COLUMN_GPU_ID,
	COLUMN_ARG0,
	COLUMN_ARG1,
	COLUMN_RET_CODE,
	COLUMN_STACK_HASH,
	COLUMN_CGROUP_ID,
	COLUMN_NODE,
	COLUMN_RANK,
	COLUMN_LOCAL_RANK,
	COLUMN_WORLD_SIZE,
	COLUMN_COMM,
	COLUMN_UID,
	COLUMN_SOURCE_NAME,
	COLUMN_OP_NAME,
	COLUMN_START_TIME,
	COLUMN_EXEC_GENERATION,
	COLUMN_DURATION_RAW,
	COLUMN_DEPTH,
	COLUMN_REASONS,
	COLUMN_BLAME,
};

#define B(id) BLOCK_COLUMN(BLOCK_##id)
#define BLAME_NEED (B(BLAME) | B(MEASURED) | B(DURATION) | B(OVERHEAD))

static const struct table_column columns[] = {
	[COLUMN_ID] = COLUMN("id", "TEXT", "BOOT.START.TID, as 'ingero explain ID' takes it", .need = B(TID)),
	[COLUMN_TIMESTAMP] =
		COLUMN("timestamp", "INTEGER", "entry of the call, ns since 1970 (UTC)", .push = PUSH_TIME),
	[COLUMN_PID] = COLUMN("pid", "INTEGER", "process", .push = PUSH_PID),
	[COLUMN_TID] = COLUMN("tid", "INTEGER", "thread", .need = B(TID)),
	[COLUMN_SOURCE] = COLUMN("source", "INTEGER", "sources.id", .need = B(OP), .push = PUSH_SOURCE),
	[COLUMN_OP] = COLUMN("op", "INTEGER", "ops.op_id, together with source", .need = B(OP), .push = PUSH_OP),
	[COLUMN_DURATION] = COLUMN("duration", "INTEGER", "ns, the tracer's own share taken out", .need = B(DURATION),
				   .push = PUSH_DURATION),
	[COLUMN_GPU_ID] = COLUMN("gpu_id", "INTEGER", "always 0"),
	[COLUMN_ARG0] =
		COLUMN("arg0", "INTEGER", "as documented for the operation: bytes, a pointer, ...", .need = B(ARG0)),
	[COLUMN_ARG1] = COLUMN("arg1", "INTEGER", "the same", .need = B(ARG1)),
	[COLUMN_RET_CODE] = COLUMN("ret_code", "INTEGER", "what the call returned; 0: success", .need = B(RET)),
	[COLUMN_STACK_HASH] = COLUMN("stack_hash", "INTEGER", "stack_traces.hash; 0: none was taken", .need = B(STACK)),
	[COLUMN_CGROUP_ID] = COLUMN("cgroup_id", "INTEGER", "always 0"),
	[COLUMN_NODE] = COLUMN("node", "TEXT", "name of the machine"),
	[COLUMN_RANK] = COLUMN("rank", "INTEGER", "NULL"),
	[COLUMN_LOCAL_RANK] = COLUMN("local_rank", "INTEGER", "NULL"),
	[COLUMN_WORLD_SIZE] = COLUMN("world_size", "INTEGER", "NULL"),
	[COLUMN_COMM] = COLUMN("comm", "TEXT", "name of the process"),
	[COLUMN_UID] = COLUMN("uid", "INTEGER", "owner of the process", .push = PUSH_UID),
	[COLUMN_SOURCE_NAME] = COLUMN("source_name", "TEXT", "cuda, driver, ...", .need = B(OP)),
	[COLUMN_OP_NAME] = COLUMN("op_name", "TEXT", "name of the operation", .need = B(OP), .push = PUSH_OP_NAME),
	[COLUMN_START_TIME] = COLUMN("start_time", "INTEGER", "start of the process, ns since 1970"),
	[COLUMN_EXEC_GENERATION] = COLUMN("exec_generation", "INTEGER", "programs that the process had become before"),
	[COLUMN_DURATION_RAW] =
		COLUMN("duration_raw", "INTEGER", "ns, with the tracer's share", .need = B(DURATION) | B(OVERHEAD)),
	[COLUMN_DEPTH] = COLUMN("depth", "INTEGER", "0: outermost traced call of the thread", .need = B(DEPTH)),
	[COLUMN_REASONS] =
		COLUMN("reasons", "TEXT", "why the call was kept: slow error sync alloc sample all", .need = B(REASON)),
	BLAME_COLUMNS(BLAME_NEED, "duration_raw"),
};

struct state {
	struct read_filter filter;
	struct read_cursor *cursor; /* in any order */
	struct read_order *order;   /* or in order of time */
	struct read_batch batch;
	size_t next;
	struct read_event event;
	char node[64];
};

static int node_take(const Ingero__V1__Session *session, void *data)
{
	struct state *s = data;

	(void)snprintf(s->node, sizeof(s->node), "%s", session->node);
	return 0;
}

static int events_start(struct table_cursor *c)
{
	struct state *s = calloc(1, sizeof(*s));
	struct table_limits *limits = &c->limits;
	int r;

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
		.by_wall_clock = true, /* which is what the column says */
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
	r = store_reader_sessions(c->job->reader, node_take, s);
	if (r)
		return r;
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
	char id[CALL_ID_BYTES];
	const struct call_id parts = { .boot = e->boot,
				       .tid = e->event->call.tid,
				       .start_ns = e->event->call.start_ns };

	call_id_format(&parts, id);
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

static void result_op(const struct table_cursor *c, const struct read_event *e, int column, sqlite3_context *result)
{
	const struct read_op *op = store_reader_op(c->job->reader, e->event->op);
	int64_t source, number;

	if (column == COLUMN_SOURCE_NAME || column == COLUMN_OP_NAME) {
		if (op)
			table_result_text(result, column == COLUMN_OP_NAME ? op->name : op->source);
		return;
	}
	table_op_number(op, &source, &number);
	sqlite3_result_int64(result, column == COLUMN_SOURCE ? source : number);
}

static void events_column(const struct table_cursor *c, int column, sqlite3_context *result)
{
	const struct state *s = c->state;
	const struct read_event *e = &s->event;
	const struct call_record *call = &e->event->call;

	switch ((enum column)column) {
	case COLUMN_ID:
		result_id(e, result);
		return;
	case COLUMN_TIMESTAMP:
		table_result_u64(result, e->start_unix_ns);
		return;
	case COLUMN_PID:
		sqlite3_result_int64(result, e->process->pid);
		return;
	case COLUMN_TID:
		sqlite3_result_int64(result, call->tid);
		return;
	case COLUMN_SOURCE:
	case COLUMN_OP:
	case COLUMN_SOURCE_NAME:
	case COLUMN_OP_NAME:
		result_op(c, e, column, result);
		return;
	case COLUMN_DURATION:
		table_result_u64(result, call->duration_ns);
		return;
	case COLUMN_GPU_ID:
	case COLUMN_CGROUP_ID:
		sqlite3_result_int64(result, 0);
		return;
	case COLUMN_ARG0:
	case COLUMN_ARG1: /* pointers: all 64 bits, as Ingero keeps them */
		sqlite3_result_int64(result, (sqlite3_int64)call->args[column - COLUMN_ARG0]);
		return;
	case COLUMN_RET_CODE:
		sqlite3_result_int64(result, call->ret);
		return;
	case COLUMN_STACK_HASH:
		sqlite3_result_int64(result, e->event->stack);
		return;
	case COLUMN_NODE:
		table_result_text(result, s->node);
		return;
	case COLUMN_RANK:
	case COLUMN_LOCAL_RANK:
	case COLUMN_WORLD_SIZE:
		return; /* NULL */
	case COLUMN_COMM:
		table_result_text(result, e->process->comm);
		return;
	case COLUMN_UID:
		sqlite3_result_int64(result, e->process->uid);
		return;
	case COLUMN_START_TIME:
		table_result_u64(result, e->process->start_unix_ns);
		return;
	case COLUMN_EXEC_GENERATION:
		sqlite3_result_int64(result, e->process->exec_gen);
		return;
	case COLUMN_DURATION_RAW:
		table_result_u64(result, call->raw_ns);
		return;
	case COLUMN_DEPTH:
		sqlite3_result_int64(result, call->depth);
		return;
	case COLUMN_REASONS:
		result_reasons(call->reason, result);
		return;
	case COLUMN_BLAME:
		break;
	}
	table_result_blame(result, call->blame_ns, e->event->measured, call->raw_ns, column - COLUMN_BLAME);
}

const struct table table_events = {
	.name = "events",
	.what = "calls that were kept one by one: slow, erroneous, synchronising, allocating, and one in N; count "
		"calls in operations or event_aggregates, which have all",
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.is_ordered = true,
	.rows = 1e7,
	.start = events_start,
	.next = events_next,
	.column = events_column,
	.stop = events_stop,
};
