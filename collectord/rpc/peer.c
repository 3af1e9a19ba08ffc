// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "rpc"
#include "rpc/peer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"
#include "rpc/peer_read.h"
#include "rpc/server_state.h"

static size_t peer_pending_bytes(const struct peer *peer)
{
	return peer->out.n - peer->out_start;
}

bool peer_has_room(const struct peer *peer)
{
	return peer_pending_bytes(peer) < PEER_QUEUE_BYTES && quota_has_room(&peer->server->quota, peer->quota_user);
}

bool peer_may_read(const struct peer *peer)
{
	return !peer->is_ending && !peer->resume_ns && peer_pending_bytes(peer) < PEER_QUEUE_BYTES;
}

static void peer_on_poll(uv_poll_t *poll, int status, int events);

/*
 * Sets the poll events to what can be handled now; a peer that is not read from is still watched for its end. Each
 * change costs two system calls, as much as a small request, so it is made only when needed.
 */
static void peer_watch(struct peer *peer)
{
	int events = peer_may_read(peer) ? UV_READABLE : UV_DISCONNECT;

	if (peer_pending_bytes(peer))
		events |= UV_WRITABLE;
	if (events == peer->watched || peer->is_in_turn)
		return;
	peer->watched = events;
	if (uv_poll_start(&peer->poll, events, peer_on_poll))
		peer_close(peer);
}

static void peer_on_closed(uv_handle_t *handle)
{
	struct peer *peer = handle->data;
	struct server *server = peer->server;

	assert(peer->is_closed && LIST_EMPTY(&peer->calls));
	buf_done(&peer->in);
	buf_done(&peer->out);
	free(peer);
	server_handle_closed(server);
}

void peer_close(struct peer *peer)
{
	size_t pending = peer_pending_bytes(peer);

	if (peer->is_closed)
		return;

	peer->is_closed = true;
	peer->out_start = peer->out.n;
	call_drop_all(peer);
	(void)uv_poll_stop(&peer->poll);
	uv_close((uv_handle_t *)&peer->poll, peer_on_closed);
	(void)close(peer->fd);

	if (quota_unqueue(&peer->server->quota, peer->quota_user, pending))
		server_room_back(peer->server);
	quota_disconnect(&peer->server->quota, peer->quota_user);
	server_peer_gone(peer->server, peer);
}

/* ---- writing ---- */

void peer_queued(struct peer *peer, size_t n)
{
	if (peer->is_closed)
		return;
	quota_queue(&peer->server->quota, peer->quota_user, n);
	peer_watch(peer);
}

/* Sent bytes stay at the front of the buffer until they are the larger part: moving the rest each time costs more. */
static void peer_forget_sent(struct peer *peer)
{
	if (peer->out_start == peer->out.n) {
		buf_done(&peer->out);
		peer->out_start = 0;
	} else if (peer->out_start >= peer->out.n / 2) {
		buf_consume(&peer->out, peer->out_start);
		peer->out_start = 0;
	}
}

static int peer_write(struct peer *peer)
{
	size_t pending = peer_pending_bytes(peer);
	ssize_t n;

	if (!pending)
		return 0;
	n = send(peer->fd, peer->out.data + peer->out_start, pending, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;

	peer->out_start += (size_t)n;
	peer_forget_sent(peer);
	if (quota_unqueue(&peer->server->quota, peer->quota_user, (size_t)n))
		server_room_back(peer->server);
	return 0;
}

void peer_end(struct peer *peer, enum call_error code, const char *fmt, ...)
{
	char text[FRAME_TEXT_MAX + 1];

	if (peer->is_closed || peer->is_ending)
		return;

	FORMAT_INTO(text, sizeof(text), fmt);
	log_debug("closing connection of pid %u: %s", peer->identity.peer_pid, text);

	peer->is_ending = true;
	peer->rest_due_ns = 0;
	peer->due_ns = clock_now_ns() + PEER_LINGER_NS;
	server_due(peer->server, peer->due_ns);
	call_drop_all(peer);
	call_refuse(peer, 0, code, "%s", text);
}

void peer_make_room(struct peer *peer)
{
	peer_end(
		peer, CALL_ERROR_QUOTA,
		"all connections are in use, and this one of uid %u was closed to let another client in; connect again",
		peer->peer_uid);
	if (!peer->is_closed)
		(void)peer_write(peer); /* text that does not fit is dropped */
	peer_close(peer);
}

static int peer_flush(struct peer *peer)
{
	int r = peer_write(peer);

	if (r)
		return r;
	call_wake_waiting(peer);
	if (!peer->is_closed && peer->has_asked && !peer_pending_bytes(peer) && !call_is_any_working(peer))
		server_answered(peer->server);
	return 0;
}

static int peer_turn(struct peer *peer, int status, int events)
{
	bool had_pending = peer_pending_bytes(peer) != 0;
	int r;

	if (status < 0)
		return status;
	if (events & UV_WRITABLE) {
		r = peer_flush(peer);
		if (r)
			return r;
	}
	if (peer->is_closed)
		return 0;
	if ((events & UV_DISCONNECT) && !peer_may_read(peer))
		return -EPIPE;
	if (peer->is_ending)
		return peer_pending_bytes(peer) ? 0 : -ENODATA;

	if (!(events & UV_READABLE) || !peer_may_read(peer)) {
		peer_read_kept(peer);
		return 0;
	}
	r = peer_read(peer);
	if (r == 0 && !peer->is_closed && !peer->is_ending && !had_pending && peer_pending_bytes(peer))
		return peer_flush(peer); /* at once: other peers may take long before the next turn */
	if (r != -EPROTO)
		return r;
	peer_end(peer, CALL_ERROR_PROTOCOL, "file descriptors were sent, but no request accepts them");
	return 0;
}

/* Return: whether the peer's user has time left in this turn of the loop */
static bool peer_turn_begin(struct peer *peer)
{
	uint64_t left_ns = quota_turn_left_ns(&peer->server->quota, peer->quota_user);

	peer->until_ns = clock_now_ns() + left_ns;
	return left_ns != 0;
}

/*
 * The charged time is the elapsed time that other peers waited, which on a busy machine exceeds the CPU time; at most
 * this many times the CPU time, since the user does not cause the load.
 */
#define BUSY_FACTOR 4
static void peer_turn_end(struct peer *peer, uint64_t began_ns, uint64_t before_ns)
{
	uint64_t now_ns = clock_now_ns(), spent_ns = clock_spent_ns() - before_ns;

	quota_take_time(&peer->server->quota, peer->quota_user, MIN(now_ns - began_ns, BUSY_FACTOR * spent_ns), now_ns);
}

static void peer_take_turn(struct peer *peer, int status, int events)
{
	uint64_t began_ns, before_ns;

	if (!peer_turn_begin(peer))
		return; /* the loop reports pending events again in the next turn */
	began_ns = clock_now_ns();
	before_ns = clock_spent_ns();
	peer->is_in_turn = true;
	if (peer_turn(peer, status, events))
		peer_close(peer);
	peer->is_in_turn = false;
	peer_turn_end(peer, began_ns, before_ns);
	if (!peer->is_closed)
		peer_watch(peer);
	server_looked(peer->server);
}

static void peer_on_poll(uv_poll_t *poll, int status, int events)
{
	peer_take_turn(poll->data, status, events);
}

/* Wakes a peer outside of its turn; a turn is charged as a whole. */
static void peer_wake(struct peer *peer)
{
	uint64_t began_ns, before_ns;

	if (!call_is_any_to_wake(peer))
		return;
	began_ns = clock_now_ns();
	before_ns = clock_spent_ns();
	call_wake_waiting(peer);
	peer_turn_end(peer, began_ns, before_ns);
}

/* Resumes a peer that was paused. */
static void peer_go_on(struct peer *peer, uint64_t now_ns)
{
	uint64_t began_ns, before_ns;

	if (!peer_turn_begin(peer)) {
		peer->resume_ns = now_ns + PEER_YIELD_NS;
		return;
	}
	began_ns = clock_now_ns();
	before_ns = clock_spent_ns();
	peer->resume_ns = 0;
	peer_read_kept(peer);
	peer_turn_end(peer, began_ns, before_ns);
}

/* What came while the loop was held, as it is while programs are loaded, was in time. */
static void peer_look_late(struct peer *peer, uint64_t now_ns)
{
	bool is_late = (peer->due_ns && peer->due_ns <= now_ns) || (peer->rest_due_ns && peer->rest_due_ns <= now_ns);

	if (is_late && !peer->is_ending)
		peer_look(peer);
}

uint64_t peer_check(struct peer *peer, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	struct call *call;

	peer_look_late(peer, now_ns);
	if (peer->is_closed)
		return UINT64_MAX;
	if (peer->due_ns && peer->due_ns <= now_ns) {
		if (peer->is_ending) {
			peer_close(peer);
			return UINT64_MAX;
		}
		peer_end(peer, CALL_ERROR_DEADLINE, "no %s was received in time", FRAME_HELLO_METHOD);
	}
	if (peer->rest_due_ns && peer->rest_due_ns <= now_ns && !peer->is_ending)
		peer_end(peer, CALL_ERROR_DEADLINE, "the rest of a frame was not received in time");
	if (peer->resume_ns && peer->resume_ns <= now_ns)
		peer_go_on(peer, now_ns);
	/* A handler may end any call, so the list is searched again each time. */
	while (!peer->is_closed && (call = call_find_due(peer, now_ns, &next_ns)))
		call_expire(call);
	peer_wake(peer);
	if (peer->is_closed)
		return UINT64_MAX;

	peer_watch(peer);
	if (peer->due_ns)
		next_ns = MIN(next_ns, peer->due_ns);
	if (peer->resume_ns)
		next_ns = MIN(next_ns, peer->resume_ns);
	if (peer->rest_due_ns)
		next_ns = MIN(next_ns, peer->rest_due_ns);
	return next_ns;
}

int peer_open(struct server *server, int fd, const struct call_identity *identity, uint32_t peer_uid,
	      struct quota_user *quota_user, struct peer **ret_peer)
{
	CLEANUP(freep) struct peer *peer = calloc(1, sizeof(*peer));
	int r;

	if (!peer)
		return -ENOMEM;
	peer->server = server;
	peer->fd = fd;
	peer->identity = *identity;
	peer->peer_uid = peer_uid;
	peer->quota_user = quota_user;
	LIST_INIT(&peer->calls);
	r = uv_poll_init(server->loop, &peer->poll, fd);
	if (r)
		return r;

	peer->poll.data = peer;
	*ret_peer = TAKE_PTR(peer);
	return 0;
}

void peer_start(struct peer *peer)
{
	peer->asked_ns = clock_now_ns();
	peer->due_ns = peer->asked_ns + PEER_HELLO_NS;
	server_due(peer->server, peer->due_ns);
	peer_watch(peer);
}

void peer_look(struct peer *peer)
{
	peer_take_turn(peer, 0, UV_READABLE);
}
