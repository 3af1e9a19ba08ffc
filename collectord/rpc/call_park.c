// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "clock.h"
#include "rpc/body.h"
#include "rpc/call_state.h"
#include "rpc/server_state.h"

static void parked_closed(struct call *call, void *data)
{
	(void)data;
	free(call->parked);
	call->parked = NULL;
}

bool call_park(struct call *call)
{
	const struct frame_request *request = call->request;
	struct parked *parked;

	assert(request && !call->parked); /* only the handler may park, and only at its start */
	parked = malloc(sizeof(*parked) + request->message_bytes);
	if (!parked)
		return false;
	parked->n = request->message_bytes;
	if (parked->n)
		memcpy(parked->bytes, request->message, parked->n);
	call->parked = parked;
	call_on_close(call, parked_closed, NULL);
	return true;
}

static struct call *find_parked(struct peer *peer, bool is_stream)
{
	struct call *call, *oldest = NULL;

	LIST_FOREACH(call, &peer->calls, link)
	{
		if (call->parked && call->method->is_stream == is_stream)
			oldest = call; /* the list has the newest first */
	}
	return oldest;
}

bool call_is_any_working(const struct peer *peer)
{
	struct call *call;

	LIST_FOREACH(call, &peer->calls, link)
	{
		if (!call->parked)
			return true;
	}
	return false;
}

static void call_resume(struct call *call)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(freep) struct parked *parked = TAKE_PTR(call->parked);
	const struct frame_request request = { .message = parked->bytes, .message_bytes = parked->n };
	char why[BODY_WHY_BYTES];
	ProtobufCMessage *input;
	enum call_error code;

	call_on_close(call, NULL, NULL);
	code = body_unpack(call->method->request, parked->bytes, parked->n, &arena, why, &input);
	if (code)
		call_fail(call, code, "%s: %s", call->method->name, why);
	else
		call_invoke(call, &request, input);
}

void call_resume_all(struct peer *peer, bool are_streams)
{
	uint64_t before_ns = clock_now_ns();
	struct call *call;

	/* A handler may end any call, so the list is searched again each time. */
	while (!peer->is_closed && (call = find_parked(peer, are_streams)))
		call_resume(call);
	quota_take_time(&peer->server->quota, peer->quota_user, clock_now_ns() - before_ns, clock_now_ns());
}
