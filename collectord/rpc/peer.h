// SPDX-License-Identifier: Apache-2.0
/*
 * One connection and the calls in it, shared by the files of this directory only.
 *
 * A peer is owned by its server and, once closing, by the loop: its memory goes in the
 * close callback of its poll handle. A call is owned by its peer until it is over; one
 * whose client is gone while its handler still works is owned by that handler.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/buf.h"
#include "proto/methods.h"
#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/quota.h"
#include "rpc/server.h"

/* Above this many bytes waiting for a client, nothing more is queued, and nothing more is read from it. */
#define PEER_QUEUE_BYTES (1024u * 1024)
#define PEER_HELLO_NS 10000000000ull /* a connection that has not said Hello by then is closed */
#define PEER_FRAME_NS 10000000000ull /* from the first bytes of a frame to its last */
#define PEER_YIELD_NS NSEC_PER_MSEC  /* the loop turns before a timer of so long, and not before one of less */
#define PEER_LINGER_NS 2000000000ull /* how long a last word may take to be read */

struct peer {
	LIST_ENTRY(peer) link; /* in the server */
	struct server *server;
	uv_poll_t poll;
	int fd;
	struct quota_user *quota_user; /* charged with one connection */
	struct call_identity identity;
	uint32_t peer_uid; /* of the process at the other end, whoever it acts for */

	bool is_greeted;
	bool has_asked;	    /* for more than a greeting */
	bool is_ending;	    /* the last word is queued: nothing is read any more */
	bool is_closed;	    /* waits for the loop only */
	bool is_in_turn;    /* peer_on_poll() watches when it ends, once */
	int watched;	    /* events that the loop waits for */
	uint64_t asked_ns;  /* when it last asked for something, or had an answer's end; it is idle since, if it is */
	uint64_t until_ns;  /* the end of its user's time in this turn of the loop */
	uint64_t due_ns;    /* Hello, or the end of an ending connection, is due; 0: nothing is */
	uint64_t resume_ns; /* reading pauses until then, by the user's rate or time; 0: it does not */

	uint64_t rest_due_ns; /* of half a frame; 0: there is none, or it is not read on */

	struct buf in;	/* bytes read, not yet a whole frame, or not yet to be looked at */
	struct buf out; /* frames not yet written, from out_start on; charged to the user */
	size_t out_start;

	uint32_t last_stream; /* streams are numbered upwards, so that a late frame never meets the wrong one */
	LIST_HEAD(, call) calls;
};

/** peer_open() - for a connected socket of an identified user. Return: 0 (the peer owns fd and charge), or -errno */
int peer_open(struct server *server, int fd, const struct call_identity *identity, uint32_t peer_uid,
	      struct quota_user *quota_user, struct peer **ret_peer);
/** peer_start() - begin to read, once the server knows the peer */
void peer_start(struct peer *peer);
/** peer_look() - a turn of it now, not when the loop tells that it has something to say */
void peer_look(struct peer *peer);
/** peer_close() - at once; closing twice is harmless */
void peer_close(struct peer *peer);
/** peer_end() - say why, end all calls, and close when that was read */
void peer_end(struct peer *peer, enum call_error code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/** peer_make_room() - say that others need its place, and close at once */
void peer_make_room(struct peer *peer);
/** peer_check() - do what is due. Return: when to look again, UINT64_MAX for never */
uint64_t peer_check(struct peer *peer, uint64_t now_ns);

/* For calls: frames were appended to peer->out, n bytes of them. */
void peer_queued(struct peer *peer, size_t n);
bool peer_has_room(const struct peer *peer);

/** call_start() - the check order from the service on: access, quota, body, handler */
void call_start(struct peer *peer, uint32_t stream, const struct frame_request *request);
/** call_refuse() - answer a request that never became a call */
void call_refuse(struct peer *peer, uint32_t stream, enum call_error code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
struct call *call_find(struct peer *peer, uint32_t stream);
void call_add_credit(struct call *call, uint32_t n_bytes);
/** call_is_any_working() - whether a call is under way that is not parked */
bool call_is_any_working(const struct peer *peer);
/** call_resume_all() - the parked ones, either streams or those with one reply, oldest first. peer may be closed then
 */
void call_resume_all(struct peer *peer, bool are_streams);
/** call_cancel() - first: ask to finish, where the handler listens; else and again: end it */
void call_cancel(struct call *call, uint64_t now_ns);
/** call_find_due() - a call whose deadline has passed, or NULL with *next_ns lowered to the next one */
struct call *call_find_due(struct peer *peer, uint64_t now_ns, uint64_t *next_ns);
/** call_expire() - its deadline has passed */
void call_expire(struct call *call);
/** call_drop_all() - the connection is over */
void call_drop_all(struct peer *peer);
/** call_wake_waiting() - tell each call that asked and can reply again */
void call_wake_waiting(struct peer *peer);
/** call_is_any_to_wake() - whether there is one */
bool call_is_any_to_wake(struct peer *peer);
struct peer *call_peer(struct call *call);

/* Of the server, for the above. */
/** server_due() - have everything checked at this time, at the latest */
void server_due(struct server *server, uint64_t at_ns);
/** server_peer_gone() - forget a closed peer */
void server_peer_gone(struct server *server, struct peer *peer);
/** server_looked() - requests were looked at, of one peer or several */
void server_looked(struct server *server);
/** server_answered() - a peer has been sent all it asked for */
void server_answered(struct server *server);
/** server_room_back() - a user or everybody may queue again */
void server_room_back(struct server *server);
/** server_handle_closed() - the loop has let go of a peer */
void server_handle_closed(struct server *server);
