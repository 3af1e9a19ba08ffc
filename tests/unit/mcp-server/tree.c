// SPDX-License-Identifier: Apache-2.0
/* Texts as nodes: what is found in them, and what is refused. */
#include "mcp-server/tree.h"

#include <errno.h>

#include "tests/support/check.h"

static const struct {
	const char *text;
	int want;
	size_t nodes;
} cases[] = {
	{ "{}", 0, 1 },
	{ " { \"a\" : [ 1 , -2.5e+7, true, null ] , \"b\":{\"c\":\"\"}}\n", 0, 11 },
	{ "18446744073709551615", 0, 1 },
	{ "\"a\\\"b\"", 0, 1 },
	{ "", -EPROTO, 0 },
	{ "{", -EPROTO, 0 },
	{ "{\"a\"}", -EPROTO, 0 },
	{ "{\"a\":1,}", -EPROTO, 0 },
	{ "[1 2]", -EPROTO, 0 },
	{ "[1]]", -EPROTO, 0 },
	{ "\"a", -EPROTO, 0 },
	{ "\"a\\", -EPROTO, 0 },
	{ "[,]", -EPROTO, 0 },
};

static const struct {
	const char *text, *want;
} strings[] = {
	{ "\"\"", "" },
	{ "\"a b\"", "a b" },
	{ "\"\\\"\\\\\\/\\n\\t\"", "\"\\/\n\t" },
	{ "\"\\u00b5\\u25b2\"", "µ▲" },
	{ "\"\\ud83d\\ude00\"", "😀" },
	{ "\"\\ud83d\"", "\xef\xbf\xbd" },
	{ "\"\\ude00x\"", "\xef\xbf\xbdx" },
	{ "\"\\u12\"", "\xef\xbf\xbd" },
	{ "\"\\u12g4\"", "\xef\xbf\xbd" },
};

static void depth_test(void)
{
	CLEANUP(tree_done) struct tree tree = TREE_INIT;
	char text[2 * (TREE_DEPTH_MAX + 2) + 1];

	for (size_t depth = TREE_DEPTH_MAX + 1; depth <= TREE_DEPTH_MAX + 2; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		CHECK_INT_EQ("depth", tree_build(&tree, text, 2 * depth), depth > TREE_DEPTH_MAX + 1 ? -EPROTO : 0);
	}
}

/* A NUL in a text ends none that it is compared with. */
static void nul_test(void)
{
	static const char json[] = "{\"c\0other\":1}";
	static const char *const others[] = { "c", "", "other", "c o" };
	CLEANUP(tree_done) struct tree tree = TREE_INIT;

	CHECK_INT_EQ("with a NUL", tree_build(&tree, json, sizeof(json) - 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(others[i], tree.nodes.n > 1 && !tree_is(&tree, 1, others[i]));
}

static void find_test(void)
{
	static const char text[] = "{\"a\":[1,{\"x\":2}],\"b\":\"c\",\"n\":{\"b\":3}}";
	CLEANUP(tree_done) struct tree tree = TREE_INIT;
	uint32_t i;

	CHECK_INT_EQ("built", tree_build(&tree, text, strlen(text)), 0);
	i = tree_find(&tree, 0, "b");
	CHECK("its value", i && tree_is(&tree, i, "c"));
	i = tree_find(&tree, 0, "a");
	CHECK_INT_EQ("elements", i ? tree.nodes.items[i].n : 0, 2);
	CHECK_INT_EQ("of an inner object", tree_find(&tree, 0, "x"), 0);
	CHECK_INT_EQ("of no object", tree_find(&tree, i, "x"), 0);
	i = tree_find(&tree, tree_find(&tree, 0, "n"), "b");
	CHECK_INT_EQ("a number as it was written", i ? tree.text[tree.nodes.items[i].begin] : 0, '3');
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(tree_done) struct tree tree = TREE_INIT;

		CHECK_INT_EQ(cases[i].text, tree_build(&tree, cases[i].text, strlen(cases[i].text)), cases[i].want);
		if (cases[i].want == 0)
			CHECK_INT_EQ(cases[i].text, tree.nodes.n, cases[i].nodes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		CLEANUP(tree_done) struct tree tree = TREE_INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ(strings[i].text, tree_build(&tree, strings[i].text, strlen(strings[i].text)), 0);
		tree_string_append(&tree, 0, &out);
		CHECK_STR_EQ(strings[i].text, buf_text(&out), strings[i].want);
	}
	depth_test();
	find_test();
	nul_test();
	return check_result();
}
