// SPDX-License-Identifier: Apache-2.0
/*
 * Where the wall clock goes, while tracing and in the summary; without accounts what a main thread waits for.
 */
#include <locale.h>

#include "cli/trace/live.h"
#include "cli/trace/screen.h"
#include "tests/support/check.h"
#include "tests/unit/libingero/answers/account/accounts.h"

static const struct text_style style = { .is_utf8 = true, .columns = 80, .rows = 24 };
static const struct trace_setting setting = { .scope = "of alice", .kept = "slow calls and 1 in 64" };
static const struct machine_load machine = { .cpu_ratio = -1, .memory_ratio = -1, .load = -1, .pressure_ratio = -1 };

static const struct figures_op ops[] = {
	{ .pid = 4711,
	  .process = "python3",
	  .op = "cudaStreamSynchronize",
	  .count = 9,
	  .blame_ns = { [BLAME_VIEW_DEVICE] = 11 * S } },
	{ .pid = 4711,
	  .process = "python3",
	  .source = "host",
	  .op = "wait_main",
	  .count = 9,
	  .blame_ns = { [BLAME_VIEW_NETWORK] = 36 * S } },
	{ 0 },
};

static struct figures f;

static const char *live_screen(void)
{
	struct trace_live live = { .page = TRACE_PAGE_TABLE };
	struct trace_screen screen = { .setting = &setting,
				       .live = &live,
				       .figures = &f.summary,
				       .machine = &machine,
				       .host = "node-7",
				       .clock = "14:03:21" };
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("screen", trace_screen_append(&screen, &style, &out), 0);
	trace_live_done(&live);
	return buf_text(&out);
}

static const char *summary(void)
{
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("summary", trace_report_summary(&setting, &f.summary, false, &style, &out), 0);
	return buf_text(&out);
}

int main(void)
{
	static struct account_made made[2];
	Ingero__V1__Account *list[2];

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");
	(void)figures_build(&f, 60 * S, ops, NULL, NULL);
	CHECK("without accounts", !strstr(live_screen(), "waits for a pipe") && strstr(live_screen(), "main thread"));
	CHECK("without accounts", !strstr(summary(), "waits for a pipe") && strstr(summary(), "main thread"));
	CHECK("and a sentence on it", strstr(summary(), "was in no CUDA call"));

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = account_make(&made[i], account_starved, ARRAY_SIZE(account_starved));
	f.summary.accounts = list;
	f.summary.n_accounts = 1;
	CHECK("a line", strstr(live_screen(), "\n60 % waits for a pipe · 19 % cudaStreamSync · 14 % Python\n"));
	account_make_waiting(&made[0], &account_waits);
	CHECK("and what it waits for now",
	      strstr(live_screen(),
		     " Python\nbetween calls: waits 14.2 s so far for a pipe from loader (4720): pipe:[4026]\n"));
	made[0].account.waiting->ns = 700 * MS;
	CHECK("not what has only begun", !strstr(live_screen(), "so far"));
	made[0].account.waiting->ns = 14200 * MS;
	CHECK("nor what is over", !strstr(summary(), "so far"));
	CHECK("and not the wait", !strstr(live_screen(), "main thread"));
	CHECK("nor a sentence on it", !strstr(summary(), "was in no CUDA call"));
	CHECK("five lines",
	      strstr(summary(), "python3 4711 · main thread · 1 min 0 s\n   60 %  ▇▇▇▇▇      36.0s  waits"));
	CHECK("five lines",
	      strstr(summary(), "\n    2 %  ▇           1.2s  other                  cudaLaunchKernel 50 %\n\n"));

	list[1]->pid = list[1]->tid = 4712;
	f.summary.n_accounts = 2;
	CHECK("a line each", strstr(live_screen(), "\npython3 4711: 60 % waits for a pipe") &&
				     strstr(live_screen(), "\npython3 4712: 60 % waits for a pipe"));
	CHECK("a line each", strstr(summary(), "\npython3 4712: 60 % waits for a pipe"));
	return check_result();
}
