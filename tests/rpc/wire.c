// SPDX-License-Identifier: Apache-2.0
/*
 * What the server makes of every kind of client but a good one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "ingero/v1/ingero.pb-c.h"
#include "raw.h"
#include "rpc/peer.h"
#include "rpc/server.h"
#include "tests/support/check.h"

#define METHOD_STATUS "ingero.v1.Query.Status"
#define METHOD_OPERATIONS "ingero.v1.Query.Operations"
#define BYTES(literal) (literal), sizeof(literal) - 1

/* ---- before the greeting, and greetings ---- */

static void test_hello(void)
{
	static const struct {
		const char *name;
		const char *method;
		uint32_t major;
		uint32_t stream_code; /* of stream 1, CALL_OK where it gets a reply */
		uint32_t last_code;   /* of stream 0, CALL_OK where the connection lives */
	} cases[] = {
		{ "greeting", FRAME_HELLO_METHOD, FRAME_PROTOCOL_MAJOR, CALL_OK, CALL_OK },
		{ "later version", FRAME_HELLO_METHOD, FRAME_PROTOCOL_MAJOR + 1, CALL_ERROR_VERSION,
		  CALL_ERROR_VERSION },
		{ "no version", FRAME_HELLO_METHOD, 0, CALL_ERROR_VERSION, CALL_ERROR_VERSION },
		{ "no greeting", METHOD_STATUS, 1, UINT32_MAX, CALL_ERROR_PROTOCOL },
		{ "unknown before greeting", "ingero.v1.Query.Nothing", 1, UINT32_MAX, CALL_ERROR_PROTOCOL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t body[2] = { 0x08, (uint8_t)cases[i].major };
		struct toy toy;
		struct raw raw;

		toy_open(&toy);
		raw_open(&raw, &toy);
		raw_send_request(&raw, 1, cases[i].method, 0, body, sizeof(body));
		raw_settle(&raw);
		if (cases[i].stream_code == CALL_OK)
			raw_expect_reply(cases[i].name, &raw, 1);
		if (cases[i].stream_code != UINT32_MAX)
			raw_expect_end(cases[i].name, &raw, 1, cases[i].stream_code);
		if (cases[i].last_code != CALL_OK) {
			raw_expect_end(cases[i].name, &raw, 0, cases[i].last_code);
			raw_expect_closed(cases[i].name, &raw);
		} else {
			raw_expect_nothing(cases[i].name, &raw);
		}
		raw_close(&raw);
		toy_close(&toy);
	}
}

static void test_second_hello(void)
{
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw_send_request(&raw, 2, FRAME_HELLO_METHOD, 0, "\x08\x01", 2);
	raw_settle(&raw);
	raw_expect_end("second greeting", &raw, 0, CALL_ERROR_PROTOCOL);
	raw_expect_closed("second greeting", &raw);
	raw_close(&raw);
	toy_close(&toy);
}

static void test_silent_client(void)
{
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open(&raw, &toy);
	raw_settle(&raw);
	raw_now_ns += PEER_HELLO_NS - 1;
	server_check(toy.server);
	raw_settle(&raw);
	raw_expect_nothing("still in time for a greeting", &raw);
	raw_now_ns += 1;
	server_check(toy.server);
	raw_settle(&raw);
	raw_expect_end("no greeting came", &raw, 0, CALL_ERROR_DEADLINE);
	raw_expect_closed("no greeting came", &raw);
	CHECK_INT_EQ("no greeting came", toy.n_peers_closed, 1);
	CHECK_INT_EQ("no greeting came", toy.n_idle, 1);
	raw_close(&raw);
	toy_close(&toy);
}

/* ---- bytes that make no sense ---- */

static void test_bad_bytes(void)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t n;
		uint32_t stream;
		uint32_t code;
		bool ends_connection;
	} cases[] = {
		{ "an HTTP client", BYTES("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0, CALL_ERROR_TOO_LARGE, true },
		{ "zeroes", BYTES("\0\0\0\0\0\0\0\0\0\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "one byte too long", BYTES("\x01\0\1\0\1\0\0\0\2\0\0\0"), 0, CALL_ERROR_TOO_LARGE, true },
		{ "4 GiB announced", BYTES("\xff\xff\xff\xff\1\0\0\0\2\0\0\0"), 0, CALL_ERROR_TOO_LARGE, true },
		{ "type 6", BYTES("\0\0\0\0\6\0\0\0\2\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "a flag", BYTES("\0\0\0\0\5\1\0\0\2\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "reserved bits", BYTES("\0\0\0\0\5\0\0\x80\2\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "a reply from a client", BYTES("\0\0\0\0\2\0\0\0\2\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "an end from a client", BYTES("\4\0\0\0\3\0\0\0\2\0\0\0\0\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "credit of three bytes", BYTES("\3\0\0\0\4\0\0\0\2\0\0\0\1\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "cancel with a body", BYTES("\1\0\0\0\5\0\0\0\2\0\0\0x"), 0, CALL_ERROR_PROTOCOL, true },
		{ "stream 0", BYTES("\0\0\0\0\1\0\0\0\0\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "stream of the greeting again", BYTES("\0\0\0\0\1\0\0\0\1\0\0\0"), 0, CALL_ERROR_PROTOCOL, true },
		{ "no envelope", BYTES("\0\0\0\0\1\0\0\0\2\0\0\0"), 2, CALL_ERROR_PROTOCOL, false },
		{ "empty method", BYTES("\5\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\0"), 2, CALL_ERROR_PROTOCOL, false },
		{ "method longer than the frame", BYTES("\6\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\2x"), 2, CALL_ERROR_PROTOCOL,
		  false },
		{ "method with a newline", BYTES("\6\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\1\n"), 2, CALL_ERROR_PROTOCOL,
		  false },
		{ "method without a service", BYTES("\6\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\1x"), 2,
		  CALL_ERROR_UNKNOWN_METHOD, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy toy;
		struct raw raw;

		toy_open(&toy);
		raw_open_greeted(&raw, &toy);
		raw_send(&raw, cases[i].bytes, cases[i].n);
		raw_settle(&raw);
		raw_expect_end(cases[i].name, &raw, cases[i].stream, cases[i].code);
		if (cases[i].ends_connection) {
			raw_expect_closed(cases[i].name, &raw);
		} else {
			raw_send_operation(&raw, 3, 0, TOY_REPLY);
			raw_settle(&raw);
			raw_expect_reply(cases[i].name, &raw, 3);
			raw_expect_end(cases[i].name, &raw, 3, CALL_OK);
		}
		raw_close(&raw);
		toy_close(&toy);
	}
}

static void test_random_bytes(void)
{
	uint64_t state = 0x9e3779b97f4a7c15;

	for (int round = 0; round < 200; round++) {
		uint8_t bytes[512];
		struct toy toy;
		struct raw raw;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			bytes[i] = (uint8_t)(state >> 32);
		}
		/* Half of them keep a length and a type that let the rest of the frame be looked at. */
		if (round % 2)
			memcpy(bytes, (const uint8_t[]){ (uint8_t)round, 0, 0, 0, (uint8_t)(1 + round % 5), 0, 0, 0 },
			       8);
		toy_open(&toy);
		raw_open_greeted(&raw, &toy);
		raw_send(&raw, bytes, sizeof(bytes));
		raw_settle(&raw);
		CHECK("random bytes are refused", raw.is_closed);
		raw_close(&raw);
		toy_close(&toy);
	}
}

static void test_byte_by_byte(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct toy toy;
	struct raw raw;
	uint8_t *p;

	p = frame_reserve(&out, FRAME_REQUEST, 2, frame_request_bytes(METHOD_STATUS));
	(void)frame_request_write(p, METHOD_STATUS, 1000);
	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (size_t i = 0; i < out.n; i++) {
		raw_expect_nothing("half a frame", &raw);
		raw_send(&raw, out.data + i, 1);
		raw_settle(&raw);
	}
	raw_expect_reply("byte by byte", &raw, 2);
	raw_expect_end("byte by byte", &raw, 2, CALL_OK);
	raw_close(&raw);
	toy_close(&toy);
}

/* A frame that never ends costs its sender the connection, however slowly it goes on. */
static void test_slow_frame(void)
{
	static const char *const bytes = "\x40\0\0\0\1\0\0\0\2\0\0\0";
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (int i = 0; i < 10; i++) {
		raw_send(&raw, bytes + i, 1);
		raw_settle(&raw);
		raw_expect_nothing("a byte a second", &raw);
		raw_now_ns += PEER_FRAME_NS / 10;
		if (i < 9)
			server_check(toy.server);
		raw_settle(&raw);
	}
	server_check(toy.server);
	raw_settle(&raw);
	raw_expect_end("a frame that takes too long", &raw, 0, CALL_ERROR_DEADLINE);
	raw_expect_closed("a frame that takes too long", &raw);
	raw_close(&raw);
	toy_close(&toy);
}

/* Whole frames in time are no reason, how long ever the connection lives. */
static void test_slow_frames(void)
{
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (uint32_t i = 0; i < 5; i++) {
		raw_send(&raw, "\0\0", 2); /* half of a CREDIT of nothing for a stream that is over */
		raw_settle(&raw);
		raw_now_ns += PEER_FRAME_NS - 1;
		server_check(toy.server);
		raw_send(&raw, "\0\0\5\0\0\0\1\0\0\0", 10);
		raw_settle(&raw);
		raw_now_ns += PEER_FRAME_NS;
		server_check(toy.server);
		raw_settle(&raw);
		raw_expect_nothing("slow, and in time", &raw);
	}
	raw_close(&raw);
	toy_close(&toy);
}

/* Whatever is sent along: refused by the kernel, or met and answered by the end; none is ever held. */
static void test_descriptors(void)
{
	int fds[FD_PASS_MAX];
	struct toy toy;
	struct raw raw;
	int r, lowest;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = STDERR_FILENO;
	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	lowest = dup(STDERR_FILENO);
	(void)close(lowest);
	r = fd_send(raw.fd, "\0", 1, fds, ARRAY_SIZE(fds));
	raw_settle(&raw);
	CHECK_INT_EQ("no descriptor was taken", dup(STDERR_FILENO), lowest);
	(void)close(lowest);
	if (r == 0) {
		raw_expect_end("descriptors", &raw, 0, CALL_ERROR_PROTOCOL);
		raw_expect_closed("descriptors", &raw);
	} else {
		CHECK_INT_EQ("refused by the kernel", r, -EPERM);
		raw_send_operation(&raw, 2, 0, TOY_REPLY);
		raw_settle(&raw);
		raw_expect_reply("after refused descriptors", &raw, 2);
	}
	raw_close(&raw);
	toy_close(&toy);
}

/* ---- requests that are refused ---- */

static void test_refusals(void)
{
	static const struct {
		const char *name;
		const char *method;
		const char *body;
		size_t n;
		uint32_t code; /* CALL_OK: a reply comes first */
	} cases[] = {
		{ "empty body", METHOD_STATUS, BYTES(""), CALL_OK },
		{ "field of a later version", METHOD_STATUS, BYTES("\xfa\x07\x03xyz"), CALL_OK },
		{ "packed numbers", METHOD_OPERATIONS, BYTES("\x0a\x02\x60\x61"), CALL_OK },
		{ "the same numbers one by one", METHOD_OPERATIONS, BYTES("\x08\x60\x08\x61"), CALL_OK },
		{ "no such method", "ingero.v1.Query.Nothing", BYTES(""), CALL_ERROR_UNKNOWN_METHOD },
		{ "no such service", "ingero.v1.Nothing.Status", BYTES(""), CALL_ERROR_UNKNOWN_METHOD },
		{ "service of a later version", "ingero.v2.Query.Status", BYTES(""), CALL_ERROR_UNKNOWN_METHOD },
		{ "prefix of a service", "ingero.v1.Quer.Status", BYTES(""), CALL_ERROR_UNKNOWN_METHOD },
		{ "longer than a service", "ingero.v1.Query.Status.Status", BYTES(""), CALL_ERROR_UNKNOWN_METHOD },
		{ "body cut in a tag", METHOD_OPERATIONS, BYTES("\x88"), CALL_ERROR_PROTOCOL },
		{ "body cut in a number", METHOD_OPERATIONS, BYTES("\x08\x80"), CALL_ERROR_PROTOCOL },
		{ "body shorter than its length", METHOD_OPERATIONS, BYTES("\x0a\x05\x01"), CALL_ERROR_PROTOCOL },
		{ "group", METHOD_OPERATIONS, BYTES("\x0b\x0c"), CALL_ERROR_PROTOCOL },
		{ "field 0", METHOD_OPERATIONS, BYTES("\x00\x01"), CALL_ERROR_PROTOCOL },
		{ "wrong kind for the field", METHOD_OPERATIONS,
		  BYTES("\x09"
			"12345678"),
		  CALL_ERROR_PROTOCOL },
		{ "zero byte in text", "ingero.v1.Trace.Trace",
		  BYTES("\x32\x03"
			"a\0b"),
		  CALL_ERROR_INVALID },
		{ "text not UTF-8", "ingero.v1.Trace.Trace", BYTES("\x32\x02\xc3\x28"), CALL_ERROR_INVALID },
	};
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t stream = (uint32_t)i + 2;

		raw_send_request(&raw, stream, cases[i].method, 0, cases[i].body, cases[i].n);
		raw_settle(&raw);
		if (cases[i].code == CALL_OK)
			raw_expect_reply(cases[i].name, &raw, stream);
		raw_expect_end(cases[i].name, &raw, stream, cases[i].code);
		raw_expect_nothing(cases[i].name, &raw);
	}
	raw_close(&raw);
	toy_close(&toy);
}

static void test_handler_answers(void)
{
	static const struct {
		const char *name;
		enum toy_operation operation;
		uint32_t code;
	} cases[] = {
		{ "reply", TOY_REPLY, CALL_OK },
		{ "failure", TOY_FAIL, CALL_ERROR_NOT_FOUND },
		{ "reply that just fits", TOY_LARGE, CALL_OK },
		{ "reply that does not fit", TOY_TOO_LARGE, CALL_ERROR_INTERNAL },
	};
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t stream = (uint32_t)i + 2;

		raw_send_operation(&raw, stream, 0, cases[i].operation);
		raw_settle(&raw);
		if (cases[i].code == CALL_OK)
			raw_expect_reply(cases[i].name, &raw, stream);
		raw_expect_end(cases[i].name, &raw, stream, cases[i].code);
	}
	raw_close(&raw);
	toy_close(&toy);
}

/* ---- many streams, later answers, ends from outside ---- */

static void test_later_answer(void)
{
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw_send_operation(&raw, 2, 0, TOY_LATER);
	raw_send_operation(&raw, 3, 0, TOY_REPLY);
	raw_settle(&raw);
	raw_expect_reply("overtaking", &raw, 3);
	raw_expect_end("overtaking", &raw, 3, CALL_OK);
	toy_answer_later(&toy);
	raw_settle(&raw);
	raw_expect_reply("overtaken", &raw, 2);
	raw_expect_end("overtaken", &raw, 2, CALL_OK);
	raw_close(&raw);
	toy_close(&toy);
}

/* How a call that waits is ended from outside, by name of the way. */
enum way_out { WAY_DEADLINE, WAY_CANCEL, WAY_CLOSE, WAY_SERVER_CLOSE };

static void take_way_out(struct raw *raw, enum way_out way)
{
	switch (way) {
	case WAY_DEADLINE:
		raw_now_ns += 5 * NSEC_PER_MSEC;
		server_check(raw->toy->server);
		break;
	case WAY_CANCEL:
		raw_send_frame(raw, FRAME_CANCEL, 2, NULL, 0);
		break;
	case WAY_CLOSE:
		(void)shutdown(raw->fd, SHUT_RDWR);
		break;
	case WAY_SERVER_CLOSE:
		server_close(TAKE_PTR(raw->toy->server));
		break;
	}
	raw_settle(raw);
}

static void test_ways_out(void)
{
	static const struct {
		const char *name;
		enum toy_operation operation;
		enum way_out way;
		uint32_t code; /* of stream 2, UINT32_MAX where nobody can be told */
	} cases[] = {
		{ "deadline, listening", TOY_NEVER, WAY_DEADLINE, CALL_ERROR_DEADLINE },
		{ "deadline, not listening", TOY_LATER, WAY_DEADLINE, CALL_ERROR_DEADLINE },
		{ "cancel, listening", TOY_NEVER, WAY_CANCEL, CALL_ERROR_CANCELLED },
		{ "cancel, not listening", TOY_LATER, WAY_CANCEL, CALL_ERROR_CANCELLED },
		{ "client gone, listening", TOY_NEVER, WAY_CLOSE, UINT32_MAX },
		{ "client gone, not listening", TOY_LATER, WAY_CLOSE, UINT32_MAX },
		{ "server closes, listening", TOY_NEVER, WAY_SERVER_CLOSE, UINT32_MAX },
		{ "server closes, not listening", TOY_LATER, WAY_SERVER_CLOSE, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy toy;
		struct raw raw;

		toy_open(&toy);
		raw_open_greeted(&raw, &toy);
		raw_send_operation(&raw, 2, 5, cases[i].operation);
		raw_settle(&raw);
		CHECK(cases[i].name, toy.later != NULL);
		take_way_out(&raw, cases[i].way);
		if (cases[i].code != UINT32_MAX)
			raw_expect_end(cases[i].name, &raw, 2, cases[i].code);
		CHECK_INT_EQ(cases[i].name, toy.n_closes, cases[i].operation == TOY_NEVER);
		/* Who did not ask to hear of it answers as ever; it goes nowhere and leaks nothing. */
		CHECK_INT_EQ(cases[i].name, toy.later != NULL, cases[i].operation == TOY_LATER);
		if (toy.later)
			toy_answer_later(&toy);
		raw_settle(&raw);
		if (cases[i].code != UINT32_MAX)
			raw_expect_nothing(cases[i].name, &raw);
		raw_close(&raw);
		toy_close(&toy);
	}
}

static void test_stop(void)
{
	static const struct {
		const char *name;
		enum toy_trace kind;
		unsigned int n_cancels;
		uint64_t wait_ns;
		bool has_summary;
		uint32_t code;
		unsigned int n_stops, n_closes;
	} cases[] = {
		{ "asked, finishes", TOY_STOPPABLE, 1, 0, true, CALL_OK, 1, 0 },
		{ "asked twice after it finished", TOY_STOPPABLE, 2, 0, true, CALL_OK, 1, 0 },
		{ "asked twice", TOY_DEAF, 2, 0, false, CALL_ERROR_CANCELLED, 1, 1 },
		{ "asked once, takes too long", TOY_DEAF, 1, CALL_STOP_NS, false, CALL_ERROR_CANCELLED, 1, 1 },
		{ "does not listen", TOY_PLAIN, 1, 0, false, CALL_ERROR_CANCELLED, 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy toy;
		struct raw raw;

		toy_open(&toy);
		raw_open_greeted(&raw, &toy);
		raw_send_trace(&raw, 2, cases[i].kind, 0, 10);
		raw_settle(&raw);
		raw_expect_reply(cases[i].name, &raw, 2);
		raw_expect_nothing(cases[i].name, &raw);
		for (unsigned int k = 0; k < cases[i].n_cancels; k++)
			raw_send_frame(&raw, FRAME_CANCEL, 2, NULL, 0);
		raw_settle(&raw);
		if (cases[i].wait_ns) {
			raw_now_ns += cases[i].wait_ns - 1;
			server_check(toy.server);
			raw_settle(&raw);
			raw_expect_nothing(cases[i].name, &raw);
			raw_now_ns += 1;
			server_check(toy.server);
			raw_settle(&raw);
		}
		if (cases[i].has_summary)
			raw_expect_reply(cases[i].name, &raw, 2);
		raw_expect_end(cases[i].name, &raw, 2, cases[i].code);
		raw_expect_nothing(cases[i].name, &raw);
		CHECK_INT_EQ(cases[i].name, toy.n_stops, cases[i].n_stops);
		CHECK_INT_EQ(cases[i].name, toy.n_closes, cases[i].n_closes);
		raw_close(&raw);
		toy_close(&toy);
	}
}

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

/* What one user has waiting is limited over all his connections, and room that comes back is told to all of them. */
static void test_user_queue_cap(void)
{
	enum { PEERS = 12, PIECE_BYTES = 100000 };
	struct raw raws[PEERS];
	struct toy toy;
	uint64_t queued;

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
	raw_settle(&raws[PEERS - 1]);
	CHECK_INT_IN("who was refused hears of it", toy.n_drains, 1, PEERS);
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

/* ---- quotas ---- */

static void test_connection_quota(void)
{
	struct raw raws[QUOTA_USER_CONNECTIONS], extra;
	struct toy toy;

	toy_open(&toy);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_open_greeted(&raws[i], &toy);

	for (int i = 0; i < 100; i++) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
			abort();
		CHECK_INT_EQ("one connection too many", server_adopt(toy.server, fds[1]), -EDQUOT);
		(void)close(fds[1]); /* as accept does with a client that was turned away */
		extra = (struct raw){ .toy = &toy, .fd = fds[0] };
		raw_settle(&extra);
		raw_expect_end("one connection too many", &extra, 0, CALL_ERROR_QUOTA);
		raw_expect_closed("one connection too many", &extra);
		raw_close(&extra);
	}
	CHECK_INT_EQ("those within the quota live", toy.n_peers_closed, 0);

	raw_close(&raws[0]);
	raw_settle(&raws[1]);
	raw_open_greeted(&raws[0], &toy);
	for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
		raw_close(&raws[i]);
	toy_close(&toy);
}

/* What is there when the loop looks is answered in that turn: the next one may be long. */
static void test_answered_at_once(void)
{
	struct frame frame;
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	raw_send_operation(&raw, 2, 0, TOY_REPLY);
	(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	server_close(toy.server); /* which sends nothing any more */
	toy.server = NULL;
	raw_settle(&raw);
	CHECK_INT_EQ("the reply", raw_next(&raw, &frame), RAW_FRAME);
	CHECK_INT_EQ("the reply", frame.type, FRAME_REPLY);
	raw_close(&raw);
	toy_close(&toy);
}

#define TURNED_AWAY 100
#define TURNS_MOST 8

static int dial(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		abort();
	return fd;
}

/* A user who has all the connections he may have queues up for more, and then another comes. */
static void test_behind_a_crowd(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[64] = P_tmpdir "/ingero-wire-XXXXXX";
	int fds[QUOTA_USER_CONNECTIONS + TURNED_AWAY], turns = 0;
	struct toy toy;
	pid_t pid;

	if (getuid() != 0) {
		printf("not tried without root: another user behind a crowd\n");
		return;
	}
	if (!mkdtemp(directory) || chmod(directory, 0755))
		abort();
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	toy_open(&toy);
	CHECK_INT_EQ("listens", server_listen(toy.server, address.sun_path), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = dial(&address);
		while (i < QUOTA_USER_CONNECTIONS && toy.n_peers_opened <= i)
			(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	}
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (setresuid(54399, 54399, 54399))
			_exit(1);
		(void)dial(&address);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	while (toy.n_peers_opened == QUOTA_USER_CONNECTIONS && turns < 1000) {
		(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
		turns++;
	}
	CHECK_INT_EQ("the other one is let in", toy.n_peers_opened, QUOTA_USER_CONNECTIONS + 1);
	CHECK_INT_IN("without waiting long for the crowd", turns, 1, TURNS_MOST);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	toy_close(&toy);
	(void)rmdir(directory);
}

static void test_call_quota(void)
{
	struct raw raws[2];
	struct toy toy;

	toy_open(&toy);
	raw_open_greeted(&raws[0], &toy);
	raw_open_greeted(&raws[1], &toy);
	for (uint32_t i = 0; i < QUOTA_USER_CALLS; i++)
		raw_send_trace(&raws[i % 2], 2 + i, TOY_PLAIN, 0, 1);
	raw_settle(&raws[0]);
	raw_settle(&raws[1]);
	for (uint32_t i = 0; i < QUOTA_USER_CALLS; i++)
		raw_expect_reply("within the quota", &raws[i % 2], 2 + i);

	raw_send_operation(&raws[0], 1000, 0, TOY_REPLY);
	raw_settle(&raws[0]);
	raw_expect_end("one call too many, of all connections", &raws[0], 1000, CALL_ERROR_QUOTA);
	raw_send_frame(&raws[1], FRAME_CANCEL, 3, NULL, 0);
	raw_settle(&raws[1]);
	raw_expect_end("one ends", &raws[1], 3, CALL_ERROR_CANCELLED);
	raw_send_operation(&raws[0], 1001, 0, TOY_REPLY);
	raw_settle(&raws[0]);
	raw_expect_reply("so another may begin", &raws[0], 1001);
	raw_close(&raws[0]);
	raw_close(&raws[1]);
	toy_close(&toy);
}

static void test_rate(void)
{
	struct toy toy;
	struct raw raw;
	unsigned int n_ok = 0, n_refused = 0;
	struct frame frame;
	struct frame_end end;

	toy_open(&toy);
	raw_open_greeted(&raw, &toy);
	for (uint32_t i = 0; i < 2 * QUOTA_USER_FRAMES_BURST + 100; i++) {
		raw_send_request(&raw, 2 + i, "ingero.v1.Query.Nothing", 0, NULL, 0);
		if (i % 100 == 99)
			raw_settle(&raw);
	}
	raw_settle(&raw);
	while (raw_next(&raw, &frame) == RAW_FRAME && frame_end_parse(&frame, &end) == FRAME_OK) {
		n_ok += end.code == CALL_ERROR_UNKNOWN_METHOD;
		n_refused += end.code == CALL_ERROR_RATE;
	}
	/* the greeting was one, too */
	CHECK_INT_EQ("answered at once", n_ok, QUOTA_USER_FRAMES_BURST - QUOTA_CONNECT_FRAMES - 1);
	CHECK_INT_EQ("refused, then no longer read", n_refused, QUOTA_USER_FRAMES_BURST + 1);
	raw_expect_nothing("no longer read", &raw);

	/* What was not read was not lost either. */
	raw_now_ns += 2 * (uint64_t)QUOTA_USER_FRAMES_BURST * NSEC_PER_SEC / QUOTA_USER_FRAMES_PER_S;
	server_check(toy.server);
	raw_settle(&raw);
	for (n_ok = 0; raw_next(&raw, &frame) == RAW_FRAME; n_ok++) {
		CHECK_INT_EQ("answered later", frame_end_parse(&frame, &end), FRAME_OK);
		CHECK_INT_EQ("answered later", end.code, CALL_ERROR_UNKNOWN_METHOD);
	}
	CHECK_INT_EQ("answered later", n_ok, 100 + QUOTA_CONNECT_FRAMES);
	raw_close(&raw);
	toy_close(&toy);
}

/* ---- who is calling ---- */

/* In a child, so that it can become another user. Return: code of the Hello's END, 100 + caller_uid % 100 if replied.
 */
static int hello_as(uid_t uid, bool has_on_behalf_of, uint32_t on_behalf_of)
{
	Ingero__V1__HelloRequest hello = INGERO__V1__HELLO_REQUEST__INIT;
	uint8_t bytes[64];
	struct frame_end end;
	struct frame frame;
	struct toy toy;
	struct raw raw;
	int result;

	/* The socket pair carries the credentials of who made it. */
	if (uid != getuid() && setresuid(uid, uid, uid))
		return 99;
	toy_open(&toy);
	raw_open(&raw, &toy);
	hello.protocol_major = FRAME_PROTOCOL_MAJOR;
	hello.has_on_behalf_of = has_on_behalf_of;
	hello.on_behalf_of_uid = on_behalf_of;
	raw_send_request(&raw, 1, FRAME_HELLO_METHOD, 0, bytes, ingero__v1__hello_request__pack(&hello, bytes));
	raw_settle(&raw);
	if (raw_next(&raw, &frame) != RAW_FRAME)
		return 98;
	if (frame.type == FRAME_END) {
		result = frame_end_parse(&frame, &end) == FRAME_OK ? (int)end.code : 97;
	} else {
		Ingero__V1__HelloReply *reply = ingero__v1__hello_reply__unpack(NULL, frame.body_bytes, frame.body);

		result = 100 + (int)(reply->caller_uid % 100) * (reply->can_read_all ? 1 : 0);
		if (!reply->can_read_all)
			result = 200 + (int)(reply->caller_uid % 50);
		ingero__v1__hello_reply__free_unpacked(reply, NULL);
	}
	raw_close(&raw);
	toy_close(&toy);
	return result;
}

static void test_on_behalf_of(void)
{
	static const struct {
		const char *name;
		uid_t uid;
		bool has_on_behalf_of;
		uint32_t on_behalf_of;
		int result; /* code, or 100 + uid for who reads all, or 200 + uid for who does not */
	} cases[] = {
		{ "root", 0, false, 0, 100 },
		{ "root for a user sees what the user sees", 0, true, 42, 242 },
		{ "root for root", 0, true, 0, 100 },
		{ "nobody", 65534, false, 0, 200 + 65534 % 50 },
		{ "nobody for root", 65534, true, 0, CALL_ERROR_NOT_ALLOWED },
		{ "nobody for a user", 65534, true, 42, CALL_ERROR_NOT_ALLOWED },
		{ "nobody for himself", 65534, true, 65534, CALL_ERROR_NOT_ALLOWED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = 0;
		pid_t pid;

		if (getuid() != 0 && cases[i].uid != getuid()) {
			printf("not tried without root: %s\n", cases[i].name);
			continue;
		}
		(void)fflush(NULL);
		pid = fork();
		if (pid == 0)
			_exit(hello_as(cases[i].uid, cases[i].has_on_behalf_of, cases[i].on_behalf_of));
		CHECK_INT_EQ(cases[i].name, waitpid(pid, &status, 0), pid);
		CHECK_INT_EQ(cases[i].name, WIFEXITED(status) ? WEXITSTATUS(status) : -1, cases[i].result);
	}
}

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_hello();
	test_second_hello();
	test_silent_client();
	test_bad_bytes();
	test_random_bytes();
	test_byte_by_byte();
	test_slow_frame();
	test_slow_frames();
	test_descriptors();
	test_refusals();
	test_handler_answers();
	test_later_answer();
	test_ways_out();
	test_stop();
	test_credit();
	test_credit_cap();
	test_queue_cap();
	test_user_queue_cap();
	test_request_flood();
	test_vanishing();
	test_answered_at_once();
	test_connection_quota();
	test_behind_a_crowd();
	test_call_quota();
	test_rate();
	test_on_behalf_of();
	return check_result();
}
