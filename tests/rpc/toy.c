// SPDX-License-Identifier: Apache-2.0
#include "toy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "rpc/call.h"
#include "rpc/handlers.h"
#include "rpc/server.h"

static void toy_query_status(struct call *call, const Ingero__V1__StatusRequest *input)
{
	Ingero__V1__StatusReply reply = INGERO__V1__STATUS_REPLY__INIT;

	(void)input;
	reply.pid = call_identity(call)->uid;
	call_answer(call, &reply.base);
}

static void toy_later_closed(struct call *call, void *data)
{
	struct toy *toy = data;

	toy->n_closes++;
	if (toy->later == call)
		toy->later = NULL;
}

/* Operations may come in pieces; here they are one. */
static void reply_and_end(struct call *call, const Ingero__V1__Summary *summary)
{
	int r = call_reply(call, &summary->base);

	if (r == -ENOBUFS)
		call_fail(call, CALL_ERROR_QUOTA, "too many answers are waiting to be read; read them first");
	else if (r)
		call_fail(call, CALL_ERROR_INTERNAL, "it could not be sent");
	else
		call_end(call);
}

static void reply_with_text(struct call *call, size_t n_bytes)
{
	CLEANUP(freep) char *text = malloc(n_bytes + 1);
	Ingero__V1__Operation operation = INGERO__V1__OPERATION__INIT, *operations[] = { &operation };
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;

	memset(text, 'x', n_bytes);
	text[n_bytes] = 0;
	operation.op = text;
	summary.operations = operations;
	summary.n_operations = 1;
	reply_and_end(call, &summary);
}

static void reply_rows(struct call *call, size_t n)
{
	Ingero__V1__Operation operation = INGERO__V1__OPERATION__INIT, *operations[64];
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;

	for (size_t i = 0; i < n && i < ARRAY_SIZE(operations); i++)
		operations[summary.n_operations++] = &operation;
	summary.operations = operations;
	reply_and_end(call, &summary);
}

static void toy_query_operations(struct call *call, const Ingero__V1__OperationsRequest *input)
{
	Ingero__V1__Summary piece = INGERO__V1__SUMMARY__INIT;
	struct toy *toy = call_context(call);

	toy->n_operations++;
	if (toy->on_operation)
		toy->on_operation(toy);
	switch (input->n_pids ? input->pids[0] : TOY_REPLY) {
	case TOY_NEVER:
	case TOY_LATER:
		if (toy->later) {
			call_fail(call, CALL_ERROR_UNAVAILABLE, "one call is kept already");
			return;
		}
		if (input->pids[0] == TOY_NEVER)
			call_on_close(call, toy_later_closed, toy);
		toy->later = call;
		return;
	case TOY_FAIL:
		call_fail(call, CALL_ERROR_NOT_FOUND, "no process %u of yours", 4711);
		return;
	case TOY_TOO_LARGE:
		reply_with_text(call, FRAME_SERVER_BODY_MAX + 1);
		return;
	case TOY_LARGE:
		reply_with_text(call, FRAME_SERVER_BODY_MAX - 64);
		return;
	case TOY_PIECES:
		if (call_reply(call, &piece.base) == 0)
			reply_rows(call, 1);
		else
			call_fail(call, CALL_ERROR_INTERNAL, "it could not be sent");
		return;
	case TOY_DIE:
		if (!toy->does_not_die)
			_exit(3);
		call_fail(call, CALL_ERROR_INTERNAL, "not dying");
		return;
	default:
		reply_rows(call, input->n_pids);
	}
}

void toy_answer_later(struct toy *toy)
{
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
	struct call *call = TAKE_PTR(toy->later);

	reply_and_end(call, &summary);
}

/* What one Trace of the toy is doing. */
struct toy_stream {
	struct toy *toy;
	struct call *call;
	enum toy_trace kind;
	char *text;	 /* of one piece */
	uint32_t n_left; /* TOY_COUNT */
};

static void toy_stream_free(struct toy_stream *stream)
{
	for (size_t i = 0; i < TOY_STREAMS_MAX; i++) {
		if (stream->toy->on_demand[i] == stream)
			stream->toy->on_demand[i] = NULL;
	}
	free(stream->text);
	free(stream);
}

static int toy_piece(struct call *call, struct toy_stream *stream)
{
	Ingero__V1__TraceReply reply = INGERO__V1__TRACE_REPLY__INIT;
	Ingero__V1__Start start = INGERO__V1__START__INIT;
	int r;

	reply.body_case = INGERO__V1__TRACE_REPLY__BODY_START;
	reply.start = &start;
	start.version = stream->text;
	start.timestamp_unix_ns = stream->toy->n_replies + 1;
	r = call_reply(call, &reply.base);
	if (r == 0)
		stream->toy->n_replies++;
	else if (r == -ENOBUFS)
		stream->toy->n_refused++;
	return r;
}

static void toy_remember(struct toy_stream *stream)
{
	for (size_t i = 0; i < TOY_STREAMS_MAX; i++) {
		if (!stream->toy->on_demand[i]) {
			stream->toy->on_demand[i] = stream;
			return;
		}
	}
}

void toy_flood(struct toy *toy)
{
	for (size_t i = 0; i < TOY_STREAMS_MAX; i++) {
		while (toy->on_demand[i] && toy_piece(toy->on_demand[i]->call, toy->on_demand[i]) == 0) {
		}
	}
}

static void toy_go_on(struct call *call, struct toy_stream *stream)
{
	int r = 0;

	if (stream->kind == TOY_FLOOD) {
		while (r == 0)
			r = toy_piece(call, stream);
		return;
	}
	while (stream->kind == TOY_COUNT && stream->n_left) {
		if (toy_piece(call, stream))
			return;
		stream->n_left--;
	}
	if (stream->kind == TOY_COUNT) {
		toy_stream_free(stream);
		call_end(call);
	}
}

static void toy_trace_drained(struct call *call, void *data)
{
	struct toy_stream *stream = data;

	stream->toy->n_drains++;
	if (stream->toy->on_drain)
		stream->toy->on_drain(stream->toy);
	toy_go_on(call, stream);
}

static void toy_trace_closed(struct call *call, void *data)
{
	struct toy_stream *stream = data;

	(void)call;
	stream->toy->n_closes++;
	toy_stream_free(stream);
}

static void toy_trace_stopped(struct call *call, void *data)
{
	struct toy_stream *stream = data;
	Ingero__V1__TraceReply reply = INGERO__V1__TRACE_REPLY__INIT;
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;

	stream->toy->n_stops++;
	if (stream->kind == TOY_DEAF)
		return;
	reply.body_case = INGERO__V1__TRACE_REPLY__BODY_SUMMARY;
	reply.summary = &summary;
	if (call_reply(call, &reply.base))
		call_fail(call, CALL_ERROR_INTERNAL, "it could not be sent");
	else
		call_end(call);
	toy_stream_free(stream);
}

static void toy_trace_trace(struct call *call, const Ingero__V1__TraceRequest *input)
{
	struct toy *toy = call_context(call);
	struct toy_stream *stream = calloc(1, sizeof(*stream));

	stream->toy = toy;
	stream->call = call;
	stream->kind = input->n_pids ? input->pids[0] : 0;
	stream->n_left = input->n_pids > 1 ? input->pids[1] : 0;
	stream->text = calloc(1, input->sample_every + 1);
	memset(stream->text, 'x', input->sample_every);
	call_on_close(call, toy_trace_closed, stream);
	call_on_drain(call, toy_trace_drained, stream);
	if (stream->kind != TOY_PLAIN)
		call_on_stop(call, toy_trace_stopped, stream);
	if (stream->kind == TOY_FLOOD || stream->kind == TOY_COUNT)
		toy_go_on(call, stream);
	else if (stream->kind == TOY_ON_DEMAND)
		toy_remember(stream);
	else
		(void)toy_piece(call, stream);
}

static void toy_peer_open(uint32_t pid, uint32_t uid, void *data)
{
	struct toy *toy = data;

	(void)uid;
	toy->n_peers_opened++;
	toy->last_peer_pid = pid;
}

static void toy_peer_close(uint32_t pid, void *data)
{
	struct toy *toy = data;

	(void)pid;
	toy->n_peers_closed++;
}

static void toy_idle(void *data)
{
	struct toy *toy = data;

	toy->n_idle++;
	if (toy->stops_when_idle)
		uv_stop(&toy->loop);
}

/* The toy greets as the daemon does, and has no database. */
#define TOY_UNAVAILABLE(name)                                                                                          \
	static void toy_##name(struct call *call, const method_##name##_request *request)                              \
	{                                                                                                              \
		(void)request;                                                                                         \
		call_fail(call, CALL_ERROR_UNAVAILABLE, "the toy has no database");                                    \
	}
TOY_UNAVAILABLE(query_explain)
TOY_UNAVAILABLE(query_blame)
TOY_UNAVAILABLE(query_events)
TOY_UNAVAILABLE(query_compare)
TOY_UNAVAILABLE(query_stacks)
TOY_UNAVAILABLE(query_sql)
TOY_UNAVAILABLE(query_export_rows)
#define toy_query_hello rpc_query_hello

#define METHOD(ID, name, ...)                                                                                          \
	static void name##_handle(struct call *call, const ProtobufCMessage *request)                                  \
	{                                                                                                              \
		toy_##name(call, (const method_##name##_request *)request);                                            \
	}
#include "ingero/v1/methods.def"

static const rpc_handler toy_handlers[METHOD_COUNT] = {
#define METHOD(ID, name, ...) [METHOD_##ID] = name##_handle,
#include "ingero/v1/methods.def"
};

void toy_open(struct toy *toy)
{
	struct server_events events = { .on_peer_open = toy_peer_open,
					.on_peer_close = toy_peer_close,
					.on_idle = toy_idle };

	memset(toy, 0, sizeof(*toy));
	if (uv_loop_init(&toy->loop) || server_open(&toy->loop, toy_handlers, &events, toy, &toy->server))
		abort();
}

void toy_close(struct toy *toy)
{
	server_close(toy->server);
	(void)uv_run(&toy->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&toy->loop))
		abort(); /* a handle was left open */
}
