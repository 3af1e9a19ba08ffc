// SPDX-License-Identifier: Apache-2.0
/*
 * Handler of Hello: the versions of both sides, and the user for whom the connection acts. Its subject is the
 * connection itself.
 */
#include <unistd.h>

#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/handlers.h"
#include "rpc/peer.h"
#include "rpc/server_state.h"

#define PROGRAM "ingero-collectord " INGERO_VERSION

void rpc_query_hello(struct call *call, const Ingero__V1__HelloRequest *input)
{
	struct peer *peer = call_peer(call);
	Ingero__V1__HelloReply reply = INGERO__V1__HELLO_REPLY__INIT;

	if (input->protocol_major != FRAME_PROTOCOL_MAJOR) {
		call_fail(call, CALL_ERROR_VERSION,
			  "ingero-collectord %s speaks version %d of the protocol and the client version %u; "
			  "install both from the same release",
			  INGERO_VERSION, FRAME_PROTOCOL_MAJOR, input->protocol_major);
		peer_end(peer, CALL_ERROR_VERSION, "no common version");
		return;
	}
	if (input->has_on_behalf_of && peer->peer_uid != 0) {
		call_fail(call, CALL_ERROR_NOT_ALLOWED, "only root may act for another user; uid %u may not",
			  peer->peer_uid);
		return;
	}

	if (input->has_on_behalf_of)
		peer->identity = access_act_for(&peer->identity, input->on_behalf_of_uid, input->on_behalf_of_gids,
						input->n_on_behalf_of_gids, &peer->server->groups);
	peer->is_greeted = true;
	peer->due_ns = 0;

	reply.protocol_major = FRAME_PROTOCOL_MAJOR;
	reply.protocol_minor = FRAME_PROTOCOL_MINOR;
	reply.program = (char *)PROGRAM;
	reply.pid = (uint32_t)getpid();
	reply.caller_uid = peer->identity.uid;
	reply.can_read_all = peer->identity.can_read_all;
	call_answer(call, &reply.base);
}
