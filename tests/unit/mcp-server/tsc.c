// SPDX-License-Identifier: Apache-2.0
/*
 * The short form of an object, to the byte; with "-", of each line of the input, which tsc_random.py reads back, as
 * tests/e2e/mcp_stdio.py does answers.
 */
#include "mcp-server/tsc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

static const struct {
	const char *json, *want; /* want NULL: as it is */
} cases[] = {
	{ "{}", NULL },
	{ "[]", NULL },
	{ "{\"process_name\":\"a\",\"other\":1}", "{\"pn\":\"a\",\"other\":1}" },
	{ "{\"a\":0}", NULL },
	/* members that share a value */
	{ "{\"a\":0,\"b\":1,\"count\":0}", "{\"b\":1,\"0\":\"a,cnt\"}" },
	{ "{\"a\":\"\",\"b\":[],\"c\":\"\",\"d\":[]}", "{\"''\":\"a,c\",\"[]\":\"b,d\"}" },
	{ "{\"a\":null,\"b\":null,\"c\":{},\"d\":{},\"e\":false,\"f\":false}",
	  "{\"{}\":\"c,d\",\"null\":\"a,b\",\"false\":\"e,f\"}" },
	{ "{\"a\":0.0,\"b\":-0,\"c\":\"0\"}", NULL },
	{ "[{\"a\":1}]", NULL },
	/* tables */
	{ "[{\"a\":1},{\"a\":2}]", "{\"k\":\"a\",\"r\":[[1],[2]]}" },
	{ "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":3}]", "{\"c\":{\"a\":1},\"k\":\"b\",\"r\":[[2],[3]]}" },
	{ "[{\"a\":1},{\"b\":2}]", "{\"k\":\"a,b\",\"r\":[[1],[null,2]]}" },
	{ "[{\"x\":1},{\"x\":2,\"y\":1},{\"x\":3,\"y\":2}]", "{\"k\":\"x,y\",\"r\":[[1],[2,1],[3,2]]}" },
	{ "[{\"a\":{\"b\":1}},{\"a\":2}]", "{\"k\":\"a\",\"r\":[[{\"b\":1}],[2]]}" },
	{ "[{\"a.b\":1},{\"a.b\":2}]", NULL },
	{ "[{\"a,b\":1},{\"a,b\":2}]", NULL },
	{ "[{\"\":1},{\"\":2}]", NULL },
	{ "[{\"a\":{}},{\"a\":{\"b\":1}}]", "{\"k\":\"a\",\"r\":[[{}],[{\"b\":1}]]}" },
	{ "[{\"a\":{\"b\":1}},{\"c\":1}]", "{\"k\":\"a.b,c\",\"r\":[[1],[null,1]]}" },
	{ "[{\"a\":1},{\"a\":1}]", "{\"k\":\"a\",\"r\":[[1],[1]]}" },
	{ "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":2}]", "{\"c\":{\"b\":2},\"k\":\"a\",\"r\":[[1],[1]]}" },
	{ "[{\"a\":null},{\"a\":1}]", NULL },
	{ "[{\"a\":1},2]", NULL },
	/* the usual value, where it pays: rows end before it */
	{ "[{\"a\":1},{\"a\":2},{\"a\":2},{\"a\":2}]", "{\"k\":\"a\",\"r\":[[1],[2],[2],[2]]}" },
	{ "[{\"a\":\"usual\",\"b\":1},{\"a\":\"usual\",\"b\":2},{\"a\":\"x\",\"b\":3}]",
	  "{\"c\":{\"a\":\"usual\"},\"k\":\"b,a\",\"r\":[[1],[2],[3,\"x\"]]}" },
	{ "[{\"a\":\"usual\",\"b\":1},{\"a\":\"usual\",\"b\":2},{\"b\":3},{\"a\":\"usual\",\"b\":4}]",
	  "{\"c\":{\"a\":\"usual\"},\"k\":\"b,a\",\"r\":[[1],[2],[3,null],[4]]}" },
	/* lists of values that come again */
	{ "[{\"a\":\"a text that comes often\",\"b\":1},{\"a\":\"a text that comes, too\",\"b\":2},{\"a\":\"a text "
	  "that comes often\",\"b\":3},{\"a\":\"a text that comes, too\",\"b\":4}]",
	  "{\"d\":{\"a\":[\"a text that comes often\",\"a text that comes, "
	  "too\"]},\"k\":\"a,b\",\"r\":[[0,1],[1,2],[0,3],[1,4]]}" },
	{ "[{\"a\":\"a text that comes often\",\"b\":0},{\"a\":\"a text that comes often\",\"b\":1},{\"a\":\"a text "
	  "that comes, too\",\"b\":2},{\"a\":\"a text that comes often\",\"b\":3},{\"a\":\"a text that comes "
	  "often\",\"b\":4},{\"a\":\"a text that comes, too\",\"b\":5},{\"a\":\"a text that comes often\",\"b\":6}]",
	  "{\"c\":{\"a\":0},\"d\":{\"a\":[\"a text that comes often\",\"a text that comes, "
	  "too\"]},\"k\":\"b,a\",\"r\":[[0],[1],[2,1],[3],[4],[5,1],[6]]}" },
	{ "[{\"by\":{\"pid\":1,\"comm\":\"logrotate\"}},{\"by\":{\"pid\":2,\"comm\":\"logrotate\"}},{\"by\":{\"pid\":1,"
	  "\"comm\":\"logrotate\"}},{\"by\":{\"pid\":2,\"comm\":\"logrotate\"}},{\"a\":1}]",
	  "{\"d\":{\"by\":{\"c\":{\"comm\":\"logrotate\"},\"k\":\"pid\",\"r\":[[1],[2]]}},\"k\":\"by,a\",\"r\":[[0],[1]"
	  ",[0],[1],[null,1]]}" },
	/* rows of cells */
	{ "{\"columns\":[\"a\"],\"data\":[[7],[7]]}", "{\"columns\":[\"a\"],\"data\":{\"k\":\"a\",\"r\":[[7],[7]]}}" },
	{ "{\"columns\":[\"timestamp\",\"severity\",\"b\"],\"data\":[[1,7,1],[2,7,0]],\"count\":3}",
	  "{\"columns\":[\"timestamp\",\"severity\",\"b\"],\"data\":{\"c\":{\"severity\":7},\"k\":\"timestamp,b\","
	  "\"r\":[[1,1],[2,0]]},\"cnt\":3}" },
	{ "{\"columns\":[\"b\",\"a\"],\"data\":[[1,7],[2,7]]}",
	  "{\"columns\":[\"b\",\"a\"],\"data\":{\"c\":{\"a\":7},\"k\":\"b\",\"r\":[[1],[2]]}}" },
	{ "{\"columns\":[\"a\",\"b\"],\"data\":[[null,1],[2,null]]}",
	  "{\"columns\":[\"a\",\"b\"],\"data\":{\"k\":\"a,b\",\"r\":[[null,1],[2]]}}" },
	{ "{\"columns\":[\"a\",\"b\"],\"data\":[[null,1],[null,2]]}",
	  "{\"columns\":[\"a\",\"b\"],\"data\":{\"k\":\"b,a\",\"r\":[[1],[2]]}}" },
	{ "{\"columns\":[\"a\",\"count(*)\"],\"data\":[[1,1],[1,2]]}",
	  "{\"columns\":[\"a\",\"count(*)\"],\"data\":{\"c\":{\"a\":1},\"k\":\"count(*)\",\"r\":[[1],[2]]}}" },
	{ "{\"columns\":[\"a\",\"b\"],\"data\":[[1,2]]}", NULL },
	{ "{\"columns\":[\"a\"],\"data\":[[1,2],[3,4]]}", NULL },
	{ "{\"columns\":[\"a\"],\"data\":[[1],2]}", NULL },
	{ "{\"columns\":[\"a\",\"a\"],\"data\":[[1,2],[1,3]]}", NULL },
	{ "{\"columns\":[\"a.b\"],\"data\":[[1],[2]]}", NULL },
	{ "{\"columns\":[\"cnt\"],\"data\":[[1],[2]]}", NULL },
	{ "{\"columns\":[\"0\"],\"data\":[[1],[2]]}", NULL },
	{ "{\"columns\":[\"a\"],\"data\":[[[1]],[[2]]]}", NULL },
	{ "{\"columns\":[],\"data\":[[],[]]}", NULL },
	/* members that have a default: docs/schema has them */
	{ "{\"blame_ns\":{\"block_io\":0,\"device\":0,\"lock\":5,\"memory\":0,\"network\":0,\"on_cpu\":0,\"other\":0,"
	  "\"quota\":0,\"runnable\":0,\"sleep\":0}}",
	  "{\"bl\":{\"lock\":5}}" },
	{ "{\"blame_ns\":{\"block_io\":0,\"device\":0,\"lock\":0,\"memory\":0,\"network\":0,\"on_cpu\":0,\"other\":0,"
	  "\"quota\":0,\"runnable\":0,\"sleep\":0}}",
	  "{\"bl\":{}}" },
	{ "{\"blame_ns\":{\"block_io\":0,\"device\":0,\"lock\":5,\"memory\":0,\"network\":0,\"on_cpu\":0,\"other\":0,"
	  "\"quota\":0,\"runnable\":0}}",
	  "{\"bl\":{\"lock\":5,\"-\":\"sleep\"}}" },
	{ "{\"blame_ns\":{\"lock\":\"0\",\"more\":0},\"a\":{\"lock\":0}}",
	  "{\"bl\":{\"lock\":\"0\",\"more\":0,\"-\":\"block_io,device,memory,network,on_cpu,other,quota,runnable,"
	  "sleep\"},\"a\":{\"lock\":0}}" },
	{ "{\"blame_ns\":0,\"cost\":[]}", "{\"bl\":0,\"cost\":[]}" },
	{ "[{\"op\":\"x\",\"blame_ns\":{\"block_io\":0,\"device\":0,\"lock\":5,\"memory\":0,\"network\":0,\"on_cpu\":0,"
	  "\"other\":0,\"quota\":0,\"runnable\":0,\"sleep\":0}},{\"op\":\"y\",\"blame_ns\":{\"block_io\":0,\"device\":"
	  "0,\"lock\":6,\"memory\":0,\"network\":0,\"on_cpu\":0,\"other\":0,\"quota\":0,\"runnable\":0,\"sleep\":1}}]",
	  "{\"k\":\"op,bl.lock,bl.sleep\",\"r\":[[\"x\",5,0],[\"y\",6,1]]}" },
	{ "[{\"op\":\"x\",\"blame_ns\":{\"block_io\":0,\"device\":0,\"lock\":0,\"memory\":0,\"network\":0,\"on_cpu\":0,"
	  "\"other\":0,\"quota\":0,\"runnable\":0,\"sleep\":0}},{\"op\":\"y\",\"blame_ns\":{\"block_io\":0,\"device\":"
	  "0,\"lock\":0,\"memory\":0,\"network\":0,\"on_cpu\":0,\"other\":0,\"quota\":0,\"runnable\":0,\"sleep\":0}}]",
	  "{\"c\":{\"bl\":{}},\"k\":\"op\",\"r\":[[\"x\"],[\"y\"]]}" },
	{ "[{\"op\":\"x\",\"blame_ns\":{\"block_io\":0,\"device\":0,\"lock\":5,\"memory\":0,\"network\":0,\"on_cpu\":0,"
	  "\"other\":0,\"quota\":0,\"runnable\":0,\"sleep\":0}},{\"op\":\"y\",\"blame_ns\":{\"block_io\":0,\"device\":"
	  "0,\"lock\":6,\"memory\":0,\"network\":0,\"on_cpu\":0,\"other\":0,\"runnable\":0,\"sleep\":0}},{\"op\":\"z\"}"
	  "]",
	  "{\"k\":\"op,bl\",\"r\":[[\"x\",{\"lock\":5}],[\"y\",{\"lock\":6,\"-\":\"quota\"}],[\"z\"]]}" },
	{ "{\"a\":1,\"b\":2,\"c\":[7]}", NULL },
	{ "[[1,2],[3]]", NULL },
	{ "[{},{}]", NULL },
	{ "[{\"a\":{\"x\":0,\"y\":0,\"z\":0}},{\"a\":{\"x\":0,\"y\":1,\"z\":0}}]",
	  "{\"c\":{\"0\":\"a.x,a.z\"},\"k\":\"a.y\",\"r\":[[0],[1]]}" },
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
	  "{\"c\":{\"name\":\"a\",\"unit\":\"count\"},\"k\":\"value\",\"r\":[[5],[6]]}" },
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

static int lines_print(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		if (tsc_append(&out, line, (size_t)n) < 0)
			return 1;
		printf("%s\n", buf_text(&out));
	}
	free(line);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "-") == 0)
		return lines_print();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ(cases[i].json, tsc_append(&out, cases[i].json, strlen(cases[i].json)), 0);
		CHECK_STR_EQ(cases[i].json, buf_text(&out), cases[i].want ? cases[i].want : cases[i].json);
	}
	names_test();
	return check_result();
}
