// SPDX-License-Identifier: Apache-2.0
/*
 * The report of all accounts: threads that drive, then the others, what is missing, and the sentence for none.
 */
#include "libingero/answers/account/report.h"

#include <locale.h>
#include <time.h>

#include "accounts.h"
#include "tests/support/check.h"

#define AT(seconds) ((1769864400ull + (seconds)) * S) /* 2026-01-31 14:00:00 in Berlin and on */

static const struct text_style plain = { .is_utf8 = true, .columns = 80 };
static Ingero__V1__BlameReply reply;
static Ingero__V1__Window window;
static Ingero__V1__Lost lost;
static const char *words;
static bool has_pids, is_whole;

static const char *report(const char *op)
{
	const struct account_question q = { .now_unix_ns = AT(300),
					    .from_unix_ns = is_whole ? 0 : AT(0),
					    .to_unix_ns = is_whole ? 0 : AT(300),
					    .has_pids = has_pids,
					    .whose = "of alice",
					    .words = words,
					    .op = op };
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("report", account_report_append(&q, &reply, &plain, &out), 0);
	return buf_text(&out);
}

static void reply_set(void)
{
	reply = (Ingero__V1__BlameReply)INGERO__V1__BLAME_REPLY__INIT;
	window = (Ingero__V1__Window)INGERO__V1__WINDOW__INIT;
	window.from_unix_ns = AT(10);
	window.to_unix_ns = AT(70);
	reply.window = &window;
	lost = (Ingero__V1__Lost)INGERO__V1__LOST__INIT;
	reply.lost = &lost;
}

int main(void)
{
	static const struct part_row idle[] = { { .where = "between", .class = "lock", .ns = 60 * S } };
	static struct account_made made[2];
	Ingero__V1__Account *list[2];
	Ingero__V1__Gap gap = INGERO__V1__GAP__INIT, *gaps[] = { &gap };

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();

	reply_set();
	CHECK_STR_EQ("none", report(NULL),
		     "no thread of alice made a traced call in what was recorded from 14:00:10 to\n"
		     "14:01:10; '--since' covers a longer time, 'ingero explain' shows what is\n"
		     "recorded, and 'ingero check' what this kernel cannot measure\n");
	has_pids = is_whole = true;
	CHECK_STR_EQ("none of a process, in the whole file", report(NULL),
		     "no thread of alice made a traced call in what was recorded from 14:00:10 to\n"
		     "14:01:10; without '--pid' all processes are listed, 'ingero explain' shows what\n"
		     "is recorded, and 'ingero check' what this kernel cannot measure\n");
	window.from_unix_ns = window.to_unix_ns = 0;
	CHECK("none in the whole file",
	      strstr(report(NULL), "no thread of alice made a traced call in the recording; without "));
	reply_set();
	has_pids = is_whole = false;
	reply.lost = NULL;
	CHECK_STR_EQ("calls without accounts", report(NULL),
		     "the recording was exported, or made by another program: 'ingero blame' has no\n"
		     "account of its threads; 'ingero explain' shows its calls, and the sqlite3 shell\n"
		     "the table accounts of an exported file\n");
	reply_set();
	CHECK("none of an operation", strstr(report("cudaFree"), "no thread of alice called cudaFree in what was "));

	list[0] = account_make(&made[0], account_starved, ARRAY_SIZE(account_starved));
	list[1] = account_make(&made[1], idle, ARRAY_SIZE(idle));
	list[1]->tid = 4730;
	list[1]->is_driving = 0;
	reply.accounts = list;
	reply.n_accounts = 2;
	reply.lost = &lost;
	CHECK_STR_EQ("two threads", report(NULL),
		     "14:00:10 to 14:01:10 · 2 accounts\n"
		     "\n"
		     "python3 4711 · main thread · 1 min 0 s\n"
		     "   60 %  ▇▇▇▇▇      36.0s  waits for a pipe       from python (4720) 83 %\n"
		     "   19 %  ▇▇         11.4s  cudaStreamSynchronize  device\n"
		     "   14 %  ▇           8.4s  Python on the CPU\n"
		     "    5 %  ▇           3.0s  ready, no CPU          behind ffmpeg (8821)\n"
		     "    1 %  ▇          600ms  cudaLaunchKernel       cpu\n"
		     "    1 %  ▇          300ms  sleeping               the program asked to\n"
		     "   <1 %  ▇          300ms  not known\n"
		     "\n"
		     "threads that make less than a fifth of their process's calls:\n"
		     "python3 4711 · thread 4730 · 1 min 0 s\n"
		     "  100 %  ▇▇▇▇▇▇▇▇   1m00s  waits for a lock\n");
	words = "the last 1h";
	CHECK("a window by default", strstr(report(NULL), "14:00:10 to 14:01:10, the last 1h · 2 accounts\n"));
	words = NULL;
	CHECK("in calls of one operation", strstr(report("cudaFree"), " · 2 accounts · in cudaFree alone\n"));

	reply.more_accounts = 7;
	gap.from_unix_ns = AT(20);
	gap.to_unix_ns = AT(30);
	gap.reason = figures_text("ring_full");
	gap.count = 3;
	reply.gaps = gaps;
	reply.n_gaps = 1;
	lost.ring_full = 3;
	CHECK("how many did not fit", strstr(report(NULL), "\nand 7 more accounts; '--pid' asks for one process\n\n"));
	CHECK("and what is missing", strstr(report(NULL), "▲ 14:00:20 to 14:00:30: "));
	return check_result();
}
