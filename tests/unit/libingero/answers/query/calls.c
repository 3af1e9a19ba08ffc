// SPDX-License-Identifier: Apache-2.0
/*
 * Kept calls in each form, days that change between them, names that would break a
 * line, and the footer: kept against counted.
 */
#include "libingero/answers/query/calls.h"

#include <locale.h>
#include <time.h>

#include "../figures.h"
#include "tests/support/check.h"

#define AT(seconds) ((1769864400ull + (seconds)) * NSEC_PER_SEC) /* 2026-01-31 14:00:00 in Berlin and on */

static const struct text_style plain = { .is_utf8 = true, .columns = 80 };
static Ingero__V1__Event events[3], *list[] = { &events[0], &events[1], &events[2] };
static Ingero__V1__Blame blame;
static const char *id = "1.2.3";

static Ingero__V1__EventsReply reply_make(void)
{
	static const uint64_t ns[BLAME_VIEW_COUNT] = { [BLAME_VIEW_RUNNABLE] = 68 * MS, [BLAME_VIEW_DEVICE] = 32 * MS };
	Ingero__V1__EventsReply reply = INGERO__V1__EVENTS_REPLY__INIT;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		events[i] = (Ingero__V1__Event)INGERO__V1__EVENT__INIT;
		events[i].pid = 4711;
		events[i].tid = 4712;
		events[i].process_name = figures_text("python");
		events[i].source = figures_text("cuda");
		events[i].op = figures_text("cudaStreamSynchronize");
		events[i].id = figures_text(id);
		events[i].duration_ns = 100 * MS;
	}
	events[0].timestamp_unix_ns = AT(0) - 14 * 3600 * S - 1; /* the last nanosecond of the day before */
	events[1].timestamp_unix_ns = AT(0) + 123456789;
	events[1].blame_ns = figures_blame(&blame, ns);
	events[2].timestamp_unix_ns = AT(1);
	events[2].ret_code = 2;
	events[2].op = figures_text("cudaMalloc");
	events[2].process_name = figures_text("a\nb\t\x1b[2J");
	reply.events = list;
	reply.n_events = ARRAY_SIZE(events);
	return reply;
}

/* A message has each stack once: an event names it by its id. */
static void stack_test(void)
{
	struct calls calls = { .form = ROWS_JSON, .style = plain, .now_unix_ns = AT(300) };
	Ingero__V1__EventsReply reply = reply_make();
	static Ingero__V1__StackFrame frame = INGERO__V1__STACK_FRAME__INIT, *frames[] = { &frame };
	static Ingero__V1__Stack stack = INGERO__V1__STACK__INIT, *stacks[] = { &stack },
				 ids[] = { INGERO__V1__STACK__INIT, INGERO__V1__STACK__INIT };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	char *rest = NULL, *line[3];

	frame.symbol = figures_text("main+0x1");
	stack.id = ids[0].id = 7;
	stack.frames = frames;
	stack.n_frames = 1;
	stack.is_complete = 1;
	ids[1].id = 8;
	events[0].stack = &ids[0];
	events[1].stack = &ids[1];
	reply.stacks = stacks;
	reply.n_stacks = 1;
	CHECK_INT_EQ("take", calls_take(&calls, &reply, &out), 0);
	line[0] = strtok_r((char *)(uintptr_t)buf_text(&out), "\n", &rest);
	line[1] = strtok_r(NULL, "\n", &rest);
	line[2] = strtok_r(NULL, "\n", &rest);
	CHECK("lines", line[0] && line[1] && line[2]);
	CHECK("joined", strstr(line[0], ",\"stack_id\":7,\"stack\":[{\"symbol\":\"main+0x1\"}],\"stack_complete\":"
					"true}"));
	CHECK("not in the message", strstr(line[1], ",\"stack_id\":8,\"stack\":[],\"stack_complete\":false}"));
	CHECK("none taken", !strstr(line[2], "stack"));
}

/* Never wider than the terminal, and each id whole at the end of its line. */
static void wide_test(unsigned int columns)
{
	struct calls calls = { .form = ROWS_TABLE, .style = plain, .now_unix_ns = AT(300) };
	Ingero__V1__EventsReply reply = reply_make();
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	size_t n_ids = 0;

	calls.style.columns = columns;
	CHECK_INT_EQ("take", calls_take(&calls, &reply, &out), 0);
	events[1].id = figures_text("12.112ba7e1856f.4204711"); /* of a later message: longer */
	reply.n_events = 2;
	CHECK_INT_EQ("take", calls_take(&calls, &reply, &out), 0);
	for (char *rest = NULL, *line = strtok_r((char *)(uintptr_t)buf_text(&out), "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		size_t n = strlen(line);

		CHECK(line, text_columns(line) <= columns);
		n_ids += n > 8 && strcmp(line + n - 8, ".4204711") == 0;
	}
	CHECK_INT_EQ("ids", n_ids, 5);
}

static void form_test(enum rows_form form, unsigned int columns, const char *want)
{
	struct calls calls = { .form = form, .style = plain, .now_unix_ns = AT(300) };
	Ingero__V1__EventsReply reply = reply_make();
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	calls.style.columns = columns;
	CHECK_INT_EQ("take", calls_take(&calls, &reply, &out), 0);
	CHECK_STR_EQ("form", buf_text(&out), want);
	CHECK_INT_EQ("form", calls.n, 3);
}

static void footer_test(void)
{
	Ingero__V1__EventsEnd end = INGERO__V1__EVENTS_END__INIT;
	Ingero__V1__Window window = INGERO__V1__WINDOW__INIT;
	Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
	struct calls calls = { .now_unix_ns = AT(300), .n = 3 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	end.matched = 3;
	end.counted = 422712;
	end.window = &window;
	end.lost = &lost;
	window.from_unix_ns = AT(0);
	window.to_unix_ns = AT(300);
	calls_footer_append(&calls, &end, &plain, &out);
	CHECK_STR_EQ("all of them", buf_text(&out),
		     "3 recorded events of 422 712 counted events, 14:00:00 to 14:05:00; 'ingero\n"
		     "explain ID' shows one\n"
		     "every call counted · nothing lost\n");

	buf_consume(&out, out.n);
	end.matched = 9829;
	lost.ring_full = 5;
	calls_footer_append(&calls, &end, &plain, &out);
	CHECK_STR_EQ("some of them", buf_text(&out),
		     "the newest 3 of 9 829 recorded events of 422 712 counted events, 14:00:00 to\n"
		     "14:05:00; '--limit' shows more; 'ingero explain ID' shows one\n"
		     "every call counted · 5 single calls not kept (ring full: try a larger\n"
		     "'--ringbuf-size')\n");

	buf_consume(&out, out.n);
	lost.ring_full = 0;
	end.matched = 3;
	calls.words = "the last 1h";
	calls_footer_append(&calls, &end, &plain, &out);
	CHECK_STR_EQ("of a window by default", buf_text(&out),
		     "3 recorded events of 422 712 counted events, 14:00:00 to 14:05:00, the last 1h;\n"
		     "'ingero explain ID' shows one\n"
		     "every call counted · nothing lost\n");
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	form_test(ROWS_TABLE, 100,
		  "time             process        operation        took  most of it                 id\n"
		  "2026-01-30\n"
		  "23:59:59.999999  python 4711    cudaStreamSync  100ms                             1.2.3\n"
		  "2026-01-31\n"
		  "14:00:00.123456  python 4711    cudaStreamSync  100ms  runnable 68 %              1.2.3\n"
		  "14:00:01.000000  a?b??[2J 4711  cudaMalloc      100ms  cudaErrorMemoryAllocation  1.2.3\n");
	id = "1.112ba7e1856.4204711";
	form_test(ROWS_TABLE, 80,
		  "time     process       operation       took most of it    id\n"
		  "2026-01-30\n"
		  "23:59:59 python 4711   cudaStreamSync 100ms               1.112ba7e1856.4204711\n"
		  "2026-01-31\n"
		  "14:00:00 python 4711   cudaStreamSync 100ms runnable 68 % 1.112ba7e1856.4204711\n"
		  "14:00:01 a?b??[2J 4711 cudaMalloc     100ms               1.112ba7e1856.4204711\n"
		  "         cudaErrorMemoryAllocation\n");
	form_test(ROWS_TABLE, 60,
		  "time     process  operation       took id\n"
		  "2026-01-30\n"
		  "23:59:59 py… 4711 cudaStreamSync 100ms 1.112ba7e1856.4204711\n"
		  "2026-01-31\n"
		  "14:00:00 py… 4711 cudaStreamSync 100ms 1.112ba7e1856.4204711\n"
		  "14:00:01 a?… 4711 cudaMalloc     100ms 1.112ba7e1856.4204711\n"
		  "         cudaErrorMemoryAllocation\n");
	for (unsigned int columns = 60; columns < 200; columns++)
		wide_test(columns);
	id = "1.2.3";
	form_test(ROWS_LINES, 80,
		  "timestamp\tpid\ttid\tprocess_name\tsource\top\tduration_ns\tret_code\tid\n"
		  "2026-01-30T22:59:59.999999999Z\t4711\t4712\tpython\tcuda\tcudaStreamSynchronize\t100000000\t0"
		  "\t1.2.3\n"
		  "2026-01-31T13:00:00.123456789Z\t4711\t4712\tpython\tcuda\tcudaStreamSynchronize\t100000000\t0"
		  "\t1.2.3\n"
		  "2026-01-31T13:00:01.000000000Z\t4711\t4712\ta?b??[2J\tcuda\tcudaMalloc\t100000000\t2\t1.2.3\n");
	stack_test();
	footer_test();
	return check_result();
}
