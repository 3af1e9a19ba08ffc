// SPDX-License-Identifier: Apache-2.0
/*
 * show_screens WHAT ROWS COLUMNS utf8|ascii color|plain: prints the live screen or the summary of fixed figures, as on
 * a terminal of that size. WHAT: a row of whats[].
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/trace/screen.h"
#include "libingero/answers/trace/report.h"
#include "tests/unit/libingero/answers/account/accounts.h"

#define CROWD_PROCESSES 8u
#define CROWD_OPS 4u

static char session[] = "session", nothing[] = "";
static Ingero__V1__Start start = { .base = PROTOBUF_C_MESSAGE_INIT(&ingero__v1__start__descriptor),
				   .back_end = session,
				   .back_end_reason = nothing };
static const struct trace_setting setting = {
	.scope = "of alice", .kept = "slow calls and 1 in 64", .start = &start, .explain = "ingero explain"
};
static const struct machine_load machine = {
	.cpu_ratio = 0.78, .memory_ratio = 0.41, .load = 6.1, .pressure_ratio = 0.31
};

static const struct figures_op hog_ops[] = {
	{ .pid = 4711,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .count = 9829,
	  .p50_ns = 1200 * US,
	  .p95_ns = 90 * MS,
	  .p99_ns = 142 * MS,
	  .max_ns = 143 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 2500 * MS,
			[BLAME_VIEW_RUNNABLE] = 17400 * MS,
			[BLAME_VIEW_DEVICE] = 31200 * MS } },
	{ .pid = 4711,
	  .process = "python",
	  .op = "cudaLaunchKernel",
	  .count = 412883,
	  .errors = 3,
	  .p50_ns = 4100,
	  .p95_ns = 30 * US,
	  .p99_ns = 61 * US,
	  .max_ns = 97 * US,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 2000 * MS, [BLAME_VIEW_RUNNABLE] = 150 * MS } },
	{ 0 },
};
static const struct figures_op hog_now_ops[] = {
	{ .pid = 4711,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .count = 1311,
	  .p50_ns = 1200 * US,
	  .p95_ns = 90 * MS,
	  .p99_ns = 142 * MS,
	  .max_ns = 143 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 300 * MS,
			[BLAME_VIEW_RUNNABLE] = 2400 * MS,
			[BLAME_VIEW_DEVICE] = 4200 * MS } },
	{ 0 },
};
static const struct figures_op calm_ops[] = {
	{ .pid = 4711,
	  .process = "python",
	  .op = "cudaStreamSynchronize",
	  .count = 1311,
	  .p50_ns = 1200 * US,
	  .p95_ns = 1300 * US,
	  .p99_ns = 1400 * US,
	  .max_ns = 2 * MS,
	  .blame_ns = { [BLAME_VIEW_ON_CPU] = 300 * MS, [BLAME_VIEW_DEVICE] = 4200 * MS } },
	{ 0 },
};
static const struct figures_behind hog_behind[] = {
	{ .victim_pid = 4711, .pid = 6603, .comm = "logrotate", .ns = 15400 * MS },
	{ .victim_pid = 4711, .pid = 6610, .comm = "日本語", .ns = 1900 * MS },
	{ 0 },
};
static const struct figures_in_flight stuck[] = {
	{ .pid = 4711,
	  .tid = 4712,
	  .process = "python",
	  .op = "cudaFree",
	  .age_ns = 10200 * MS,
	  .device_ns = 10000 * MS },
	{ 0 },
};

/* Eight processes of four operations each. */
static const struct figures_op *crowd(void)
{
	static const char *const ops[CROWD_OPS] = { "cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize",
						    "ncclAllReduce" };
	static struct figures_op rows[CROWD_PROCESSES * CROWD_OPS + 1];

	for (uint32_t i = 0; i < CROWD_PROCESSES * CROWD_OPS; i++)
		rows[i] = (struct figures_op){ .pid = 50000 + i / CROWD_OPS,
					       .process = "python3",
					       .op = ops[i % CROWD_OPS],
					       .count = 1000 * (i + 1),
					       .p50_ns = 10 * US,
					       .p95_ns = 20 * US,
					       .p99_ns = (30 + i) * US,
					       .max_ns = 40 * MS,
					       .blame_ns = { [BLAME_VIEW_ON_CPU] = (i + 1) * 10 * MS } };
	return rows;
}

static void findings_set(Ingero__V1__Summary *summary)
{
	static const struct {
		const char *id, *severity, *title;
		uint64_t lost_ns, end_ns;
	} rows[] = {
		{ "8f3a2c00", "HIGH", "cudaStreamSynchronize waited for the CPU", 17 * S, 0 },
		{ "1d22e900", "MEDIUM", "cudaMalloc slowed down", 2 * S, 1 },
	};
	static char *advice[] = { (char *)(uintptr_t) "renice -n 19 -p $(ls /proc/6603/task)" };
	static Ingero__V1__Finding findings[ARRAY_SIZE(rows)], *list[ARRAY_SIZE(rows)];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__Finding *f = list[i] = &findings[i];

		*f = (Ingero__V1__Finding)INGERO__V1__FINDING__INIT;
		f->id = figures_text(rows[i].id);
		f->severity = figures_text(rows[i].severity);
		f->title = figures_text(rows[i].title);
		f->process_name = figures_text("python");
		f->pid = 4711;
		f->lost_ns = rows[i].lost_ns;
		f->present_ns = rows[i].lost_ns;
		f->end_unix_ns = rows[i].end_ns;
		f->advice = advice;
		f->n_advice = ARRAY_SIZE(advice);
	}
	summary->findings = list;
	summary->n_findings = ARRAY_SIZE(list);
}

/* Account of a main thread that was starved, and is in a wait. */
static void accounts_set(Ingero__V1__Summary *summary)
{
	static struct account_made made;
	static Ingero__V1__Account *list[1];

	list[0] = account_make(&made, account_starved, ARRAY_SIZE(account_starved));
	list[0]->process_name = figures_text("python");
	account_make_waiting(&made, &account_waits);
	summary->accounts = list;
	summary->n_accounts = 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *keys;
		const struct figures_op *totals, *recent; /* NULL: figures of crowd() */
	} whats[] = {
		{ "live", "", hog_ops, hog_now_ops },
		{ "crowd", "", NULL, NULL },
		{ "over", "", hog_ops, calm_ops },
		{ "total", "t", hog_ops, calm_ops },
		{ "help", "?", hog_ops, hog_now_ops },
		{ "findings", "f", hog_ops, hog_now_ops },
		{ "summary", "", hog_ops, hog_now_ops },
		{ "account", "", hog_ops, hog_now_ops },
		{ "account-summary", "", hog_ops, hog_now_ops },
	};
	static struct figures totals, recent;
	struct text_style style = { .is_utf8 = argc > 4 && strcmp(argv[4], "utf8") == 0,
				    .has_color = argc > 5 && strcmp(argv[5], "color") == 0 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	int r = -1;

	if (argc != 6 || !setlocale(LC_CTYPE, "C.UTF-8"))
		return 2;
	style.rows = (unsigned int)atoi(argv[2]);
	style.columns = (unsigned int)atoi(argv[3]);
	for (size_t i = 0; i < ARRAY_SIZE(whats); i++) {
		struct trace_live live = { .page = TRACE_PAGE_TABLE };
		struct trace_screen screen = { .setting = &setting,
					       .live = &live,
					       .figures = &totals.summary,
					       .recent = &recent.summary,
					       .machine = &machine,
					       .host = "node-7",
					       .clock = "14:03:21" };

		if (strcmp(whats[i].name, argv[1]) != 0)
			continue;
		(void)figures_build(&totals, 72 * S, whats[i].totals ? whats[i].totals : crowd(),
				    whats[i].recent == hog_now_ops ? stuck : NULL, hog_behind);
		(void)figures_build(&recent, 10 * S, whats[i].recent ? whats[i].recent : crowd(), NULL,
				    whats[i].recent == calm_ops ? NULL : hog_behind);
		findings_set(&totals.summary);
		if (strncmp(argv[1], "account", strlen("account")) == 0) {
			accounts_set(&totals.summary);
			accounts_set(&recent.summary);
		}
		for (const char *key = whats[i].keys; *key; key++)
			(void)trace_live_key(&live, *key);
		r = strstr(argv[1], "summary") ? trace_report_summary(&setting, &totals.summary, false, &style, &out)
					       : trace_screen_append(&screen, &style, &out);
		trace_live_done(&live);
	}
	(void)fputs(buf_text(&out), stdout);
	return r < 0;
}
