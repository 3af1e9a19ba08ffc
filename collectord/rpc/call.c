// SPDX-License-Identifier: Apache-2.0
#include "rpc/call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "clock.h"
#include "rpc/body.h"
#include "rpc/call_state.h"
#include "rpc/server_state.h"

#define DEADLINE_DEFAULT_NS (30 * NSEC_PER_SEC) /* of a request without a deadline and with one reply */
#define DEADLINE_MAX_NS (600 * NSEC_PER_SEC)

const struct call_identity *call_identity(const struct call *call)
{
	return &call->identity;
}

void *call_context(const struct call *call)
{
	return call->context;
}

struct peer *call_peer(struct call *call)
{
	return call->peer;
}

/* ---- ending ---- */

static void call_detach(struct call *call)
{
	if (!call->peer)
		return;
	LIST_REMOVE(call, link);
	if (call->has_lease)
		quota_end_lease(call->peer->quota_user);
	call->has_lease = false;
	call_keep(call, 0);
	quota_end_call(call->peer->quota_user);
	call->peer->asked_ns = clock_now_ns();
	call->peer = NULL;
}

/* Releases a call whose handler has finished. */
static void call_release(struct call *call)
{
	assert(!call->is_over); /* a handler answers once */
	call->is_over = true;
	call_detach(call);
	if (!call->is_starting)
		free(call);
}

static void append_end(struct peer *peer, uint32_t stream, enum call_error code, const char *text)
{
	size_t before = peer->out.n;

	/* Without memory for a few bytes nothing more can be sent to the client. */
	if (frame_append_end(&peer->out, stream, code, text))
		peer_close(peer);
	else
		peer_queued(peer, peer->out.n - before);
}

static void call_finish(struct call *call, enum call_error code, const char *text)
{
	struct peer *peer = call->peer;
	uint32_t stream = call->stream;

	call_release(call);
	if (peer)
		append_end(peer, stream, code, text);
}

void call_end(struct call *call)
{
	call_finish(call, CALL_OK, "");
}

void call_fail(struct call *call, enum call_error code, const char *fmt, ...)
{
	char text[FRAME_TEXT_MAX + 1];

	assert(code != CALL_OK);
	FORMAT_INTO(text, sizeof(text), fmt);
	call_finish(call, code, text);
}

void call_refuse(struct peer *peer, uint32_t stream, enum call_error code, const char *fmt, ...)
{
	char text[FRAME_TEXT_MAX + 1];

	FORMAT_INTO(text, sizeof(text), fmt);
	append_end(peer, stream, code, text);
}

/*
 * Ends a call from outside. A handler with a close function is called and finishes; another handler goes on, and its
 * replies are dropped.
 */
static void call_drop(struct call *call)
{
	call_close_func on_close = call->on_close;

	assert(call->peer && !call->is_over);
	call_detach(call);
	if (!on_close)
		return;

	call->is_over = true;
	on_close(call, call->on_close_data);
	if (!call->is_starting)
		free(call);
}

void call_drop_all(struct peer *peer)
{
	while (!LIST_EMPTY(&peer->calls))
		call_drop(LIST_FIRST(&peer->calls));
}

void call_on_close(struct call *call, call_close_func func, void *data)
{
	call->on_close = func;
	call->on_close_data = data;
}

void call_on_stop(struct call *call, call_stop_func func, void *data)
{
	call->on_stop = func;
	call->on_stop_data = data;
}

/* ---- cost ---- */

bool call_begin_lease(struct call *call)
{
	if (call->has_lease || !call->peer || !quota_begin_lease(call->peer->quota_user))
		return call->has_lease;
	call->has_lease = true;
	return true;
}

void call_keep(struct call *call, size_t n_bytes)
{
	if (!call->peer)
		return;
	quota_keep(&call->peer->server->quota, call->peer->quota_user, call->kept_bytes, n_bytes);
	call->kept_bytes = n_bytes;
}

bool call_may_keep(const struct call *call, enum quota_need need)
{
	return call->peer && quota_may_keep(&call->peer->server->quota, call->peer->quota_user, call->kept_bytes, need);
}

bool call_must_wait(const struct call *call)
{
	uint64_t resume_ns;

	return call->peer &&
	       quota_must_wait(&call->peer->server->quota, call->peer->quota_user, clock_now_ns(), &resume_ns);
}

void call_charge(struct call *call, uint64_t since_ns)
{
	if (call->peer)
		quota_take_time(&call->peer->server->quota, call->peer->quota_user, clock_spent_ns() - since_ns,
				clock_now_ns());
}

/* ---- cancel and deadline ---- */

struct call *call_find(struct peer *peer, uint32_t stream)
{
	struct call *call;

	LIST_FOREACH(call, &peer->calls, link)
	{
		if (call->stream == stream)
			return call;
	}
	return NULL;
}

static void call_cut(struct call *call, enum call_error code, const char *text)
{
	struct peer *peer = call->peer;
	uint32_t stream = call->stream;

	call_drop(call);
	if (!peer->is_closed)
		append_end(peer, stream, code, text);
}

void call_cancel(struct call *call, uint64_t now_ns)
{
	if (!call->on_stop || call->is_stopping) {
		call_cut(call, CALL_ERROR_CANCELLED, "cancelled");
		return;
	}
	call->is_stopping = true;
	call->deadline_ns = MIN(call->deadline_ns, now_ns + CALL_STOP_NS);
	server_due(call->peer->server, call->deadline_ns);
	call->on_stop(call, call->on_stop_data);
}

struct call *call_find_due(struct peer *peer, uint64_t now_ns, uint64_t *next_ns)
{
	struct call *call;

	LIST_FOREACH(call, &peer->calls, link)
	{
		if (call->deadline_ns <= now_ns)
			return call;
		*next_ns = MIN(*next_ns, call->deadline_ns);
	}
	return NULL;
}

void call_expire(struct call *call)
{
	if (call->is_stopping)
		call_cut(call, CALL_ERROR_CANCELLED, "cancelled: the call did not finish after it was asked to");
	else
		call_cut(call, CALL_ERROR_DEADLINE, "the deadline of this call has passed");
}

static uint64_t find_deadline_ns(const struct method *method, uint32_t deadline_ms)
{
	if (deadline_ms)
		return clock_now_ns() + MIN(deadline_ms * NSEC_PER_MSEC, DEADLINE_MAX_NS);
	return method->is_stream ? UINT64_MAX : clock_now_ns() + DEADLINE_DEFAULT_NS;
}

void call_invoke(struct call *call, const struct frame_request *request, const ProtobufCMessage *input)
{
	assert(!call->is_starting && !call->is_over);
	call->is_starting = true;
	call->request = request;
	call->peer->server->handlers[call->method_id](call, input);
	call->is_starting = false;
	call->request = NULL;
	if (call->is_over)
		free(call);
}

void call_start(struct peer *peer, uint32_t stream, const struct frame_request *request)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	enum method_id id = method_find(request->method);
	char why[BODY_WHY_BYTES];
	ProtobufCMessage *input;
	enum call_error code;
	struct call *call;

	if (id == METHOD_COUNT) {
		call_refuse(peer, stream, CALL_ERROR_UNKNOWN_METHOD, "ingero-collectord %s does not know '%s'",
			    INGERO_VERSION, request->method);
		return;
	}
	if (!quota_begin_call(peer->quota_user)) {
		call_refuse(peer, stream, CALL_ERROR_QUOTA,
			    "uid %u has %u calls in flight, which is the limit; wait for one to end", peer->peer_uid,
			    QUOTA_USER_CALLS);
		return;
	}
	code = body_unpack(method_get(id)->request, request->message, request->message_bytes, &arena, why, &input);
	if (code) {
		quota_end_call(peer->quota_user);
		call_refuse(peer, stream, code, "%s: %s", request->method, why);
		return;
	}
	call = calloc(1, sizeof(*call));
	if (!call) {
		quota_end_call(peer->quota_user);
		call_refuse(peer, stream, CALL_ERROR_INTERNAL, "out of memory");
		return;
	}

	call->peer = peer;
	call->identity = peer->identity;
	call->context = peer->server->context;
	call->method_id = id;
	call->method = method_get(id);
	call->stream = stream;
	call->credit_bytes = FRAME_CREDIT_START;
	call->deadline_ns = find_deadline_ns(call->method, request->deadline_ms);
	LIST_INSERT_HEAD(&peer->calls, call, link);
	if (call->deadline_ns != UINT64_MAX)
		server_due(peer->server, call->deadline_ns);
	call_invoke(call, request, input);
}
