// SPDX-License-Identifier: Apache-2.0
/*
 * Clients that do not read what they asked for, or go away in the middle of it.
 */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "raw.h"
#include "rpc/peer.h"
#include "rpc/quota.h"
#include "rpc/server_state.h"
#include "tests/support/check.h"

#define METHOD_OPERATIONS "ingero.v1.Query.Operations"

/* ---- slow readers ---- */

/* Takes every whole REPLY of a stream; anything else stays. */
static unsigned int count_replies(struct raw *raw, uint64_t *bytes)
{
	unsigned int n = 0;
	struct frame frame;

	while (raw_next(raw, &frame) == RAW_FRAME && frame.type == FRAME_REPLY) {
		n++;
		*bytes += frame.body_bytes;
	}
	return n;
}

static void test_credit(void)
{
	struct toy toy;
	struct raw raw;
	uint64_t bytes = 0;
	unsigned int n;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw_send_trace(&raw, 2, TOY_FLOOD, 0, 10000);
	raw_settle(&raw);
	n = count_replies(&raw, &bytes);
	CHECK_INT_EQ("credit used up", n, toy.n_replies);
	CHECK_INT_EQ("the one more that there was no credit for", toy.n_refused, 1);
	CHECK_INT_IN("bytes, the last message may overshoot", bytes, FRAME_CREDIT_START, FRAME_CREDIT_START + 11000);
	CHECK_INT_EQ("nothing to hear yet", toy.n_drains, 0);

	/* Not enough to make up for what the last message took too much. */
	raw_send_credit(&raw, 2, 1);
	raw_settle(&raw);
	CHECK_INT_EQ("one byte of credit", toy.n_drains, bytes == FRAME_CREDIT_START);

	raw_send_credit(&raw, 2, (uint32_t)bytes);
	raw_settle(&raw);
	CHECK_INT_EQ("credit is back", toy.n_drains, 1);
	n += count_replies(&raw, &bytes);
	CHECK_INT_EQ("everything queued arrives", n, toy.n_replies);
	CHECK_INT_IN("bytes of both credits", bytes, 2 * FRAME_CREDIT_START, 2 * FRAME_CREDIT_START + 22000);

	/* For a stream that is over or never was it means nothing. */
	raw_send_credit(&raw, 9, 1000);
	raw_settle(&raw);
	raw_expect_nothing("credit for nobody", &raw);
	raw_close(&raw);
	toy_close(&toy);
}

static void test_credit_cap(void)
{
	struct toy toy;
	struct raw raw;
	uint64_t bytes = 0;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw_send_trace(&raw, 2, TOY_STOPPABLE, 0, 10);
	raw_settle(&raw);
	raw_expect_reply("start", &raw, 2);
	for (int i = 0; i < 10; i++)
		raw_send_credit(&raw, 2, UINT32_MAX);
	raw_send_trace(&raw, 3, TOY_FLOOD, 0, 100000);
	raw_send_credit(&raw, 3, UINT32_MAX);
	raw_settle(&raw);
	(void)count_replies(&raw, &bytes);
	/* Reading goes on while writing does, so this only ends because credit cannot be heaped up. */
	CHECK_INT_IN("credit given at once is capped", bytes, FRAME_CREDIT_MAX,
		     FRAME_CREDIT_MAX + 2 * FRAME_CREDIT_START);
	raw_close(&raw);
	toy_close(&toy);
}

/* A reader that reads nothing, with credit on many streams that want to send at the same moment. */
static void test_queue_cap(void)
{
	enum { STREAMS = 8, PIECE_BYTES = 100000 };
	struct toy toy;
	struct raw raw;
	uint64_t bytes = 0;
	unsigned int n;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (uint32_t stream = 2; stream < 2 + STREAMS; stream++)
		raw_send_trace(&raw, stream, TOY_ON_DEMAND, 0, PIECE_BYTES);
	raw_settle(&raw);
	raw.holds_reading = true;
	toy_flood(&toy);
	/* Nothing was written yet: the queue of the connection is the limit, and not eight credits. */
	CHECK_INT_IN("queued at once", (uint64_t)toy.n_replies * PIECE_BYTES, PEER_QUEUE_BYTES - PIECE_BYTES,
		     PEER_QUEUE_BYTES + PIECE_BYTES);
	CHECK_INT_EQ("each stream was refused", toy.n_refused, STREAMS);

	/* The socket takes some, and each has its turn again; reading nothing, it ends there. */
	raw_settle(&raw);
	toy_flood(&toy);
	raw_settle(&raw);
	n = toy.n_replies;
	toy_flood(&toy);
	raw_settle(&raw);
	CHECK_INT_EQ("nothing more without reading", toy.n_replies, n);

	raw.holds_reading = false;
	for (int i = 0; i < 20; i++) {
		raw_settle(&raw);
		toy_flood(&toy);
	}
	raw_settle(&raw);
	n = count_replies(&raw, &bytes);
	CHECK_INT_EQ("everything queued arrives", n, toy.n_replies);
	CHECK_INT_IN("all credit was used", bytes, STREAMS * FRAME_CREDIT_START,
		     STREAMS * (FRAME_CREDIT_START + PIECE_BYTES + 100));
	raw_close(&raw);
	toy_close(&toy);
}

static void spend(struct toy *toy)
{
	(void)toy;
	raw_spent_ns += QUOTA_USER_TURN_NS / 2;
	raw_now_ns += QUOTA_USER_TURN_NS / 2;
}

/* What one user has waiting is limited over all his connections, and room that comes back is told to all of them. */
static void test_user_queue_cap(void)
{
	enum { PEERS = 12, PIECE_BYTES = 100000 };
	struct raw raws[PEERS];
	const struct quota *quota;
	struct toy toy;
	uint64_t queued;
	bool is_told;

	toy_open(&toy);
	for (size_t i = 0; i < PEERS; i++) {
		raw_open_greeted(&raws[i], &toy);
		raw_send_trace(&raws[i], 2, TOY_ON_DEMAND, 0, PIECE_BYTES);
		raw_settle(&raws[i]);
	}
	toy_flood(&toy);
	queued = (uint64_t)toy.n_replies * PIECE_BYTES;
	CHECK_INT_IN("queued for one user", queued, QUOTA_USER_QUEUED_BYTES - PEERS * PIECE_BYTES,
		     QUOTA_USER_QUEUED_BYTES + PIECE_BYTES);
	CHECK_INT_EQ("nobody was told anything yet", toy.n_drains, 0);

	/* All of these sockets but the last are closed, so that only room of others can be what it is told of. */
	for (size_t i = 0; i < PEERS - 1; i++)
		raw_close(&raws[i]);
	raws[PEERS - 1].holds_reading = true;
	toy.on_drain = spend;
	(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	CHECK_INT_EQ("others are gone", toy.n_peers_closed, PEERS - 1);
	is_told = toy.n_drains >
		  0; /* by the server's timer, which fires behind the poll since libuv 1.45: that turn is over */
	server_check(toy.server);
	CHECK_INT_IN("who was refused hears of it", toy.n_drains, 1, PEERS);
	quota = &toy.server->quota;
	if (!is_told)
		CHECK_INT_EQ("and pays for what is done then", quota_turn_left_ns(quota, quota->users[0]),
			     QUOTA_USER_TURN_NS - MIN(toy.n_drains * QUOTA_USER_TURN_NS / 2, QUOTA_USER_TURN_NS));
	toy.on_drain = NULL;
	raw_settle(&raws[PEERS - 1]);
	toy_close(&toy);
	raw_close(&raws[PEERS - 1]);
}

/* Requests without end by somebody who reads no answer: reading stops, so memory does not grow. */
static void test_request_flood(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct toy toy;
	struct raw raw;
	uint32_t stream = 2;
	bool is_held = false;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw.holds_reading = true;
	while (!is_held && stream < 1000) {
		uint8_t *p = frame_reserve(&out, FRAME_REQUEST, stream, frame_request_bytes(METHOD_OPERATIONS) + 2);

		memcpy(frame_request_write(p, METHOD_OPERATIONS, 0), (const uint8_t[]){ 0x08, TOY_LARGE }, 2);
		stream++;
		is_held = send(raw.fd, out.data, out.n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0;
		out.n = 0;
		for (int i = 0; i < 3; i++)
			(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	}
	CHECK("the socket is full, not the server", is_held);
	raw_close(&raw);
	toy_close(&toy);
}

static void test_vanishing(void)
{
	static const struct {
		const char *name;
		enum toy_trace kind;
		bool reads; /* before it goes */
	} cases[] = {
		{ "while nothing is queued", TOY_STOPPABLE, true },
		{ "while the socket is full", TOY_FLOOD, false },
		{ "while credit is used up", TOY_FLOOD, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy toy;
		struct raw raw;

		toy_open(&toy);
		raw_open_greeted(&raw, &toy);
		raw.holds_reading = !cases[i].reads;
		raw_send_trace(&raw, 2, cases[i].kind, 0, 100000);
		raw_settle(&raw);
		raw_close(&raw);
		for (int k = 0; k < 4; k++)
			(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
		CHECK_INT_EQ(cases[i].name, toy.n_closes, 1);
		CHECK_INT_EQ(cases[i].name, toy.n_peers_closed, 1);
		CHECK_INT_EQ(cases[i].name, toy.n_idle, 1);
		toy_close(&toy);
	}
}

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_credit();
	test_credit_cap();
	test_queue_cap();
	test_user_queue_cap();
	test_request_flood();
	test_vanishing();
	return check_result();
}
