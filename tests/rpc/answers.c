// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that are refused, answers that come late, and calls that end from outside.
 */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "raw.h"
#include "rpc/call.h"
#include "rpc/server.h"
#include "tests/support/check.h"

#define METHOD_STATUS "ingero.v1.Query.Status"
#define METHOD_OPERATIONS "ingero.v1.Query.Operations"
#define BYTES(literal) (literal), sizeof(literal) - 1

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

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_refusals();
	test_handler_answers();
	test_later_answer();
	test_ways_out();
	test_stop();
	return check_result();
}
