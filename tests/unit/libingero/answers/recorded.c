// SPDX-License-Identifier: Apache-2.0
/* Why an answer is empty: each lack has its sentence, which names what the recording has instead. */
#include "libingero/answers/recorded.h"

#include <time.h>

#include "figures.h"
#include "tests/support/check.h"

#define AT(seconds) ((1769864400ull + (seconds)) * NSEC_PER_SEC) /* 2026-01-31 14:00:00 in Berlin and on */

static const struct {
	uint32_t pid;
	const char *process, *source, *op;
} operations[] = {
	{ 4711, "python3", "host", "wait_main" },    { 4711, "python3", "cuda", "cudaMalloc" },
	{ 4711, "python3", "driver", "cuMemAlloc" }, { 4712, "trainer", "cuda", "cudaMalloc" },
	{ 4720, "bash", "host", "process_exec" },
};

static Ingero__V1__Operation rows[ARRAY_SIZE(operations)], *row_list[ARRAY_SIZE(operations)];
static Ingero__V1__Window window;
static Ingero__V1__Session session, *sessions[] = { &session };
static Ingero__V1__ExplainReply whole;

/* Five minutes in which two processes made calls. */
static void whole_make(void)
{
	whole = (Ingero__V1__ExplainReply)INGERO__V1__EXPLAIN_REPLY__INIT;
	window = (Ingero__V1__Window)INGERO__V1__WINDOW__INIT;
	session = (Ingero__V1__Session)INGERO__V1__SESSION__INIT;
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		rows[i] = (Ingero__V1__Operation)INGERO__V1__OPERATION__INIT;
		rows[i].pid = operations[i].pid;
		rows[i].process_name = figures_text(operations[i].process);
		rows[i].source = figures_text(operations[i].source);
		rows[i].op = figures_text(operations[i].op);
		rows[i].count = 10;
		row_list[i] = &rows[i];
	}
	window.from_unix_ns = AT(0);
	window.to_unix_ns = AT(300);
	window.calls = 30;
	whole.window = &window;
	whole.sessions = sessions;
	whole.n_sessions = 1;
	whole.operations = row_list;
	whole.n_operations = ARRAY_SIZE(rows);
}

static const uint32_t absent[] = { 99999, 4720 }, present[] = { 4712 };

static const struct {
	const char *name;
	struct recorded_question question;
	bool has_no_calls, has_no_session;
	enum recorded_lack want;
	const char *text;
} cases[] = {
	{ "later",
	  { .from_unix_ns = AT(400) },
	  .want = RECORDED_LACKS_TIME,
	  .text = "nothing was recorded from 14:06:40 to now; the recording goes from 14:00:00 to 14:05:00" },
	{ "earlier",
	  { .from_unix_ns = AT(0) - 60 * S, .to_unix_ns = AT(0) - 1 * S },
	  .want = RECORDED_LACKS_TIME,
	  .text = "nothing was recorded from 13:59:00 to 13:59:59; the recording goes from 14:00:00 to 14:05:00" },
	{ "a process",
	  { .pids = absent, .n_pids = 1 },
	  .want = RECORDED_LACKS_PROCESS,
	  .text = "process 99999 made no call in the recording; processes that did: python3 (pid 4711), trainer (pid "
		  "4712)" },
	{ "processes, of which one was only started",
	  { .pids = absent, .n_pids = 2 },
	  .want = RECORDED_LACKS_PROCESS,
	  .text = "none of the processes 99999, 4720 made a call in the recording; processes that did: python3 (pid "
		  "4711), trainer (pid 4712)" },
	{ "an operation",
	  { .op = "cudaFree" },
	  .want = RECORDED_LACKS_OPERATION,
	  .text = "nobody called cudaFree; recorded are calls of cudaMalloc, cuMemAlloc" },
	{ "what is no call",
	  { .op = "wait_main" },
	  .want = RECORDED_LACKS_OPERATION,
	  .text = "wait_main is no call: its time is among the parts between calls, which have no name of an "
		  "operation; recorded are calls of cudaMalloc, cuMemAlloc" },
	{ "a kind of operations",
	  { .part = "Graph" },
	  .want = RECORDED_LACKS_OPERATION,
	  .text = "nobody called an operation with 'Graph' in its name; recorded are calls of cudaMalloc, cuMemAlloc" },
	{ "both, but not together",
	  { .pids = present, .n_pids = 1, .op = "CUMEMALLOC", .from_unix_ns = AT(100), .to_unix_ns = AT(200) },
	  .want = RECORDED_LACKS_HERE,
	  .text = "nothing of what was asked for is recorded from 14:01:40 to 14:03:20; the recording goes from "
		  "14:00:00 "
		  "to 14:05:00" },
	{ "calls",
	  { .from_unix_ns = AT(0) },
	  .has_no_calls = true,
	  .want = RECORDED_LACKS_CALLS,
	  .text = "no CUDA calls: no process made one in the recording, from 14:00:00 to 14:05:00" },
	{ "a recording",
	  { .from_unix_ns = AT(0) },
	  .has_no_calls = true,
	  .has_no_session = true,
	  .want = RECORDED_LACKS_ALL,
	  .text = "there is no recording of your processes yet" },
};

static const char *told(const struct recorded_question *question, const Ingero__V1__ExplainReply *reply)
{
	static struct buf out;

	buf_consume(&out, out.n);
	recorded_lack_append(question, reply, &out);
	return buf_text(&out);
}

int main(void)
{
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recorded_question question = cases[i].question;

		question.now_unix_ns = AT(500);
		whole_make();
		if (cases[i].has_no_calls)
			window.calls = whole.n_operations = 0;
		if (cases[i].has_no_session)
			whole.n_sessions = 0;
		CHECK_INT_EQ(cases[i].name, recorded_lack(&question, &whole), cases[i].want);
		CHECK_STR_EQ(cases[i].name, told(&question, &whole), cases[i].text);
	}
	CHECK_STR_EQ("what is not known", told(&cases[0].question, NULL), "");
	whole_make();
	CHECK_INT_EQ("the first that made calls", recorded_process_first(&whole), 4711);
	whole.n_operations = 0;
	CHECK_INT_EQ("nobody did", recorded_process_first(&whole), 0);
	return check_result();
}
