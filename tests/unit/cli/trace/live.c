// SPDX-License-Identifier: Apache-2.0
/*
 * The live screen as it goes on: what is over, what keys change, and that rows keep their places.
 */
#include <locale.h>

#include "cli/trace/live.h"
#include "cli/trace/screen.h"
#include "tests/support/check.h"
#include "tests/unit/libingero/answers/figures.h"

static char session[] = "session", nothing[] = "";
static Ingero__V1__Start start = { .base = PROTOBUF_C_MESSAGE_INIT(&ingero__v1__start__descriptor),
				   .back_end = session,
				   .back_end_reason = nothing };
static const struct trace_setting setting = { .scope = "of alice", .kept = "slow calls and 1 in 64", .start = &start };

#define OP(p, name, n, ...)                                                                                            \
	{                                                                                                              \
		.pid = (p), .process = "python", .op = name, .count = (n), .p50_ns = 1 * US, .p95_ns = 2 * US,         \
		.p99_ns = (n)*US, .max_ns = 2000 * US, .blame_ns = {                                                   \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

/* It waited behind a hog, which is gone: of the last seconds there is none of that. */
static const struct figures_op waited[] = {
	OP(7, "cudaStreamSynchronize", 1000, [BLAME_VIEW_RUNNABLE] = 9 * S, [BLAME_VIEW_DEVICE] = 9 * S),
	OP(7, "cudaMalloc", 100, [BLAME_VIEW_ON_CPU] = 3 * S),
	OP(7, "cudaFree", 10, [BLAME_VIEW_ON_CPU] = 2 * S),
	{ 0 },
};
static const struct figures_op calm[] = {
	OP(7, "cudaStreamSynchronize", 120, [BLAME_VIEW_DEVICE] = 2 * S),
	OP(7, "cudaFree", 5, [BLAME_VIEW_ON_CPU] = 1 * S),
	{ 0 },
};
static const struct figures_op waiting[] = {
	OP(7, "cudaStreamSynchronize", 120, [BLAME_VIEW_RUNNABLE] = 2 * S),
	{ 0 },
};
static const struct figures_behind hog[] = { { .victim_pid = 7, .pid = 99, .comm = "hog", .ns = 8 * S }, { 0 } };
static const struct figures_behind hog_now[] = { { .victim_pid = 7, .pid = 99, .comm = "hog", .ns = 2 * S }, { 0 } };

struct world {
	struct figures totals, recent;
	struct trace_live live;
	struct trace_screen screen;
	struct text_style style;
	struct buf out;
};

static struct world world;

static void world_begin(void)
{
	world.live = (struct trace_live){ .page = TRACE_PAGE_TABLE };
	world.style = (struct text_style){ .is_utf8 = true, .columns = 80, .rows = 24 };
	world.screen = (struct trace_screen){ .setting = &setting,
					      .live = &world.live,
					      .figures = &world.totals.summary,
					      .recent = &world.recent.summary,
					      .host = "node-7",
					      .clock = "14:03:21" };
	world.out = (struct buf)BUF_INIT;
}

static void world_end(void)
{
	trace_live_done(&world.live);
	buf_done(&world.out);
}

static void figures_come(uint64_t window_ns, const struct figures_op *totals, const struct figures_behind *behind,
			 const struct figures_op *recent, const struct figures_behind *behind_now)
{
	(void)figures_build(&world.totals, window_ns, totals, NULL, behind);
	(void)figures_build(&world.recent, 10 * S, recent, NULL, behind_now);
}

static const char *shown(void)
{
	buf_done(&world.out);
	world.out = (struct buf)BUF_INIT;
	CHECK_INT_EQ("screen", trace_screen_append(&world.screen, &world.style, &world.out), 0);
	return buf_text(&world.out);
}

static void type(const char *keys)
{
	for (; *keys; keys++)
		CHECK("no end", !trace_live_key(&world.live, *keys));
}

static void over_test(void)
{
	world_begin();
	figures_come(72 * S, waited, hog, waiting, hog_now);
	CHECK_STR_EQ("goes on", shown(),
		     "ingero  node-7  14:03:21  python 7 of root  1 min 12 s  last 10 s  cost 0.6 %\n"
		     "\n"
		     "operation        calls   rate   p50   p99   max time   blame\n"
		     "cudaStreamSync     120   12/s 1.0µs 120µs 2.0ms 20 % ▲ runnable 100\n"
		     "▲ waits for the CPU behind hog (pid 99, root): 2.0 of 2.0 s\n"
		     "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
		     "q end  ? help  t since the start  s sort (time)  f findings (0)  p pause\n");
	figures_come(72 * S, waited, hog, calm, NULL);
	CHECK_STR_EQ("is over", shown(),
		     "ingero  node-7  14:03:21  python 7 of root  1 min 12 s  last 10 s  cost 0.6 %\n"
		     "\n"
		     "operation        calls   rate   p50   p99   max time   blame\n"
		     "cudaStreamSync     120   12/s 1.0µs 120µs 2.0ms 20 %   device 100\n"
		     "cudaFree             5  0.5/s 1.0µs 5.0µs 2.0ms 10 %   cpu 100\n"
		     "  waited for the CPU behind hog (pid 99, root): 8.0 of 9.0 s\n"
		     "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
		     "q end  ? help  t since the start  s sort (time)  f findings (0)  p pause\n");
	type("t");
	CHECK_STR_EQ("is over, since the start", shown(),
		     "ingero  node-7  14:03:21  python 7 of root  1 min 12 s  since the start\n"
		     "\n"
		     "operation        calls   rate   p50   p99   max time   blame\n"
		     "cudaStreamSync   1 000   14/s 1.0µs 1.0ms 2.0ms 25 %   runnable 50 · device 50\n"
		     "cudaMalloc         100  1.4/s 1.0µs 100µs 2.0ms  4 %   cpu 100\n"
		     "cudaFree            10  0.1/s 1.0µs  10µs 2.0ms  3 %   cpu 100\n"
		     "  waited for the CPU behind hog (pid 99, root): 8.0 of 9.0 s\n"
		     "every call counted · nothing lost · kept: slow calls and 1 in 64\n"
		     "q end  ? help  t last seconds  s sort (time)  f findings (0)  p pause\n");
	world_end();
}

/* Where in the text; SIZE_MAX: nowhere */
static size_t place_of(const char *text, const char *word)
{
	const char *found = strstr(text, word);

	return found ? (size_t)(found - text) : SIZE_MAX;
}

static void order_test(void)
{
	static const struct figures_op first[] = { OP(7, "cudaMalloc", 300, [BLAME_VIEW_ON_CPU] = 3 * S),
						   OP(7, "cudaFree", 200, [BLAME_VIEW_ON_CPU] = 2 * S),
						   { 0 } };
	static const struct figures_op before[] = { OP(7, "cudaFree", 400, [BLAME_VIEW_ON_CPU] = 4 * S),
						    OP(7, "cudaMalloc", 300, [BLAME_VIEW_ON_CPU] = 3 * S),
						    { 0 } };
	static const struct figures_op turned[] = { OP(7, "cudaFree", 400, [BLAME_VIEW_ON_CPU] = 4 * S),
						    OP(7, "cudaMemset", 350, [BLAME_VIEW_ON_CPU] = 3500 * MS),
						    OP(7, "cudaMalloc", 300, [BLAME_VIEW_ON_CPU] = 3 * S),
						    { 0 } };
	static const struct figures_op idle[] = { OP(7, "cudaFree", 400, [BLAME_VIEW_ON_CPU] = 4 * S), { 0 } };
	const char *text;

	world_begin();
	figures_come(10 * S, turned, NULL, before, NULL);
	CHECK("at first sorted", place_of(shown(), "cudaFree") < place_of(shown(), "cudaMalloc"));
	figures_come(10 * S, turned, NULL, first, NULL);
	CHECK("and again", place_of(shown(), "cudaMalloc") < place_of(shown(), "cudaFree"));
	figures_come(20 * S, turned, NULL, turned, NULL);
	text = shown();
	CHECK("keep their places", place_of(text, "cudaMalloc") < place_of(text, "cudaFree"));
	CHECK("a new one has its own", place_of(text, "cudaMemset") < place_of(text, "cudaMalloc"));
	figures_come(30 * S, turned, NULL, idle, NULL);
	text = shown();
	CHECK("without calls", strstr(text, "cudaMalloc           0    0/s     -     -     -  0 %\n"));
	CHECK("in its place", place_of(text, "cudaMalloc") < place_of(text, "cudaFree"));
	figures_come(120 * S, turned, NULL, idle, NULL);
	CHECK("not for ever", !strstr(shown(), "cudaMalloc"));
	figures_come(121 * S, turned, NULL, turned, NULL);
	type("sss");
	text = shown();
	CHECK("by name", strstr(text, "s sort (name)"));
	CHECK("by name", place_of(text, "cudaFree") < place_of(text, "cudaMalloc") &&
				 place_of(text, "cudaMalloc") < place_of(text, "cudaMemset"));
	type("s");
	CHECK("by time again", place_of(shown(), "cudaMemset") < place_of(shown(), "cudaMalloc"));
	world_end();
}

static void scroll_test(void)
{
	static char names[40][16];
	static struct figures_op many[41];
	const char *text;

	for (unsigned int i = 0; i < 40; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "cudaOp%02u", i);
		many[i] = (struct figures_op)OP(7, names[i], 40 - i, [BLAME_VIEW_ON_CPU] = (40 - i) * MS);
	}
	world_begin();
	figures_come(72 * S, many, NULL, many, NULL);
	text = shown();
	CHECK("the first", strstr(text, "cudaOp00") && strstr(text, "1 to 18 of 40 rows"));
	type("\x1b[B\x1bOB");
	CHECK("two down", strstr(shown(), "3 to 20 of 40 rows"));
	type("\x1b[6~\x1b[A");
	CHECK("a page down, one up", strstr(shown(), "12 to 29 of 40 rows"));
	type("\x1b[6~\x1b[6~\x1b[6~");
	text = shown();
	CHECK("not beyond the end", strstr(text, "cudaOp39") && strstr(text, "23 to 40 of 40 rows"));
	type("\x1b[5~");
	CHECK("from there", strstr(shown(), "13 to 30 of 40 rows"));
	type("\x1b[99;99R\x1bt");
	CHECK("what is no key changes nothing, and behind Escape is a key", strstr(shown(), "since the start"));
	world_end();
}

static void finding_set(Ingero__V1__Finding *f, const char *id, const char *severity, uint64_t lost_ns, uint64_t end_ns)
{
	static char *advice[] = { (char *)(uintptr_t) "renice -n 19 -p 99" };

	*f = (Ingero__V1__Finding)INGERO__V1__FINDING__INIT;
	f->id = figures_text(id);
	f->kind = figures_text("cpu_contention");
	f->title = figures_text("cudaMalloc waited for the CPU");
	f->severity = figures_text(severity);
	f->process_name = figures_text("python");
	f->pid = 7;
	f->lost_ns = lost_ns;
	f->present_ns = lost_ns;
	f->end_unix_ns = end_ns;
	f->advice = advice;
	f->n_advice = 1;
}

static void findings_test(void)
{
	Ingero__V1__Finding findings[3], *list[] = { &findings[0], &findings[1], &findings[2] };

	world_begin();
	figures_come(72 * S, waited, NULL, calm, NULL);
	finding_set(&findings[0], "aaaaaaaa", "HIGH", 5 * S, 1);
	finding_set(&findings[1], "bbbbbbbb", "MEDIUM", 3 * S, 0);
	finding_set(&findings[2], "cccccccc", "HIGH", 2 * S, 0);
	world.totals.summary.findings = list;
	world.totals.summary.n_findings = ARRAY_SIZE(list);
	CHECK("in the room that is left: first those that go on",
	      strstr(shown(), "\n▲ HIGH cudaMalloc waited for the CPU in python (pid 7): 2.0 s lost so far\n"
			      "▲ MEDIUM cudaMalloc waited for the CPU in python (pid 7): 3.0 s lost so far\n"
			      "  HIGH cudaMalloc waited for the CPU in python (pid 7): 5.0 s lost, over after\n"
			      "       5.0 s\n"
			      "q end  ? help  t since the start  s sort (time)  f findings (3)  p pause\n"));
	world.style.rows = 11;
	CHECK("as many as fit",
	      strstr(shown(), "\n▲ HIGH cudaMalloc waited for the CPU in python (pid 7): 2.0 s lost so far\n"
			      "▲ MEDIUM cudaMalloc waited for the CPU in python (pid 7): 3.0 s lost so far\n"
			      "and 1 more: f\n"
			      "q end"));
	world.style.rows = 8;
	CHECK("one, if there is a line",
	      strstr(shown(), "\n▲ HIGH cudaMalloc waited for the CPU: 2.0 s lost so far\nq end"));
	type("f");
	CHECK("with what to do", strstr(shown(), "2.0 s lost so far\n  do: renice -n 19 -p 99\n"));
	type("jj");
	CHECK("scrolled", !strstr(shown(), "▲ HIGH") && strstr(shown(), "▲ MEDIUM"));
	type("?");
	world.style.rows = 24;
	CHECK("help", strstr(shown(), "q  end with the summary\n") && !strstr(shown(), "do: renice"));
	type("?");
	CHECK("the table", strstr(shown(), "cudaStreamSync "));
	type("fs");
	CHECK("what is of the table shows it", strstr(shown(), "cudaStreamSync ") && strstr(shown(), "sort (calls)"));
	world_end();
}

/* A process that becomes another program has a row for each, and they are alike; each is shown once. */
static void alike_test(void)
{
	static const struct figures_op often[] = {
		OP(7, "cudaFree", 1, [BLAME_VIEW_ON_CPU] = 1 * MS), OP(7, "cudaFree", 2, [BLAME_VIEW_ON_CPU] = 1 * MS),
		OP(7, "cudaFree", 3, [BLAME_VIEW_ON_CPU] = 1 * MS), OP(7, "cudaFree", 4, [BLAME_VIEW_ON_CPU] = 1 * MS),
		OP(7, "cudaFree", 5, [BLAME_VIEW_ON_CPU] = 1 * MS), { 0 },
	};
	static const struct figures_op last[] = { OP(7, "cudaFree", 5, [BLAME_VIEW_ON_CPU] = 1 * MS), { 0 } };
	const char *text;
	int n = 0;

	world_begin();
	for (int i = 0; i < 2; i++) {
		figures_come(72 * S, often, NULL, often, NULL);
		n = 0;
		for (text = shown(); (text = strstr(text, "cudaFree ")); text++)
			n++;
		CHECK_INT_EQ("each once", n, 5);
	}
	figures_come(72 * S, last, NULL, last, NULL);
	text = strstr(shown(), "cudaFree ");
	CHECK("the last", text && !strstr(text + 1, "cudaFree "));
	world_end();
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");

	over_test();
	order_test();
	alike_test();
	scroll_test();
	findings_test();
	return check_result();
}
