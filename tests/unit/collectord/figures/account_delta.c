// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts since an earlier moment: parts and waits less what was then, also of threads that are told otherwise now.
 */
#include "figures/account_delta.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define THREADS_MOST 3

/* Between calls on the CPU, and in calls of operation 9 waiting for the device. */
struct thread_row {
	uint32_t tid;
	uint64_t between_ms, in_ms;
};

static const struct {
	const char *name;
	struct thread_row then[THREADS_MOST], now[THREADS_MOST], want[THREADS_MOST];
	uint64_t most_ms;
} deltas[] = {
	{ "nothing then", { { 0 } }, { { 11, 50, 30 } }, { { 11, 50, 30 } }, 1000 },
	{ "the same thread", { { 11, 50, 30 } }, { { 11, 60, 130 } }, { { 11, 10, 100 } }, 1000 },
	{ "nothing since", { { 11, 50, 30 } }, { { 11, 50, 30 } }, { { 0 } }, 1000 },
	{ "one of two", { { 11, 50, 30 }, { 12, 1, 1 } }, { { 11, 50, 31 }, { 12, 1, 1 } }, { { 11, 0, 1 } }, 1000 },
	{ "a thread that ended is of several",
	  { { 11, 50, 30 }, { 12, 40, 4 } },
	  { { 11, 60, 30 }, { 0, 43, 9 } },
	  { { 11, 10, 0 }, { 0, 3, 5 } },
	  1000 },
	{ "several were there before", { { 0, 40, 4 } }, { { 0, 43, 9 } }, { { 0, 3, 5 } }, 1000 },
	{ "one of several is told singly: no more than there was",
	  { { 0, 9000, 9000 } },
	  { { 11, 9000, 3000 } },
	  { { 11, 1012, 337 } },
	  1000 },
	{ "several threads have more time than there was",
	  { { 0 } },
	  { { 0, 9000, 9000 } },
	  { { 0, 9000, 9000 } },
	  1000 },
};

static void thread_set(const struct thread_row *row, struct account *account)
{
	*account = (struct account){ .tid = row->tid, .is_driving = row->tid == 11, .calls = row->in_ms };
	if (row->between_ms)
		(void)ARRAY_PUSH(&account->parts,
				 ((struct account_part){ .where = ACCOUNT_BETWEEN, .ns = row->between_ms * MS }));
	if (row->in_ms)
		(void)ARRAY_PUSH(&account->parts,
				 ((struct account_part){
					 .where = ACCOUNT_IN, .op = 9, .class = BLAME_DEVICE, .ns = row->in_ms * MS }));
	account->wall_ns = (row->between_ms + row->in_ms) * MS;
}

static size_t threads_set(const struct thread_row rows[THREADS_MOST], struct account accounts[THREADS_MOST])
{
	size_t n = 0;

	for (; n < THREADS_MOST && rows[n].between_ms + rows[n].in_ms; n++)
		thread_set(&rows[n], &accounts[n]);
	return n;
}

static void threads_done(struct account *accounts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ARRAY_DONE(&accounts[i].parts);
}

static uint64_t part_ms(const struct account *account, enum account_where where)
{
	for (size_t i = 0; i < account->parts.n; i++)
		if (account->parts.items[i].where == where)
			return account->parts.items[i].ns / MS;
	return 0;
}

static void accounts_since(size_t c)
{
	struct account then[THREADS_MOST], now[THREADS_MOST];
	size_t n_then = threads_set(deltas[c].then, then), n_now = threads_set(deltas[c].now, now), n_want = 0;
	struct account_moment before = { .accounts = { .items = NULL } };
	struct account_set since = ACCOUNT_SET_INIT;

	while (n_want < THREADS_MOST && deltas[c].want[n_want].between_ms + deltas[c].want[n_want].in_ms)
		n_want++;
	CHECK_INT_EQ(deltas[c].name, account_moment_take(then, n_then, NULL, 0, &before), 0);
	CHECK_INT_EQ(deltas[c].name,
		     account_set_since(now, n_now, NULL, 0, n_then ? &before : NULL, deltas[c].most_ms * MS, &since),
		     0);
	CHECK_INT_EQ(deltas[c].name, since.accounts.n, n_want);
	for (size_t i = 0; i < since.accounts.n && i < n_want; i++) {
		const struct account *account = &since.accounts.items[i];
		uint64_t sum_ns = 0;

		for (size_t k = 0; k < account->parts.n; k++)
			sum_ns += account->parts.items[k].ns;
		CHECK_INT_EQ(deltas[c].name, account->wall_ns, sum_ns);
		CHECK_INT_EQ(deltas[c].name, account->tid, deltas[c].want[i].tid);
		CHECK_INT_EQ(deltas[c].name, account->is_driving, account->tid == 11);
		CHECK_INT_EQ(deltas[c].name, part_ms(account, ACCOUNT_BETWEEN), deltas[c].want[i].between_ms);
		CHECK_INT_EQ(deltas[c].name, part_ms(account, ACCOUNT_IN), deltas[c].want[i].in_ms);
	}
	account_set_done(&since);
	account_moment_done(&before);
	threads_done(then, n_then);
	threads_done(now, n_now);
}

static void waits_since_then(void)
{
	static const struct account_wait then[] = {
		{ .tid = 12, .kind = RESOURCE_GIL, .ns = 5 * MS, .count = 2 },
		{ .tid = 11, .kind = RESOURCE_PIPE, .waker_tgid = 7, .ns = 50 * MS, .count = 5 },
		{ .tid = 11, .kind = RESOURCE_PIPE, .waker_tgid = 6, .ns = 9 * MS, .count = 1 },
	};
	static const struct account_wait now[] = {
		{ .tid = 11, .kind = RESOURCE_PIPE, .waker_tgid = 6, .ns = 9 * MS, .count = 1 },
		{ .tid = 11, .kind = RESOURCE_PIPE, .waker_tgid = 7, .ns = 80 * MS, .count = 7, .name = "data" },
		{ .tid = 11, .kind = RESOURCE_PIPE, .waker_tgid = 8, .ns = 3 * MS, .count = 1 },
		{ .tid = 12, .kind = RESOURCE_GIL, .ns = 6 * MS, .count = 3 },
	};
	struct account_moment before = { .accounts = { .items = NULL } };
	struct account_set since = ACCOUNT_SET_INIT;

	CHECK_INT_EQ("copy", account_moment_take(NULL, 0, then, ARRAY_SIZE(then), &before), 0);
	CHECK_INT_EQ("since", account_set_since(NULL, 0, now, ARRAY_SIZE(now), &before, MS, &since), 0);
	CHECK_INT_EQ("those that grew", since.waits.n, 3);
	for (size_t i = 0; i < since.waits.n; i++) {
		const struct account_wait *wait = &since.waits.items[i];
		uint64_t want_ms = wait->tid == 12 ? 1 : wait->waker_tgid == 7 ? 30 : 3;

		CHECK_INT_EQ("time", wait->ns, want_ms * MS);
		CHECK_INT_EQ("times", wait->count, wait->waker_tgid == 7 ? 2 : 1);
		CHECK_STR_EQ("name", wait->name, wait->waker_tgid == 7 ? "data" : "");
	}
	/* A user may have 16 Trace calls, which keep 8 moments each of all his processes. */
	CHECK("a moment has no room for names", sizeof(struct account_waited) * 5 <= sizeof(struct account_wait));
	account_set_done(&since);
	account_moment_done(&before);
}

int main(void)
{
	for (size_t c = 0; c < ARRAY_SIZE(deltas); c++)
		accounts_since(c);
	waits_since_then();
	return check_result();
}
