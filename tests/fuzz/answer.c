// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies of answers: whatever JSON a tool writes, with whatever texts, the result is JSON, is framed once, and what is
 * in the frame is JSON, short or long.
 */
#include "mcp-server/answer.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mcp-server/untrusted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static const struct answer_list lists[] = { { "a", "ask", .more = NULL }, { "b", "ask", .inner = "a" } };
static const char *const details[] = { "c", "/d", NULL };
static const char *const spare[] = { "e", NULL };
static const struct answer_shape shape = {
	.lists = lists, .n_lists = ARRAY_SIZE(lists), .details = details, .details_how = "ask", .spare = spare
};

static size_t times(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(answer_done) struct answer answer = ANSWER_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct writer w = { .out = &out };
	const char *text;
	json_t *result, *shown;

	if (n < 2)
		return 0;
	answer.tokens_max = 1 + 4 * (size_t)data[0];
	answer.is_verbose = data[1] & 1;
	answer.has_details = data[1] & 2;
	(void)buf_append(&answer.body, data + 2, n - 2);
	writer_open(&w, NULL, '{');
	if (answer_write(&answer, &shape, &w) < 0)
		return 0;
	writer_close(&w, '}');
	/* Bytes between strings are the tool's own: of an input that is no JSON there, nothing is promised. */
	result = json_loadb((const char *)data + 2, n - 2, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
	if (!result)
		return 0;
	json_decref(result);
	result = json_loadb(buf_text(&out), out.n, JSON_DECODE_INT_AS_REAL, NULL);
	REQUIRE(result);
	text = json_string_value(json_object_get(json_array_get(json_object_get(result, "content"), 0), "text"));
	REQUIRE(text && times(text, UNTRUSTED_BEGIN) == 1 && times(text, UNTRUSTED_END) == 1);
	text = strstr(text, UNTRUSTED_BEGIN) + strlen(UNTRUSTED_BEGIN);
	shown = json_loadb(text, (size_t)(strstr(text, UNTRUSTED_END) - text), JSON_DECODE_INT_AS_REAL, NULL);
	REQUIRE(shown);
	json_decref(shown);
	json_decref(result);
	return 0;
}
