// SPDX-License-Identifier: Apache-2.0
/* Columns stand under each other, fit, and give way in the order they were told to. */
#include "libingero/render/table.h"

#include <locale.h>

#include "tests/support/check.h"

static const struct table_column columns[] = {
	{ .title = "process", .max = 12 },
	{ .title = "calls", .align = TABLE_RIGHT, .min = 7 },
	{ .title = "p95", .align = TABLE_RIGHT, .drop = 2 },
	{ .title = "p50", .align = TABLE_RIGHT, .drop = 1 },
	{ .title = "blame", .takes_rest = true },
};

static const char *const rows[][ARRAY_SIZE(columns)] = {
	{ "python 4711", "9 829", "142ms", "1.2ms", "device 61 · runnable 34 ▲" },
	{ "", "412 883", "61µs", "4.1µs", "cpu 92" },
	{ "a-very-long-process 1", "0", "-", "-", "" },
};

static const struct {
	const char *name;
	unsigned int columns;
	size_t max_rows;
	const char *want;
} cases[] = {
	{ "all fits", 80, 9,
	  "process         calls    p95    p50  blame\n"
	  "python 4711     9 829  142ms  1.2ms  device 61 · runnable 34 ▲\n"
	  "              412 883   61µs  4.1µs  cpu 92\n"
	  "a-very-long…        0      -      -\n" },
	{ "rest is cut", 55, 9,
	  "process         calls    p95    p50  blame\n"
	  "python 4711     9 829  142ms  1.2ms  device 61 · runna…\n"
	  "              412 883   61µs  4.1µs  cpu 92\n"
	  "a-very-long…        0      -      -\n" },
	{ "least important goes first", 45, 9,
	  "process         calls    p50  blame\n"
	  "python 4711     9 829  1.2ms  device 61 · ru…\n"
	  "              412 883  4.1µs  cpu 92\n"
	  "a-very-long…        0      -\n" },
	{ "then the next", 36, 9,
	  "process         calls  blame\n"
	  "python 4711     9 829  device 61 · …\n"
	  "              412 883  cpu 92\n"
	  "a-very-long…        0\n" },
	{ "fewer rows", 80, 1,
	  "process        calls    p95    p50  blame\n"
	  "python 4711    9 829  142ms  1.2ms  device 61 · runnable 34 ▲\n" },
};

/* What ends in a pid keeps it while there is a name to cut. */
static void last_test(void)
{
	static const struct table_column two[] = { { .title = "process", .narrows_last = true },
						   { .title = "operation" } };
	static const struct {
		unsigned int columns;
		const char *want;
	} narrow[] = {
		{ 32, "process         operation\nlong name 4711  cudaLaunchKernel\n" },
		{ 29, "process         operation\nlong name 4711  cudaLaunchKe…\n" },
		{ 28, "process         operation\nlong name 4711  cudaLaunchK…\n" },
		{ 27, "process        operation\nlong name 47…  cudaLaunchK…\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(narrow); i++) {
		CLEANUP(table_done) struct table t = TABLE_INIT(two);
		struct text_style style = { .is_utf8 = true, .columns = narrow[i].columns };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		table_add(&t, TEXT_PLAIN, "long name 4711");
		table_add(&t, TEXT_PLAIN, "cudaLaunchKernel");
		CHECK_INT_EQ("narrow", table_render(&t, &style, 1, &out), 0);
		CHECK_STR_EQ("narrow", buf_text(&out), narrow[i].want);
	}
}

int main(void)
{
	CLEANUP(table_done) struct table t = TABLE_INIT(columns);

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < ARRAY_SIZE(columns); k++)
			table_add(&t, TEXT_PLAIN, "%s", rows[i][k]);
	CHECK_INT_EQ("rows", table_rows(&t), ARRAY_SIZE(rows));

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text_style style = { .is_utf8 = true, .columns = cases[i].columns };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ(cases[i].name, table_render(&t, &style, cases[i].max_rows, &out), 0);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}

	last_test();

	/* However narrow, no line is wider than the terminal and nothing crashes. */
	for (unsigned int n = 8; n < 120; n++) {
		struct text_style style = { .is_utf8 = true, .columns = n };
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		char *line, *rest, name[32];

		(void)snprintf(name, sizeof(name), "%u columns", n);
		CHECK_INT_EQ(name, table_render(&t, &style, 9, &out), 0);
		rest = (char *)(uintptr_t)buf_text(&out);
		while ((line = strsep(&rest, "\n")))
			CHECK_INT_IN(name, text_columns(line), 0, n);
	}
	return check_result();
}
