// SPDX-License-Identifier: Apache-2.0
/*
 * State of a call, for call.c, call_reply.c and call_park.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proto/methods.h"
#include "rpc/call.h"
#include "rpc/peer.h"

/* A parked request, to be handled again: its handler needs something that is not ready. */
struct parked {
	size_t n;
	uint8_t bytes[];
};

struct call {
	LIST_ENTRY(call) link; /* in the peer */
	struct peer *peer;     /* NULL: the client is gone and the handler does not know */
	struct call_identity identity;
	void *context;
	enum method_id method_id;
	const struct method *method;
	uint32_t stream;
	int64_t credit_bytes;		     /* below zero after a reply larger than the rest */
	uint64_t deadline_ns;		     /* UINT64_MAX: none */
	bool is_over;			     /* the last answer was given */
	bool is_starting;		     /* its handler is running: keep the memory */
	bool is_stopping;		     /* the client asked it to finish */
	bool is_waiting;		     /* found no credit or no room, and was not called back since */
	bool has_lease;			     /* charged with a lease */
	size_t kept_bytes;		     /* charged: copies of figures */
	const struct frame_request *request; /* only while its handler is being called */
	struct parked *parked;		     /* NULL: not parked */

	call_close_func on_close;
	void *on_close_data;
	call_stop_func on_stop;
	void *on_stop_data;
	call_drain_func on_drain;
	void *on_drain_data;
};

/** call_invoke() - call the handler; afterwards the call may have ended, or its client gone */
void call_invoke(struct call *call, const struct frame_request *request, const ProtobufCMessage *input);
