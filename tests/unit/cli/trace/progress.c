// SPDX-License-Identifier: Apache-2.0
/*
 * Progress lines: what one says of its interval alone, and which are left out. Time is the figures' own.
 */
#include "cli/trace/progress.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/unit/libingero/answers/account/accounts.h"
#include "tests/support/check.h"

#define WAIT "cudaStreamSynchronize"

/* One process in the figures at the end of an interval. */
struct moment {
	uint64_t window_s, count, errors, on_cpu_ms, runnable_ms, hog_ms, stuck_s;
	uint32_t second_pid; /* of another process that called once in all; 0: none */
};

static const Ingero__V1__Summary *moment_build(const struct moment *m, struct figures *f)
{
	struct figures_op ops[] = {
		{ .pid = 4711,
		  .process = "python",
		  .op = WAIT,
		  .count = m->count,
		  .errors = m->errors,
		  .blame_ns = { [BLAME_VIEW_ON_CPU] = m->on_cpu_ms * MS,
				[BLAME_VIEW_RUNNABLE] = m->runnable_ms * MS } },
		{ .pid = m->second_pid, .process = "other", .op = m->second_pid ? "cudaFree" : NULL, .count = 1 },
		{ 0 },
	};
	const struct figures_in_flight calls[] = {
		{ .pid = 4711, .process = "python", .op = m->stuck_s ? WAIT : NULL, .age_ns = m->stuck_s * S },
		{ 0 },
	};
	const struct figures_behind behind[] = {
		{ .victim_pid = 4711, .pid = 6603, .uid = 0, .comm = m->hog_ms ? "hog" : NULL, .ns = m->hog_ms * MS },
		{ 0 },
	};

	return figures_build(f, m->window_s * S, m->count ? ops : NULL, calls, behind);
}

static const struct {
	const char *name;
	struct moment before, now; /* window 0: the first interval */
	uint64_t called_s;
	const char *lead;
	unsigned int columns, rows;
	const char *want;
} lines[] = {
	{ "of the interval alone",
	  { .window_s = 10, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 20, .count = 6000, .on_cpu_ms = 11000, .runnable_ms = 6000, .hog_ms = 5000 },
	  10,
	  "",
	  80,
	  0,
	  "00:00:20  python 4711  calls 500/s  ▲ cudaStreamSync 80 %  behind hog (pid 6603, "
	  "root)  runnable 75 · cpu 25\n" },
	{ "the first",
	  { .window_s = 0 },
	  { .window_s = 10, .count = 1000, .on_cpu_ms = 9000 },
	  0,
	  "",
	  80,
	  0,
	  "00:00:10  python 4711  calls 100/s  cudaStreamSync 90 %  cpu 100\n" },
	{ "on a terminal what does not fit is left out",
	  { .window_s = 10, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 20, .count = 6000, .on_cpu_ms = 11000, .runnable_ms = 6000, .hog_ms = 5000 },
	  10,
	  "ingero",
	  80,
	  24,
	  "ingero  00:00:20  python 4711  calls 500/s  ▲ cudaStreamSync 80 %\n" },
	{ "calls that failed",
	  { .window_s = 10, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 20, .count = 2000, .errors = 7, .on_cpu_ms = 18000 },
	  10,
	  "",
	  80,
	  0,
	  "00:00:20  python 4711  calls 100/s  failed 7  cudaStreamSync 90 %  cpu 100\n" },
	{ "two processes",
	  { .window_s = 10, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 20, .count = 2000, .on_cpu_ms = 18000, .second_pid = 42 },
	  10,
	  "",
	  80,
	  0,
	  "00:00:20  2 processes  calls 100/s  cudaStreamSync 90 %  cpu 100\n" },
	{ "nobody has called yet",
	  { .window_s = 0 },
	  { .window_s = 10 },
	  0,
	  "",
	  80,
	  0,
	  "00:00:10  no calls yet, after 10.0 s\n" },
	{ "nobody calls any more",
	  { .window_s = 30, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 40, .count = 1000, .on_cpu_ms = 9000 },
	  20,
	  "",
	  80,
	  0,
	  "00:00:40  no calls for 20.0 s\n" },
	{ "a call that goes on all the time",
	  { .window_s = 30, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 40, .count = 1000, .on_cpu_ms = 9000, .stuck_s = 19 },
	  20,
	  "",
	  80,
	  0,
	  "00:00:40  no calls for 20.0 s  python 4711 in cudaStreamSync for 19.0 s\n" },
	{ "one that has just begun",
	  { .window_s = 30, .count = 1000, .on_cpu_ms = 9000 },
	  { .window_s = 40, .count = 1000, .on_cpu_ms = 9000, .stuck_s = 3 },
	  20,
	  "",
	  80,
	  0,
	  "00:00:40  no calls for 20.0 s\n" },
};

static void lines_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct text_style style = { .is_utf8 = true, .columns = lines[i].columns, .rows = lines[i].rows };
		struct trace_progress progress = { .pace = TRACE_PACE_DEFAULT, .called_ns = lines[i].called_s * S };
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct figures now, before;
		const Ingero__V1__Summary *then =
			lines[i].before.window_s ? moment_build(&lines[i].before, &before) : NULL;

		(void)moment_build(&lines[i].now, &now);
		now.summary.timestamp_unix_ns = lines[i].now.window_s * S;
		CHECK_INT_EQ(lines[i].name,
			     trace_progress_append(&progress, &now.summary, then, lines[i].lead, &style, &out), 0);
		CHECK_STR_EQ(lines[i].name, buf_text(&out), lines[i].want);
	}
}

/* What kept the thread most from its work in the interval, where that took more time than any operation. */
static void idle_test(void)
{
	static const struct {
		const char *name, *class, *kind;
		uint64_t before_ms, now_ms, busy_ms; /* of the whole time, and between calls on the CPU */
		const char *want;
	} rows[] = {
		{ "a pipe", "network", "pipe", 1000, 10800, 9200,
		  "00:00:20  python 4711  calls 500/s  ▲ waits for a pipe 98 %  cudaStreamSync 1.0 %  cpu 100\n" },
		{ "no CPU", "runnable", NULL, 0, 6000, 14000,
		  "00:00:20  python 4711  calls 500/s  ▲ ready behind hog 60 %  cudaStreamSync 1.0 %  cpu 100\n" },
		{ "a quota", "quota", NULL, 1000, 8000, 12000,
		  "00:00:20  python 4711  calls 500/s  ▲ out of CPU quota 70 %  cudaStreamSync 1.0 %  cpu 100\n" },
		{ "sleep", "sleep", NULL, 0, 9000, 11000,
		  "00:00:20  python 4711  calls 500/s  sleeping 90 %  cudaStreamSync 1.0 %  cpu 100\n" },
		{ "earlier alone", "network", "pipe", 9000, 9050, 10950,
		  "00:00:20  python 4711  calls 500/s  cudaStreamSync 1.0 %  cpu 100\n" },
		{ "its own work", "on_cpu", NULL, 0, 9900, 10000,
		  "00:00:20  python 4711  calls 500/s  cudaStreamSync 1.0 %  cpu 100\n" },
	};
	static struct account_made now_made, then_made;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct part_row part = { .where = "between", .class = rows[i].class, .kind = rows[i].kind, .name = "" };
		struct part_row now_rows[2] = { part, { .where = "between", .class = "on_cpu" } };
		struct part_row then_rows[2] = { part, { .where = "between", .class = "on_cpu" } };
		struct text_style style = { .is_utf8 = true, .columns = 80 };
		struct trace_progress progress = { .pace = TRACE_PACE_DEFAULT, .called_ns = 10 * S };
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		Ingero__V1__Account *now_account, *then_account;
		struct figures now, before;

		if (strcmp(rows[i].class, "runnable") == 0) {
			now_rows[0].by = then_rows[0].by = "hog";
			now_rows[0].by_pid = then_rows[0].by_pid = 6603;
		}
		now_rows[0].ns = rows[i].now_ms * MS;
		now_rows[1].ns = rows[i].busy_ms * MS;
		then_rows[0].ns = MAX(rows[i].before_ms, 1) * MS;
		then_rows[1].ns = (10000 - rows[i].before_ms) * MS;
		now_account = account_make(&now_made, now_rows, 2);
		then_account = account_make(&then_made, then_rows, 2);
		(void)moment_build(&(struct moment){ .window_s = 10, .count = 1000, .on_cpu_ms = 100 }, &before);
		(void)moment_build(&(struct moment){ .window_s = 20, .count = 6000, .on_cpu_ms = 200 }, &now);
		now.summary.timestamp_unix_ns = 20 * S;
		now.summary.accounts = &now_account;
		before.summary.accounts = &then_account;
		now.summary.n_accounts = before.summary.n_accounts = 1;
		CHECK_INT_EQ(rows[i].name,
			     trace_progress_append(&progress, &now.summary, &before.summary, "", &style, &out), 0);
		CHECK_STR_EQ(rows[i].name, buf_text(&out), rows[i].want);
	}
}

/* Calls in each second from the first on; '!' of the same length says where a line is. */
static const struct {
	const char *name;
	struct trace_pace pace;
	const char *calls; /* a digit: tens of calls a second */
	const char *want;
} paces[] = {
	{ "each interval", { 1 * S, 0, 0 }, "55555", "!!!!!" },
	{ "every other second", { 2 * S, 0, 0 }, "555555", ".!.!.!" },
	{ "none at all", { 0, 0, 0 }, "55555", "....." },
	{ "idle ones: the first", { 1 * S, 0, 0 }, "0000050000", "!....!!..." },
	{ "idle ones: the first and by the heartbeat", { 1 * S, 0, 4 * S }, "00000000000", "!...!...!.." },
	{ "what is busy again is told at once", { 1 * S, 0, 60 * S }, "0000100001", "!...!!...!" },
	{ "the same within the dead band", { 1 * S, 20, 0 }, "555655656", "!........" },
	{ "beyond the dead band of the last line", { 1 * S, 20, 0 }, "567895555", "!.!.!!..." },
	{ "within the dead band, and the heartbeat", { 1 * S, 20, 3 * S }, "5555555", "!..!..!" },
	{ "into idleness and out of it, whatever the dead band", { 1 * S, 1000, 0 }, "5550005", "!..!..!" },
};

static void paces_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(paces); i++) {
		struct text_style style = { .is_utf8 = true, .columns = 80 };
		struct trace_progress progress = { .pace = paces[i].pace };
		struct moment moments[2] = { { .window_s = 0 } };
		struct figures figures[2];
		bool has_before = false;
		char got[32] = "";

		for (size_t k = 0; paces[i].calls[k]; k++) {
			CLEANUP(buf_done) struct buf out = BUF_INIT;

			moments[1] = moments[0];
			moments[1].window_s = k + 1;
			moments[1].count += 10 * (uint64_t)(paces[i].calls[k] - '0');
			moments[0].window_s = k + 1;
			moments[0].count = moments[1].count;
			(void)moment_build(&moments[1], &figures[1]);
			if (trace_progress_is_due(&progress, moments[1].window_s * S)) {
				CHECK_INT_EQ(paces[i].name,
					     trace_progress_append(&progress, &figures[1].summary,
								   has_before ? &figures[0].summary : NULL, "", &style,
								   &out),
					     0);
				(void)moment_build(&moments[1], &figures[0]);
				has_before = true;
			}
			got[k] = out.n ? '!' : '.';
		}
		CHECK_STR_EQ(paces[i].name, got, paces[i].want);
	}
}

/* Figures come by a timer: a little early is in time, and late ones do not move the next. */
static void due_test(void)
{
	static const struct {
		const char *name;
		uint64_t window_ms;
		bool want;
	} steps[] = {
		{ "too early", 9000, false },	 { "a little early", 9990, true },     { "its second", 10990, false },
		{ "late", 21700, true },	 { "on the grid again", 29900, true }, { "at speed", 250000, true },
		{ "after that", 255000, false },
	};
	struct trace_progress progress = { .pace = TRACE_PACE_DEFAULT };
	struct text_style style = { .is_utf8 = true, .columns = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		struct figures now;
		bool is_due = trace_progress_is_due(&progress, steps[i].window_ms * MS);

		CHECK_INT_EQ(steps[i].name, is_due, steps[i].want);
		(void)figures_build(&now, steps[i].window_ms * MS, NULL, NULL, NULL);
		if (is_due)
			(void)trace_progress_append(&progress, &now.summary, NULL, "", &style, &out);
	}
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");
	(void)setenv("TZ", "UTC0", 1);
	tzset();

	lines_test();
	idle_test();
	paces_test();
	due_test();
	return check_result();
}
