// SPDX-License-Identifier: Apache-2.0
#include "rpc/body.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "tests/support/check.h"

static enum call_error unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t n,
			      char why[BODY_WHY_BYTES])
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	/* In memory of just that size, so that one byte read too many is noticed. */
	CLEANUP(freep) uint8_t *copy = malloc(n ? n : 1);
	ProtobufCMessage *message = NULL;
	enum call_error code;

	if (n)
		memcpy(copy, data, n);
	why[0] = 0;
	code = body_unpack(descriptor, copy, n, &arena, why, &message);
	CHECK("a message or a reason", code ? !message && why[0] : message && message->descriptor == descriptor);
	if (message)
		CHECK_INT_EQ("unknown fields are gone", message->n_unknown_fields, 0);
	return code;
}

/* As text of a field, at the top and inside another message. */
static void test_text(void)
{
	static const struct {
		const char *name;
		const char *text;
		size_t n;
		bool is_good;
	} cases[] = {
		{ "empty", "", 0, true },
		{ "ASCII", "train.py\t\x7f", 10, true },
		{ "two bytes", "\xc2\x80\xdf\xbf", 4, true },
		{ "three bytes", "\xe0\xa0\x80\xef\xbf\xbf", 6, true },
		{ "around the surrogates", "\xed\x9f\xbf\xee\x80\x80", 6, true },
		{ "four bytes", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8, true },
		{ "zero byte", "\0", 1, false },
		{ "zero byte inside", "a\0b", 3, false },
		{ "zero byte at the end", "ab\0", 3, false },
		{ "continuation alone", "\x80", 1, false },
		{ "overlong, two bytes", "\xc0\x80", 2, false },
		{ "overlong, last of two bytes", "\xc1\xbf", 2, false },
		{ "overlong, three bytes", "\xe0\x9f\xbf", 3, false },
		{ "overlong, four bytes", "\xf0\x8f\xbf\xbf", 4, false },
		{ "first surrogate", "\xed\xa0\x80", 3, false },
		{ "last surrogate", "\xed\xbf\xbf", 3, false },
		{ "past the last plane", "\xf4\x90\x80\x80", 4, false },
		{ "five bytes", "\xf8\x88\x80\x80\x80", 5, false },
		{ "byte that is never used", "\xff", 1, false },
		{ "cut after one of two", "a\xc3", 2, false },
		{ "cut after two of three", "\xe2\x82", 2, false },
		{ "cut after three of four", "\xf0\x9f\x90", 3, false },
		{ "not continued",
		  "\xe2\x82"
		  "a",
		  3, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[32] = { 0x32, (uint8_t)cases[i].n }; /* TraceRequest.record */
		char why[BODY_WHY_BYTES];

		memcpy(bytes + 2, cases[i].text, cases[i].n);
		CHECK_INT_EQ(cases[i].name, unpack(&ingero__v1__trace_request__descriptor, bytes, 2 + cases[i].n, why),
			     cases[i].is_good ? CALL_OK : CALL_ERROR_INVALID);
		if (!cases[i].is_good)
			CHECK("the field is named", strstr(why, "'record'") != NULL);

		/* TraceReply.start.version: one level down */
		memcpy(bytes, (const uint8_t[]){ 0x0a, (uint8_t)(2 + cases[i].n), 0x12, (uint8_t)cases[i].n }, 4);
		memcpy(bytes + 4, cases[i].text, cases[i].n);
		CHECK_INT_EQ(cases[i].name, unpack(&ingero__v1__trace_reply__descriptor, bytes, 4 + cases[i].n, why),
			     cases[i].is_good ? CALL_OK : CALL_ERROR_INVALID);
		if (!cases[i].is_good)
			CHECK("the inner field is named", strstr(why, "'version'") != NULL);
	}
}

/* The same piece of bytes many times over. */
static void test_amounts(void)
{
	static const struct {
		const char *name;
		const ProtobufCMessageDescriptor *descriptor;
		const char *piece;
		size_t n_piece, n;
		enum call_error code;
	} cases[] = {
		{ "entries, at the limit", &ingero__v1__trace_request__descriptor, "\x08\x01", 2, BODY_REPEATED_MAX,
		  CALL_OK },
		{ "entries, one more", &ingero__v1__trace_request__descriptor, "\x08\x01", 2, BODY_REPEATED_MAX + 1,
		  CALL_ERROR_INVALID },
		{ "packed entries", &ingero__v1__trace_request__descriptor, "\x0a\x04\1\2\3\4", 6,
		  BODY_REPEATED_MAX / 4 + 1, CALL_ERROR_INVALID },
		{ "two fields, each at the limit", &ingero__v1__trace_request__descriptor, "\x08\x01\x10\x01", 4,
		  BODY_REPEATED_MAX, CALL_OK },
		{ "the same number again and again", &ingero__v1__trace_request__descriptor, "\x18\x01", 2, 30000,
		  CALL_OK },
		{ "unknown, at the limit", &ingero__v1__status_request__descriptor, "\x78\x01", 2, BODY_UNKNOWN_MAX,
		  CALL_OK },
		{ "unknown, one more", &ingero__v1__status_request__descriptor, "\x78\x01", 2, BODY_UNKNOWN_MAX + 1,
		  CALL_ERROR_PROTOCOL },
		{ "unknown, inside", &ingero__v1__trace_reply__descriptor, "\x0a\x03\xf8\x7f\x01", 5,
		  BODY_UNKNOWN_MAX + 1, CALL_ERROR_PROTOCOL },
		/* Summary.operations: two bytes on the wire, some two hundred in memory */
		{ "small on the wire, large in memory", &ingero__v1__summary__descriptor, "\x1a\x00", 2, 30000,
		  CALL_ERROR_PROTOCOL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf bytes = BUF_INIT;
		char why[BODY_WHY_BYTES];

		for (size_t k = 0; k < cases[i].n; k++)
			CHECK_INT_EQ(cases[i].name, buf_append(&bytes, cases[i].piece, cases[i].n_piece), 0);
		CHECK_INT_EQ(cases[i].name, unpack(cases[i].descriptor, bytes.data, bytes.n, why), cases[i].code);
	}
}

/* Every beginning of a good message is either good itself or refused, and read no further than it is long. */
static void test_cut_short(void)
{
	Ingero__V1__TraceReply reply = INGERO__V1__TRACE_REPLY__INIT;
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
	Ingero__V1__Operation operation = INGERO__V1__OPERATION__INIT, *operations[] = { &operation, &operation };
	Ingero__V1__Cost cost = INGERO__V1__COST__INIT;
	Ingero__V1__Blame blame = INGERO__V1__BLAME__INIT;
	uint8_t bytes[256];
	unsigned int n_good = 0;
	char why[BODY_WHY_BYTES];
	size_t n;

	blame.has_runnable = 1;
	blame.runnable = UINT64_MAX;
	operation.op = (char *)"cudaLaunchKernel";
	operation.blame_ns = &blame;
	cost.probe_ratio = 0.25;
	summary.operations = operations;
	summary.n_operations = ARRAY_SIZE(operations);
	summary.cost = &cost;
	reply.body_case = INGERO__V1__TRACE_REPLY__BODY_SUMMARY;
	reply.summary = &summary;
	n = ingero__v1__trace_reply__pack(&reply, bytes);
	for (size_t i = 0; i <= n; i++)
		n_good += unpack(&ingero__v1__trace_reply__descriptor, bytes, i, why) == CALL_OK;
	CHECK_INT_EQ("nothing, and the whole", n_good, 2);
}

int main(void)
{
	test_text();
	test_amounts();
	test_cut_short();
	return check_result();
}
