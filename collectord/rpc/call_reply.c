// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "rpc"
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "rpc/call_state.h"

static bool has_room(const struct call *call)
{
	return call->credit_bytes > 0 && peer_has_room(call->peer);
}

bool call_can_reply(const struct call *call)
{
	/* Replies to a client that is gone are dropped, so there is always room. */
	if (!call->peer || has_room(call))
		return true;
	((struct call *)call)->is_waiting = true; /* a caller that found no room is notified later */
	return false;
}

/* Appends a message, or n packed bytes. */
static int call_append_reply(struct call *call, const ProtobufCMessage *message, const void *bytes, size_t n)
{
	struct peer *peer = call->peer;
	size_t before;
	uint8_t *p;

	if (!call_can_reply(call))
		return -ENOBUFS;
	if (message)
		n = protobuf_c_message_get_packed_size(message);
	if (n > FRAME_SERVER_BODY_MAX) {
		(void)log_debug("'%s' made a message of %zu bytes, which is not sent", call->method->name, n);
		return -EMSGSIZE;
	}

	before = peer->out.n;
	p = frame_reserve(&peer->out, FRAME_REPLY, call->stream, n);
	if (!p)
		return -ENOMEM;
	if (message)
		(void)protobuf_c_message_pack(message, p);
	else if (bytes)
		memcpy(p, bytes, n);
	call->credit_bytes -= (int64_t)n;
	peer_queued(peer, peer->out.n - before);
	return 0;
}

static int call_reply_any(struct call *call, const ProtobufCMessage *message, const void *bytes, size_t n)
{
	int r;

	assert(!call->is_over); /* a handler answers once */
	if (!call->peer)
		return -EPIPE;
	r = call_append_reply(call, message, bytes, n);
	if (r == 0 && !call->method->is_stream)
		call_end(call);
	return r;
}

int call_reply(struct call *call, const ProtobufCMessage *message)
{
	return call_reply_any(call, message, NULL, 0);
}

int call_reply_packed(struct call *call, const void *bytes, size_t n)
{
	return call_reply_any(call, NULL, bytes, n);
}

void call_answer(struct call *call, const ProtobufCMessage *message)
{
	int r = call_reply(call, message);

	if (r == -ENOBUFS)
		call_fail(call, CALL_ERROR_QUOTA, "too many answers are waiting to be read; read them first");
	else if (r == -EMSGSIZE)
		call_fail(call, CALL_ERROR_INTERNAL, "the answer is larger than a message may be; ask for less");
	else if (r)
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
}

void call_on_drain(struct call *call, call_drain_func func, void *data)
{
	call->on_drain = func;
	call->on_drain_data = data;
}

static struct call *find_waiting(struct peer *peer)
{
	struct call *call;

	LIST_FOREACH(call, &peer->calls, link)
	{
		if (call->is_waiting && call->on_drain && has_room(call))
			return call;
	}
	return NULL;
}

void call_wake_waiting(struct peer *peer)
{
	struct call *call;

	/* A handler may end any call, so the list is searched again each time. */
	while (!peer->is_closed && (call = find_waiting(peer))) {
		call->is_waiting = false;
		call->on_drain(call, call->on_drain_data);
	}
}

bool call_is_any_to_wake(struct peer *peer)
{
	return !peer->is_closed && find_waiting(peer);
}

void call_add_credit(struct call *call, uint32_t n_bytes)
{
	call->credit_bytes = MIN(call->credit_bytes + n_bytes, (int64_t)FRAME_CREDIT_MAX);
}
