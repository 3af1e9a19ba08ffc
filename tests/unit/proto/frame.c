// SPDX-License-Identifier: Apache-2.0
#include "proto/frame.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define BYTES(literal) (const uint8_t *)(literal), sizeof(literal) - 1

static void test_decode(void)
{
	static const struct {
		const char *name;
		const uint8_t *bytes;
		size_t n;
		enum frame_result result;
		enum frame_type type;
		uint32_t stream;
		size_t body_bytes, used;
	} cases[] = {
		{ "nothing", BYTES(""), FRAME_SHORT, 0, 0, 0, 0 },
		{ "all but one byte of a header", BYTES("\0\0\0\0\5\0\0\0\1\0\0"), FRAME_SHORT, 0, 0, 0, 0 },
		{ "empty body", BYTES("\0\0\0\0\5\0\0\0\1\2\3\4"), FRAME_OK, FRAME_CANCEL, 0x04030201, 0, 12 },
		{ "all but one byte of a body", BYTES("\2\0\0\0\2\0\0\0\1\0\0\0x"), FRAME_SHORT, 0, 0, 0, 0 },
		{ "body", BYTES("\2\0\0\0\2\0\0\0\1\0\0\0xy"), FRAME_OK, FRAME_REPLY, 1, 2, 14 },
		{ "body and the next frame", BYTES("\1\0\0\0\2\0\0\0\1\0\0\0xy"), FRAME_OK, FRAME_REPLY, 1, 1, 13 },
		{ "at the limit, to come", BYTES("\0\1\0\0\2\0\0\0\1\0\0\0"), FRAME_SHORT, 0, 0, 0, 0 },
		{ "over the limit", BYTES("\1\1\0\0\2\0\0\0\7\0\0\0"), FRAME_TOO_LARGE, 0, 7, 0, 0 },
		{ "far over the limit", BYTES("\xff\xff\xff\xff\2\0\0\0\7\0\0\0"), FRAME_TOO_LARGE, 0, 7, 0, 0 },
		{ "type 0", BYTES("\0\0\0\0\0\0\0\0\7\0\0\0"), FRAME_BAD, 0, 7, 0, 0 },
		{ "type of a later version", BYTES("\0\0\0\0\6\0\0\0\7\0\0\0"), FRAME_BAD, 0, 7, 0, 0 },
		{ "flag of a later version", BYTES("\0\0\0\0\2\1\0\0\7\0\0\0"), FRAME_BAD, 0, 7, 0, 0 },
		{ "reserved, low", BYTES("\0\0\0\0\2\0\1\0\7\0\0\0"), FRAME_BAD, 0, 7, 0, 0 },
		{ "reserved, high", BYTES("\0\0\0\0\2\0\0\1\7\0\0\0"), FRAME_BAD, 0, 7, 0, 0 },
		{ "bad before its body came", BYTES("\5\0\0\0\2\1\0\0\7\0\0\0"), FRAME_BAD, 0, 7, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame = { .stream = 0 };
		size_t used = 0;
		/* In memory of just that size, so that one byte read too many is noticed. */
		CLEANUP(freep) uint8_t *copy = malloc(cases[i].n ? cases[i].n : 1);

		memcpy(copy, cases[i].bytes, cases[i].n);
		CHECK_INT_EQ(cases[i].name, frame_decode(copy, cases[i].n, 256, &frame, &used), cases[i].result);
		CHECK_INT_EQ(cases[i].name, used, cases[i].used);
		CHECK_INT_EQ(cases[i].name, frame.type, cases[i].type);
		CHECK_INT_EQ(cases[i].name, frame.body_bytes, cases[i].body_bytes);
		if (cases[i].result != FRAME_SHORT)
			CHECK_INT_EQ(cases[i].name, frame.stream, cases[i].stream);
		if (cases[i].result == FRAME_OK)
			CHECK_INT_EQ(cases[i].name, frame.body - copy, FRAME_HEADER_BYTES);
	}
}

/* The worked example of docs/protocol.md, byte for byte. */
static void test_example(void)
{
	static const uint8_t request[] = {
		0x1b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, /* header */
		0xe8, 0x03, 0x00, 0x00, 0x16,						/* 1000 ms, 22 bytes of name */
		'i',  'n',  'g',  'e',	'r',  'o',  '.',  'v',	'1',  '.',  'Q',  'u',
		'e',  'r',  'y',  '.',	'S',  't',  'a',  't',	'u',  's',
	};
	static const uint8_t end[] = {
		0x0c, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, /* header */
		0x05, 0x00, 0x00, 0x00, 'n',  'o',  ' ',  's',	'u',  'c',  'h',  '.',	/* not found */
	};
	static const uint8_t credit[] = {
		0x04, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00,
	};
	static const char method[] = "ingero.v1.Query.Status";
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint8_t *p = frame_reserve(&out, FRAME_REQUEST, 2, frame_request_bytes(method));

	CHECK("request", frame_request_write(p, method, 1000) == out.data + out.n);
	CHECK_INT_EQ("request", out.n, sizeof(request));
	CHECK("request", memcmp(out.data, request, sizeof(request)) == 0);

	out.n = 0;
	CHECK_INT_EQ("end", frame_append_end(&out, 2, CALL_ERROR_NOT_FOUND, "no such."), 0);
	CHECK_INT_EQ("end", out.n, sizeof(end));
	CHECK("end", memcmp(out.data, end, sizeof(end)) == 0);

	out.n = 0;
	CHECK_INT_EQ("credit", frame_append_credit(&out, 3, 512 * 1024), 0);
	CHECK_INT_EQ("credit", out.n, sizeof(credit));
	CHECK("credit", memcmp(out.data, credit, sizeof(credit)) == 0);
}

static void test_request(void)
{
	static const struct {
		const char *name;
		const uint8_t *bytes;
		size_t n;
		enum frame_result result;
		const char *method;
		uint32_t deadline_ms;
		size_t message_bytes;
	} cases[] = {
		{ "no message", BYTES("\1\2\3\4\3a.B"), FRAME_OK, "a.B", 0x04030201, 0 },
		{ "message", BYTES("\0\0\0\0\1axyz"), FRAME_OK, "a", 0, 3 },
		{ "empty", BYTES(""), FRAME_BAD, "", 0, 0 },
		{ "cut in the deadline", BYTES("\0\0\0"), FRAME_BAD, "", 0, 0 },
		{ "no length", BYTES("\0\0\0\0"), FRAME_BAD, "", 0, 0 },
		{ "no name", BYTES("\0\0\0\0\0xyz"), FRAME_BAD, "", 0, 0 },
		{ "name cut", BYTES("\0\0\0\0\4abc"), FRAME_BAD, "", 0, 0 },
		{ "name too long",
		  BYTES("\0\0\0\0\x80"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		  FRAME_BAD, "", 0, 0 },
		{ "space in the name", BYTES("\0\0\0\0\3a b"), FRAME_BAD, "", 0, 0 },
		{ "zero byte in the name", BYTES("\0\0\0\0\3a\0b"), FRAME_BAD, "", 0, 0 },
		{ "escape in the name", BYTES("\0\0\0\0\3a\033b"), FRAME_BAD, "", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame = { .type = FRAME_REQUEST, .body = cases[i].bytes, .body_bytes = cases[i].n };
		struct frame_request request = { .deadline_ms = 0 };

		CHECK_INT_EQ(cases[i].name, frame_request_parse(&frame, &request), cases[i].result);
		CHECK_STR_EQ(cases[i].name, request.method, cases[i].method);
		CHECK_INT_EQ(cases[i].name, request.deadline_ms, cases[i].deadline_ms);
		CHECK_INT_EQ(cases[i].name, request.message_bytes, cases[i].message_bytes);
	}
}

static void test_end(void)
{
	static const struct {
		const char *name;
		const uint8_t *bytes;
		size_t n;
		enum frame_result result;
		uint32_t code;
		const char *text;
	} cases[] = {
		{ "success", BYTES("\0\0\0\0"), FRAME_OK, 0, "" },
		{ "sentence", BYTES("\5\0\0\0no"), FRAME_OK, 5, "no" },
		{ "code of a later version", BYTES("\0\0\1\0x"), FRAME_OK, 65536, "x" },
		{ "cut", BYTES("\5\0\0"), FRAME_BAD, 0, "" },
		{ "what would steer a terminal", BYTES("\1\0\0\0a\033[2J\r\nb\0c\x7f"), FRAME_OK, 1, "a [2J  b c " },
		{ "the same in its eight-bit form",
		  BYTES("\1\0\0\0a\xc2\x9b"
			"2Jb\xc3\x9b"),
		  FRAME_OK, 1, "a  2Jb\xc3\x9b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame = { .type = FRAME_END, .body = cases[i].bytes, .body_bytes = cases[i].n };
		struct frame_end end = { .code = 0 };

		CHECK_INT_EQ(cases[i].name, frame_end_parse(&frame, &end), cases[i].result);
		CHECK_INT_EQ(cases[i].name, end.code, cases[i].code);
		CHECK_STR_EQ(cases[i].name, end.text, cases[i].text);
	}
}

/* A sentence that has to be cut is cut between characters. */
static void test_long_text(void)
{
	static const struct {
		const char *name;
		const char *character;
		size_t want_bytes;
	} cases[] = {
		{ "one byte", "x", FRAME_TEXT_MAX },
		{ "two bytes", "\xc3\xa4", FRAME_TEXT_MAX },
		{ "three bytes", "\xe2\x82\xac", FRAME_TEXT_MAX / 3 * 3 },
		{ "four bytes", "\xf0\x9f\x90\xa2", FRAME_TEXT_MAX },
		{ "no character at all", "\x80", FRAME_TEXT_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct frame frame;
		struct frame_end end;
		size_t used;

		while (text.n < 2 * FRAME_TEXT_MAX)
			(void)buf_append_text(&text, cases[i].character);
		CHECK_INT_EQ(cases[i].name, frame_append_end(&out, 1, 6, buf_text(&text)), 0);
		CHECK_INT_EQ(cases[i].name, frame_decode(out.data, out.n, FRAME_SERVER_BODY_MAX, &frame, &used),
			     FRAME_OK);
		CHECK_INT_EQ(cases[i].name, frame_end_parse(&frame, &end), FRAME_OK);
		CHECK_INT_EQ(cases[i].name, strlen(end.text), cases[i].want_bytes);
	}
}

static void test_credit(void)
{
	static const struct {
		const char *name;
		const uint8_t *bytes;
		size_t n;
		enum frame_result result;
		uint32_t credit;
	} cases[] = {
		{ "some", BYTES("\1\2\3\4"), FRAME_OK, 0x04030201 },
		{ "most", BYTES("\xff\xff\xff\xff"), FRAME_OK, UINT32_MAX },
		{ "none", BYTES(""), FRAME_BAD, 0 },
		{ "cut", BYTES("\1\2\3"), FRAME_BAD, 0 },
		{ "too long", BYTES("\1\2\3\4\5"), FRAME_BAD, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame frame = { .type = FRAME_CREDIT, .body = cases[i].bytes, .body_bytes = cases[i].n };
		uint32_t credit = 0;

		CHECK_INT_EQ(cases[i].name, frame_credit_parse(&frame, &credit), cases[i].result);
		CHECK_INT_EQ(cases[i].name, credit, cases[i].credit);
	}
}

static void test_full_buffer(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT_CAP(20);

	CHECK_INT_EQ("fits", frame_append(&out, FRAME_REPLY, 1, "12345678", 8), 0);
	CHECK_INT_EQ("does not fit", frame_append(&out, FRAME_REPLY, 1, NULL, 0), -E2BIG);
	CHECK_INT_EQ("untouched", out.n, 20);
}

int main(void)
{
	test_decode();
	test_example();
	test_request();
	test_end();
	test_long_text();
	test_credit();
	test_full_buffer();
	return check_result();
}
