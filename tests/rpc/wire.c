// SPDX-License-Identifier: Apache-2.0
/*
 * What the server makes of greetings, and of bytes that make no sense.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "raw.h"
#include "rpc/peer.h"
#include "rpc/server.h"
#include "tests/support/check.h"

#define METHOD_STATUS "ingero.v1.Query.Status"
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

/* What was sent while the loop was held, as it is while programs are loaded, was in time. */
static void test_held_loop(void)
{
	static const uint8_t cancel[FRAME_HEADER_BYTES] = { [4] = FRAME_CANCEL, [8] = 2 };
	struct toy toy;
	struct raw raw;

	toy_open(&toy);
	raw_open(&raw, &toy);
	raw_settle(&raw);
	raw_send_hello(&raw, FRAME_PROTOCOL_MAJOR);
	raw_now_ns += PEER_HELLO_NS;
	server_check(toy.server);
	raw_settle(&raw);
	raw_expect_reply("a greeting", &raw, 1);
	raw_expect_end("a greeting", &raw, 1, CALL_OK);
	raw_expect_nothing("a greeting", &raw);

	raw_send(&raw, cancel, 1);
	raw_settle(&raw);
	raw_send(&raw, cancel + 1, sizeof(cancel) - 1);
	raw_now_ns += PEER_FRAME_NS;
	server_check(toy.server);
	raw_settle(&raw);
	raw_expect_nothing("the rest of a frame", &raw);
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

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_hello();
	test_second_hello();
	test_silent_client();
	test_held_loop();
	test_bad_bytes();
	test_random_bytes();
	test_byte_by_byte();
	test_slow_frame();
	test_slow_frames();
	test_descriptors();
	return check_result();
}
