// SPDX-License-Identifier: Apache-2.0
/*
 * Call sites: rows of one line are put together, with sums that are exact and a bound of their p99; the table at 80
 * columns, the JSON, and the sentence where there is no stack.
 */
#include "libingero/answers/stack/report.h"

#include <locale.h>
#include <time.h>

#include "stacks.h"
#include "tests/support/check.h"

static const struct text_style plain = { .is_utf8 = true, .columns = 80 };
static struct made_stack first, second, other;
static struct made_rows made;

/* Two stacks of one line in two processes, one of another line, and calls without a stack. */
static void rows_make(void)
{
	Ingero__V1__StackRow *row;

	made_stack_python(&first, 1, "/data/alice/net.py", 142);
	made_stack_python(&second, 2, "/data/alice/net.py", 142);
	made_stack_python(&other, 3, "/data/alice/net.py", 99);
	made_rows_init(&made);
	row = made_row(&made, &first, 4711, "cudaStreamSynchronize", 100, 12 * MS);
	row->counted = 6400;
	row->counted_ns = 6400 * MS;
	row->bytes = 1 << 20;
	(void)made_row(&made, &other, 4711, "cudaMemcpyAsync", 50, 20 * MS);
	(void)made_row(&made, &second, 4712, "cudaStreamSynchronize", 900, 1 * MS);
	(void)made_row(&made, NULL, 4711, "cudaMalloc", 2, 3 * MS);
	made.end.is_sampled = 1;
	made.end.incomplete = 7;
}

static struct stack_question question_of(enum stack_by by, const char *measure)
{
	struct stack_question q = { .now_unix_ns = AT(300), .by = by };

	CHECK_INT_EQ(measure, stack_measure_parse(measure, &q.measure), 0);
	return q;
}

static void report_test(const char *measure, enum stack_by by, unsigned int columns, uint64_t limit, const char *want)
{
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct stack_question q = question_of(by, measure);
	struct text_style style = plain;

	style.columns = columns;
	q.limit = limit;
	CHECK_INT_EQ(measure, stack_sites_build(&made.rows, by, &q.measure, &sites), 0);
	CHECK_INT_EQ(measure, stack_report_append(&q, &made.rows, &sites, &style, &out), 0);
	CHECK_STR_EQ(measure, buf_text(&out), want);
}

#define ESTIMATES                                                                                                      \
	"~ estimates for all calls; p99, blame and bytes are those of the recorded ones.\n"                            \
	"'ingero trace --record all' records every call\n"
#define WITHOUT                                                                                                        \
	"2 recorded calls without a stack, 7 recorded calls with a stack that is not\n"                                \
	"complete; 'ingero explain ID' says why\n"
#define FOOTER ESTIMATES WITHOUT

static void tables_test(void)
{
	rows_make();
	report_test("time", STACK_BY_SITE, 80, 0,
		    "14:00:00 to 14:05:00 · 3 call sites by time · 1 052 recorded calls\n"
		    " time   count    p99  blame        operation        from\n"
		    "~7.3s  ~7 300   12ms  device 75 %  cudaStreamSync   net.py:142 in forward\n"
		    " 1.0s      50   20ms  device 75 %  cudaMemcpyAsync  net.py:99 in forward\n"
		    "6.0ms       2  3.0ms  device 75 %  cudaMalloc       no stack\n" FOOTER);
	report_test("count", STACK_BY_STACK, 80, 2,
		    "14:00:00 to 14:05:00 · 4 stacks by count · 1 052 recorded calls\n"
		    " count   time    p99  blame        operation       from\n"
		    "~6 400  ~6.4s   12ms  device 75 %  cudaStreamSync  net.py:142 in forward ← trai…\n"
		    "   900  900ms  1.0ms  device 75 %  cudaStreamSync  net.py:142 in forward ← trai…\n"
		    "and 2 more; '--limit' shows them\n" FOOTER);
	report_test("bytes", STACK_BY_SITE, 90, 1,
		    "14:00:00 to 14:05:00 · 3 call sites by bytes · 1 052 recorded calls\n"
		    "  bytes   time   count   p99  blame        operation       from\n"
		    "1.0 MiB  ~7.3s  ~7 300  12ms  device 75 %  cudaStreamSync  net.py:142 in forward\n"
		    "and 2 more; '--limit' shows them\n"
		    "~ estimates for all calls; p99, blame and bytes are those of the recorded ones. 'ingero\n"
		    "trace --record all' records every call\n"
		    "2 recorded calls without a stack, 7 recorded calls with a stack that is not complete;\n"
		    "'ingero explain ID' says why\n");
	report_test("blame:device", STACK_BY_SITE, 60, 1,
		    "14:00:00 to 14:05:00 · 3 call sites by blame:device · 1 052\n"
		    "recorded calls\n"
		    "device   count  operation       from\n"
		    "  1.6s  ~7 300  cudaStreamSync  net.py:142 in forward\n"
		    "and 2 more; '--limit' shows them\n"
		    "~ estimates for all calls; p99, blame and bytes are those of\n"
		    "the recorded ones. 'ingero trace --record all' records every\n"
		    "call\n"
		    "2 recorded calls without a stack, 7 recorded calls with a\n"
		    "stack that is not complete; 'ingero explain ID' says why\n");
}

/* A site is within other calls or not; those within say so. */
static void inner_table_test(void)
{
	rows_make();
	made.row[2].is_inner = true;
	report_test("time", STACK_BY_SITE, 80, 0,
		    "14:00:00 to 14:05:00 · 4 call sites by time · 1 052 recorded calls\n"
		    " time   count    p99  blame        operation         from\n"
		    "~6.4s  ~6 400   12ms  device 75 %  cudaStreamSync    net.py:142 in forward\n"
		    " 1.0s      50   20ms  device 75 %  cudaMemcpyAsync   net.py:99 in forward\n"
		    "900ms     900  1.0ms  device 75 %  · cudaStreamSync  net.py:142 in forward\n"
		    "6.0ms       2  3.0ms  device 75 %  cudaMalloc        no stack\n"
		    "· within another traced call, whose row has their time, too\n" FOOTER);
}

/* Never wider than the terminal, and the line is there on every one. */
static void widths_test(void)
{
	for (unsigned int columns = 20; columns <= 140; columns++) {
		CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct stack_question q = question_of(STACK_BY_SITE, "time");
		struct text_style style = plain;

		style.columns = columns;
		CHECK_INT_EQ("sites", stack_sites_build(&made.rows, q.by, &q.measure, &sites), 0);
		CHECK_INT_EQ("report", stack_report_append(&q, &made.rows, &sites, &style, &out), 0);
		CHECK("the line is told", columns < 60 || strstr(buf_text(&out), "net.py:142 in forward"));
		for (char *rest = NULL, *line = strtok_r((char *)(uintptr_t)buf_text(&out), "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			CHECK(line, text_columns(line) <= columns);
	}
}

/* ---- sums ---- */

static void sums_test(void)
{
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	struct stack_question q = question_of(STACK_BY_SITE, "time");
	const struct stack_site *site;

	rows_make();
	CHECK_INT_EQ("sites", stack_sites_build(&made.rows, q.by, &q.measure, &sites), 0);
	CHECK_INT_EQ("sites", sites.sites.n, 3);
	site = &sites.sites.items[0];
	CHECK_INT_EQ("stacks", site->n_rows, 2);
	CHECK_INT_EQ("processes", site->n_processes, 2);
	CHECK_INT_EQ("recorded", site->count, 1000);
	CHECK_INT_EQ("recorded time", site->total_ns, 2100 * MS);
	CHECK_INT_EQ("all", site->counted, 7300);
	CHECK_INT_EQ("time of all", site->counted_ns, 7300 * MS);
	CHECK_INT_EQ("blame", site->blame.ns[BLAME_VIEW_DEVICE], 1575 * MS);
	CHECK("estimate", site->is_estimate && !sites.sites.items[1].is_estimate);
	CHECK_INT_EQ("the stack with most", site->most->stack->id, 1);
	made.row[0].total_ns = made.row[2].total_ns = UINT64_MAX;
	stack_sites_done(&sites);
	CHECK_INT_EQ("sites", stack_sites_build(&made.rows, q.by, &q.measure, &sites), 0);
	CHECK("a sum stops at the largest number", sites.sites.items[0].total_ns == UINT64_MAX);
}

static const struct {
	const char *name;
	struct {
		uint64_t count, p50_ns, p99_ns, max_ns;
	} rows[3];
	uint64_t want_ns;
} bounds[] = {
	{ "one row: its own", { { 1000, 10, 50, 90 } }, 50 },
	{ "two alike", { { 1000, 10, 50, 90 }, { 1000, 10, 50, 90 } }, 50 },
	{ "a rare slow one is beyond", { { 100000, 10, 50, 90 }, { 100, 700, 800, 900 } }, 90 },
	{ "a frequent slow one is not", { { 1000, 10, 50, 90 }, { 1000, 700, 800, 900 } }, 800 },
	{ "three", { { 1000, 10, 20, 30 }, { 10, 40, 50, 60 }, { 1, 5, 5, 5 } }, 30 },
	{ "no calls", { { 0, 10, 50, 90 } }, 10 },
};

static void bound_test(size_t i)
{
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	struct stack_question q = question_of(STACK_BY_SITE, "time");

	made_stack_python(&first, 1, "/data/alice/net.py", 142);
	made_rows_init(&made);
	for (size_t k = 0; k < ARRAY_SIZE(bounds[i].rows) && bounds[i].rows[k].max_ns; k++) {
		Ingero__V1__StackRow *row = made_row(&made, &first, 1, "cudaMalloc", bounds[i].rows[k].count, 1);

		row->p50_ns = bounds[i].rows[k].p50_ns;
		row->p99_ns = bounds[i].rows[k].p99_ns;
		row->max_ns = bounds[i].rows[k].max_ns;
	}
	CHECK_INT_EQ(bounds[i].name, stack_sites_build(&made.rows, q.by, &q.measure, &sites), 0);
	CHECK_INT_EQ(bounds[i].name, sites.sites.n, 1);
	CHECK_INT_EQ(bounds[i].name, sites.sites.items[0].p99_ns, bounds[i].want_ns);
}

/* ---- JSON, and nothing ---- */

static void json_test(void)
{
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct stack_question q = question_of(STACK_BY_SITE, "time");
	const char *text;

	rows_make();
	q.limit = 2;
	CHECK_INT_EQ("sites", stack_sites_build(&made.rows, q.by, &q.measure, &sites), 0);
	CHECK_INT_EQ("json", stack_json_append(&q, &made.rows, &sites, &out), 0);
	text = buf_text(&out);
	CHECK("head",
	      strncmp(text,
		      "{\"type\":\"stacks\",\"by\":\"site\",\"measure\":\"time\",\"sites\":[{\"op\":"
		      "\"cudaStreamSynchronize\",\"source\":\"cuda\",\"process_name\":\"python3\",\"pids\":[4711,"
		      "4712],\"processes\":2,\"stacks\":2,\"count\":1000,\"total_ns\":2100000000,\"p99_ns\":"
		      "12000000,\"max_ns\":12000000,\"bytes\":1048576,\"errors\":0,\"blame_ns\":{\"on_cpu\":"
		      "525000000,\"device\":1575000000},\"counted\":7300,\"counted_ns\":7300000000,"
		      "\"is_estimate\":true,\"is_inner\":false,\"from\":{\"file\":\"/data/alice/"
		      "net.py\",\"func\":\"forward\","
		      "\"line\":142},\"stack_id\":1,\"stack\":[{\"ip\":",
		      430) == 0);
	CHECK("end", strstr(text, "],\"more_sites\":1,\"rows\":4,\"calls\":1052,\"without\":2,\"incomplete\":7,"
				  "\"is_sampled\":true,\"window\":{"));
	CHECK("one line", strchr(text, '\n') == text + out.n - 1);
	CHECK("without a stack, no place", !strstr(text, "cudaMalloc"));
}

static void nothing_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT, empty = BUF_INIT, known = BUF_INIT;
	struct stack_question q = question_of(STACK_BY_SITE, "time");
	Ingero__V1__ExplainReply whole = INGERO__V1__EXPLAIN_REPLY__INIT;

	made_rows_init(&made);
	(void)made_row(&made, NULL, 4711, "cudaMalloc", 1, MS);
	CHECK("no stack", !stack_has_any(&made.rows));
	stack_nothing_append(&q, &made.rows, &out);
	CHECK_STR_EQ("calls without stacks", buf_text(&out),
		     "no stacks: none of the 1 call recorded from 14:00:00 to 14:05:00 has one; 'ingero trace' takes "
		     "them unless '--stack none' says otherwise, a service unless record.stacks of its configuration "
		     "does; demos and recordings of earlier versions have none");
	made_rows_init(&made);
	stack_nothing_append(&q, &made.rows, &empty);
	CHECK_STR_EQ("no calls, and nobody knows what else there is", buf_text(&empty),
		     "no call is recorded from 14:00:00 to 14:05:00; 'sudo ingero trace' records calls with their "
		     "stacks");
	q.whole = &whole;
	stack_nothing_append(&q, &made.rows, &known);
	CHECK_STR_EQ("no recording", buf_text(&known),
		     "there is no recording of your processes yet; 'sudo ingero trace' records calls with their "
		     "stacks");
}

int main(void)
{
	(void)setlocale(LC_ALL, "C.UTF-8");
	(void)setenv("TZ", "Europe/Berlin", 1);
	tzset();

	tables_test();
	inner_table_test();
	widths_test();
	sums_test();
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		bound_test(i);
	json_test();
	nothing_test();
	return check_result();
}
