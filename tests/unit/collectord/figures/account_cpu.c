// SPDX-License-Identifier: Apache-2.0
/* Which share of its own CPU time tracing takes from the thread that loses most. */
#include "figures/account_cpu.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define THREADS 3

/* One thread: milliseconds on the CPU in calls and between them, and milliseconds of waiting. */
struct thread_row {
	uint32_t tid;
	uint64_t calls, in_ms, between_ms, waited_ms;
};

static void thread_fill(const struct thread_row *row, struct account *account)
{
	const struct account_part parts[] = {
		{ .ns = row->between_ms * MS, .where = ACCOUNT_BETWEEN, .class = BLAME_ON_CPU },
		{ .ns = row->waited_ms * MS, .where = ACCOUNT_BETWEEN, .class = BLAME_SLEEP },
		{ .ns = row->in_ms * MS, .op = 3, .where = ACCOUNT_IN, .class = BLAME_ON_CPU },
		{ .ns = row->waited_ms * MS, .op = 3, .where = ACCOUNT_IN, .class = BLAME_DEVICE },
	};

	*account = (struct account){ .tid = row->tid, .calls = row->calls };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		CHECK_INT_EQ("part", account_add(account, &parts[i]), 0);
}

static size_t threads_fill(const struct thread_row rows[THREADS], struct account accounts[THREADS])
{
	size_t n = 0;

	for (; n < THREADS && (rows[n].tid || rows[n].calls); n++)
		thread_fill(&rows[n], &accounts[n]);
	return n;
}

static void worst_test(void)
{
	static const struct {
		const char *name;
		struct thread_row now[THREADS], then[THREADS];
		uint64_t n_calls, ns;
		double want;
	} cases[] = {
		{ "no thread", { { 0 } }, { { 0 } }, 10, 5 * MS, -1 },
		{ "no CPU time", { { 1, 10, 0, 0, 100 } }, { { 0 } }, 10, 5 * MS, -1 },
		{ "time off the CPU does not count", { { 1, 10, 40, 60, 900 } }, { { 0 } }, 10, 5 * MS, 0.05 },
		{ "no call", { { 1, 0, 40, 60, 0 } }, { { 0 } }, 0, 0, 0 },
		{ "two threads that do the same",
		  { { 1, 10, 40, 60, 0 }, { 2, 10, 40, 60, 0 } },
		  { { 0 } },
		  20,
		  10 * MS,
		  0.05 },
		{ "the thread with little CPU time loses most",
		  { { 1, 10, 400, 600, 0 }, { 2, 10, 5, 5, 0 } },
		  { { 0 } },
		  20,
		  4 * MS,
		  0.2 },
		{ "the thread with most calls loses most",
		  { { 1, 90, 40, 60, 0 }, { 2, 10, 40, 60, 0 } },
		  { { 0 } },
		  100,
		  10 * MS,
		  0.09 },
		{ "accounts of other threads are gone", { { 1, 10, 40, 60, 0 } }, { { 0 } }, 40, 20 * MS, 0.05 },
		{ "only the interval counts",
		  { { 1, 110, 440, 660, 0 } },
		  { { 1, 100, 400, 600, 0 } },
		  10,
		  30 * MS,
		  0.3 },
		{ "a thread that came in the interval",
		  { { 1, 100, 400, 600, 0 }, { 2, 10, 40, 60, 0 } },
		  { { 1, 100, 400, 600, 0 } },
		  10,
		  30 * MS,
		  0.3 },
		{ "never more than all of it", { { 1, 10, 1, 1, 0 } }, { { 0 } }, 10, 5 * MS, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct account now[THREADS], then[THREADS];
		struct account_moment moment = { .accounts = { .items = then } };
		size_t n = threads_fill(cases[i].now, now);
		double rate, share;

		moment.accounts.n = threads_fill(cases[i].then, then);
		rate = account_call_rate(now, n, moment.accounts.n ? &moment : NULL);
		share = rate < 0 ? rate : account_worst_share(rate, cases[i].n_calls, cases[i].ns);
		CHECK_INT_EQ(cases[i].name, (long)(share * 1e6 + (share < 0 ? -0.5 : 0.5)),
			     (long)(cases[i].want * 1e6 + (cases[i].want < 0 ? -0.5 : 0.5)));
		for (size_t k = 0; k < n; k++)
			account_done(&now[k]);
		for (size_t k = 0; k < moment.accounts.n; k++)
			account_done(&then[k]);
	}
}

int main(void)
{
	worst_test();
	return check_result();
}
