// SPDX-License-Identifier: Apache-2.0
/* The short form of an object, to the byte; that it can be read back is shown by tests/e2e/mcp_stdio.py. */
#include "mcp-server/tsc.h"

#include <errno.h>

#include "tests/support/check.h"

static const struct {
	const char *json, *want; /* want NULL: as it is */
} cases[] = {
	{ "{}", NULL },
	{ "[]", NULL },
	{ "{\"process_name\":\"a\",\"other\":1}", "{\"pn\":\"a\",\"other\":1}" },
	{ "{\"a\":0}", NULL },
	{ "{\"a\":0,\"b\":1,\"count\":0}", "{\"b\":1,\"0\":\"a,cnt\"}" },
	{ "{\"a\":\"\",\"b\":[],\"c\":\"\",\"d\":[]}", "{\"''\":\"a,c\",\"[]\":\"b,d\"}" },
	{ "{\"a\":null,\"b\":null,\"c\":{},\"d\":{},\"e\":false,\"f\":false}",
	  "{\"{}\":\"c,d\",\"null\":\"a,b\",\"false\":\"e,f\"}" },
	{ "{\"a\":0.0,\"b\":-0,\"c\":\"0\"}", NULL },
	{ "[{\"a\":1}]", NULL },
	{ "[{\"a\":1},{\"a\":2}]", "{\"c\":{},\"k\":[\"a\"],\"r\":[[1],[2]]}" },
	{ "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":3}]", "{\"c\":{\"a\":1},\"k\":[\"b\"],\"r\":[[2],[3]]}" },
	{ "[{\"a\":1},{\"b\":2}]", "{\"c\":{},\"k\":[\"a\",\"b\"],\"r\":[[1],[null,2]]}" },
	{ "[{\"x\":1},{\"x\":2,\"y\":1},{\"x\":3,\"y\":2}]", "{\"c\":{},\"k\":[\"x\",\"y\"],\"r\":[[1],[2,1],[3,2]]}" },
	{ "[{\"a\":{\"b\":1}},{\"a\":2}]", NULL },
	{ "[{\"a.b\":1},{\"a.b\":2}]", NULL },
	{ "[{\"a\":{}},{\"a\":{\"b\":1}}]", NULL },
	{ "[{\"a\":{\"b\":1}},{\"c\":1}]", "{\"c\":{},\"k\":[\"a.b\",\"c\"],\"r\":[[1],[null,1]]}" },
	{ "[{\"a\":1},{\"a\":1}]", "{\"c\":{\"a\":1},\"k\":[],\"r\":[[],[]]}" },
	{ "[{\"a\":null},{\"a\":1}]", NULL },
	{ "[{\"a\":1},2]", NULL },
	{ "{\"a\":1,\"b\":2,\"c\":[7]}", NULL },
	{ "[[1,2],[3]]", NULL },
	{ "[{},{}]", NULL },
	{ "[{\"a\":{\"x\":0,\"y\":0,\"z\":0}},{\"a\":{\"x\":0,\"y\":1,\"z\":0}}]",
	  "{\"c\":{\"0\":\"a.x,a.z\"},\"k\":[\"a.y\"],\"r\":[[0],[1]]}" },
	{ "[{\"name\":\"lost_ns\",\"value\":5,\"unit\":\"ns\"}]", "{\"=\":{\"lost_ns\":5}}" },
	{ "{\"evidence\":[{\"name\":\"a_ratio\",\"value\":0.5,\"unit\":\"ratio\"},{\"name\":\"calls\",\"value\":2,"
	  "\"unit\":"
	  "\"count\"}]}",
	  "{\"ev\":{\"=\":{\"a_ratio\":0.5,\"calls\":2}}}" },
	{ "[{\"name\":\"lost_ns\",\"value\":5,\"unit\":\"s\"}]", NULL },
	{ "[{\"name\":\"ns\",\"value\":5,\"unit\":\"ns\"}]", NULL },
	{ "[{\"name\":\"a\",\"value\":\"5\",\"unit\":\"count\"}]", NULL },
	{ "[{\"name\":\"a\\u0022\",\"value\":5,\"unit\":\"count\"}]", NULL },
	{ "[{\"name\":\"a\",\"unit\":\"count\",\"value\":5}]", NULL },
	{ "[{\"name\":\"a\",\"value\":5,\"unit\":\"count\",\"more\":1}]", NULL },
	{ "[{\"name\":\"a\",\"value\":5,\"unit\":\"count\"},7]", NULL },
	{ "[{\"name\":\"a\",\"value\":5,\"unit\":\"count\"},{\"name\":\"a\",\"value\":6,\"unit\":\"count\"}]",
	  "{\"c\":{\"name\":\"a\",\"unit\":\"count\"},\"k\":[\"value\"],\"r\":[[5],[6]]}" },
	{ "{\"a\":\"2026-01-31T14:03:21.123456789Z\"}", NULL },
	{ "{\"a\":\"2026-01-31T23:59:59.500000000Z\",\"b\":[\"2026-02-01T00:00:00.000000000Z\",\"2026-01-31T23:59:59."
	  "499999999Z\"]}",
	  "{\"t0\":\"2026-01-31T23:59:59.500000000Z\",\"a\":\"+0\",\"b\":[\"+0.5\",\"-0.000000001\"]}" },
	{ "{\"a\":\"2026-01-31T14:03:21.000000000Z\",\"b\":\"2026-01-31T14:03:21.000000000Z\",\"c\":\"+5\"}", NULL },
	{ "{\"a\":\"2026-02-31T14:03:21.000000000Z\",\"b\":\"2026-02-30T14:03:21.000000000Z\"}", NULL },
	{ "{\"a\":\"2026-01-31T14:03:21Z\",\"b\":\"2026-01-31T14:03:21Z\"}", NULL },
	{ "[\"2026-01-31T14:03:21.000000000Z\",\"2026-01-31T14:03:22.000000000Z\"]", NULL },
	{ "{\"a\\u0022\":\"b\\\\\"}", NULL },
};

/* Short names are those of one member only. */
static void names_test(void)
{
	static const char *const names[][2] = {
#define SHORT(name, short) { #name, #short },
#include "mcp-server/tsc.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			CHECK(names[i][1], i == k || strcmp(names[i][1], names[k][1]) != 0);
			CHECK(names[i][1], strcmp(names[i][1], names[k][0]) != 0);
		}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ(cases[i].json, tsc_append(&out, cases[i].json, strlen(cases[i].json)), 0);
		CHECK_STR_EQ(cases[i].json, buf_text(&out), cases[i].want ? cases[i].want : cases[i].json);
	}
	names_test();
	return check_result();
}
