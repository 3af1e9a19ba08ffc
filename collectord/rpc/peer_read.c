// SPDX-License-Identifier: Apache-2.0
#include "rpc/peer_read.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "rpc/server_state.h"

#define READ_BYTES 65536 /* per turn of the loop, so that one peer leaves time for others */

static void peer_request(struct peer *peer, const struct frame *frame, enum quota_rate rate)
{
	struct frame_request request;
	bool is_hello;

	peer->asked_ns = clock_now_ns();
	/* A refused request also uses up its stream number, so that answers are never mixed up. */
	if (frame->stream <= peer->last_stream) {
		peer_end(peer, CALL_ERROR_PROTOCOL, "stream %u was used before; streams are numbered upwards from 1",
			 frame->stream);
		return;
	}
	peer->last_stream = frame->stream;
	if (rate != QUOTA_RATE_OK) {
		call_refuse(peer, frame->stream, CALL_ERROR_RATE, "uid %u sends too many requests; wait a second",
			    peer->peer_uid);
		return;
	}
	if (frame_request_parse(frame, &request) != FRAME_OK) {
		call_refuse(peer, frame->stream, CALL_ERROR_PROTOCOL, "the request does not name a method");
		return;
	}
	is_hello = strcmp(request.method, FRAME_HELLO_METHOD) == 0;
	if (is_hello == peer->is_greeted) {
		peer_end(peer, CALL_ERROR_PROTOCOL, "%s must be the first request, and only the first",
			 FRAME_HELLO_METHOD);
		return;
	}
	peer->has_asked |= !is_hello;
	call_start(peer, frame->stream, &request);
}

static void peer_frame(struct peer *peer, const struct frame *frame, enum quota_rate rate)
{
	struct call *call;
	uint32_t n_bytes;

	switch (frame->type) {
	case FRAME_REQUEST:
		peer_request(peer, frame, rate);
		return;
	case FRAME_CREDIT:
		if (frame_credit_parse(frame, &n_bytes) != FRAME_OK)
			break;
		call = call_find(peer, frame->stream); /* NULL: the call ended while the frame was on its way */
		if (call) {
			call_add_credit(call, n_bytes);
			call_wake_waiting(peer);
		}
		return;
	case FRAME_CANCEL:
		if (frame->body_bytes)
			break;
		call = call_find(peer, frame->stream);
		if (call)
			call_cancel(call, clock_now_ns());
		return;
	case FRAME_REPLY:
	case FRAME_END:
		break;
	}
	peer_end(peer, CALL_ERROR_PROTOCOL, "a client may not send a frame of type %d with %zu bytes", (int)frame->type,
		 frame->body_bytes);
}

static void peer_pause(struct peer *peer, uint64_t resume_ns)
{
	peer->resume_ns = resume_ns;
	server_due(peer->server, resume_ns);
}

/* A partial frame has a deadline: it occupies memory and the connection. */
static void peer_expect_rest(struct peer *peer)
{
	if (!peer->in.n || !peer_may_read(peer)) {
		peer->rest_due_ns = 0;
	} else if (!peer->rest_due_ns) {
		peer->rest_due_ns = clock_now_ns() + PEER_FRAME_NS;
		server_due(peer->server, peer->rest_due_ns);
	}
}

/* Handles every complete frame, as long as the peer may be read from. Return: bytes handled */
static size_t peer_process(struct peer *peer, const uint8_t *data, size_t n_data)
{
	size_t used = 0;

	while (!peer->is_closed && peer_may_read(peer) && used < n_data) {
		uint64_t resume_ns = 0;
		enum quota_rate rate;
		struct frame frame;
		size_t n;

		if (used && clock_now_ns() >= peer->until_ns) {
			peer_pause(peer, clock_now_ns() + PEER_YIELD_NS);
			break;
		}
		if (quota_must_wait(&peer->server->quota, peer->quota_user, clock_now_ns(), &resume_ns)) {
			peer_pause(peer, resume_ns);
			break;
		}
		switch (frame_decode(data + used, n_data - used, FRAME_CLIENT_BODY_MAX, &frame, &n)) {
		case FRAME_OK:
			used += n;
			peer->rest_due_ns = 0;
			rate = quota_take_frame(peer->quota_user, clock_now_ns(), &resume_ns);
			if (rate == QUOTA_RATE_PAUSE)
				peer_pause(peer, resume_ns);
			peer_frame(peer, &frame, rate);
			continue;
		case FRAME_SHORT:
			break;
		case FRAME_TOO_LARGE:
			peer_end(peer, CALL_ERROR_TOO_LARGE, "a frame for stream %u is larger than %u bytes",
				 frame.stream, FRAME_CLIENT_BODY_MAX);
			break;
		case FRAME_BAD:
			peer_end(peer, CALL_ERROR_PROTOCOL, "this is not a frame of ingero's protocol");
			break;
		}
		break;
	}
	return used;
}

void peer_read_kept(struct peer *peer)
{
	size_t used = peer_process(peer, peer->in.data, peer->in.n);

	if (used == peer->in.n)
		buf_done(&peer->in);
	else
		buf_consume(&peer->in, used);
	peer_expect_rest(peer);
}

int peer_read(struct peer *peer)
{
	static uint8_t shared[READ_BYTES]; /* used by the loop's thread only */
	struct iovec part = { .iov_base = shared, .iov_len = sizeof(shared) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	size_t used = 0;
	ssize_t n;

	n = recvmsg(peer->fd, &message, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ENODATA;
	if (message.msg_flags & MSG_CTRUNC) /* file descriptors were sent; the kernel closed them */
		return -EPROTO;

	if (!peer->in.n)
		used = peer_process(peer, shared, (size_t)n);
	if (peer->is_closed)
		return 0;
	if (used < (size_t)n && buf_append(&peer->in, shared + used, (size_t)n - used))
		return -ENOMEM;
	peer_read_kept(peer);
	return 0;
}
