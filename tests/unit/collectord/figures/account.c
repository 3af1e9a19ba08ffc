// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of a thread's wall clock, from records written by hand as the kernel half writes them.
 */
#include "figures/account.h"

#include "base/cleanup.h"
#include "parts.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define START_NS NSEC_PER_SEC
#define SYNC 7
#define COPY 9

/* ---- one record ---- */

/* 1 s: 300 ms in synchronises, 200 of them waiting for the device; 400 ms ready between calls. */
#define USUAL                                                                                                          \
	.now_ns = START_NS + 1000 * MS, .runtime_ns = 400 * MS,                                                        \
	.account = { .since_ns = START_NS,                                                                             \
		     .calls = 10,                                                                                      \
		     .away_ns[BLAME_RUNNABLE] = 400 * MS,                                                              \
		     .ops[SYNC] = { .ns = 300 * MS, .blame_ns[BLAME_DEVICE] = 200 * MS, .op = SYNC } }

static void a_record_is_parts(void)
{
	static const struct {
		const char *name;
		struct account_record record;
		struct expected want[6]; /* ms 0: no more */
	} rows[] = {
		{ "in and between",
		  { USUAL },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 300 },
		    { ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE, 400 },
		    { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 100 },
		    { ACCOUNT_IN, SYNC, BLAME_DEVICE, 200 } } },
		{ "a call that goes on",
		  { USUAL, .open_since_ns = START_NS + 900 * MS, .open_op = COPY, .open_ns[BLAME_LOCK] = 60 * MS },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 200 },
		    { ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE, 400 },
		    { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 100 },
		    { ACCOUNT_IN, SYNC, BLAME_DEVICE, 200 },
		    { ACCOUNT_IN, COPY, BLAME_ON_CPU, 40 },
		    { ACCOUNT_IN, COPY, BLAME_LOCK, 60 } } },
		{ "one more call of the same",
		  { USUAL, .open_since_ns = START_NS + 900 * MS, .open_op = SYNC, .open_ns[BLAME_DEVICE] = 100 * MS },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 200 },
		    { ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE, 400 },
		    { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 100 },
		    { ACCOUNT_IN, SYNC, BLAME_DEVICE, 300 } } },
		{ "a wait that goes on",
		  { USUAL, .open_since_ns = START_NS + 800 * MS, .open_ns[BLAME_NETWORK] = 200 * MS },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 100 },
		    { ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE, 400 },
		    { ACCOUNT_BETWEEN, 0, BLAME_NETWORK, 200 },
		    { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 100 },
		    { ACCOUNT_IN, SYNC, BLAME_DEVICE, 200 } } },
		{ "its first call, which goes on",
		  { .now_ns = START_NS + 50 * MS,
		    .open_since_ns = START_NS,
		    .open_op = SYNC,
		    .account = { .since_ns = START_NS } },
		  { { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 50 } } },
		{ "operations without a place",
		  { .now_ns = START_NS + 100 * MS,
		    .account = { .since_ns = START_NS,
				 .rest = { .ns = 30 * MS, .blame_ns[BLAME_BLOCK_IO] = 10 * MS } } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 70 },
		    { ACCOUNT_IN, 0, BLAME_ON_CPU, 20 },
		    { ACCOUNT_IN, 0, BLAME_BLOCK_IO, 10 } } },
		{ "as much as both clocks may differ",
		  { .now_ns = START_NS + 1000 * MS, .runtime_ns = 990 * MS, .account = { .since_ns = START_NS } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 1000 } } },
		{ "what the thread did not run is not known",
		  { .now_ns = START_NS + 1000 * MS, .runtime_ns = 800 * MS, .account = { .since_ns = START_NS } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 810 }, { ACCOUNT_NOT_KNOWN, 0, BLAME_OTHER, 190 } } },
		{ "CPU time before the first call is not of the account",
		  { .now_ns = START_NS + 1000 * MS,
		    .runtime_ns = 5800 * MS,
		    .account = { .since_ns = START_NS, .since_runtime_ns = 5000 * MS } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 810 }, { ACCOUNT_NOT_KNOWN, 0, BLAME_OTHER, 190 } } },
		{ "of a long account 0.5 % may differ",
		  { .now_ns = START_NS + 100000 * MS, .runtime_ns = 99000 * MS, .account = { .since_ns = START_NS } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 99500 }, { ACCOUNT_NOT_KNOWN, 0, BLAME_OTHER, 500 } } },
		{ "in calls, too, once nothing is left between them",
		  { .now_ns = START_NS + 1000 * MS,
		    .runtime_ns = 90 * MS,
		    .account = { .since_ns = START_NS, .ops[SYNC] = { .ns = 900 * MS, .op = SYNC } } },
		  { { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 100 }, { ACCOUNT_NOT_KNOWN, 0, BLAME_OTHER, 900 } } },
		{ "while calls were left out",
		  { USUAL, .unseen_ns[BLAME_ON_CPU] = 250 * MS },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 50 },
		    { ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE, 400 },
		    { ACCOUNT_IN, SYNC, BLAME_ON_CPU, 100 },
		    { ACCOUNT_IN, SYNC, BLAME_DEVICE, 200 },
		    { ACCOUNT_NOT_KNOWN, 0, BLAME_ON_CPU, 250 } } },
		{ "and a wait in the driver; all of both",
		  { .now_ns = START_NS + 100 * MS,
		    .account = { .since_ns = START_NS, .away_ns[BLAME_DEVICE] = 30 * MS },
		    .unseen_ns = { [BLAME_ON_CPU] = 900 * MS, [BLAME_DEVICE] = 900 * MS } },
		  { { ACCOUNT_NOT_KNOWN, 0, BLAME_ON_CPU, 70 }, { ACCOUNT_NOT_KNOWN, 0, BLAME_DEVICE, 30 } } },
		{ "beside what the thread did not run",
		  { .now_ns = START_NS + 1000 * MS,
		    .runtime_ns = 700 * MS,
		    .account = { .since_ns = START_NS, .away_ns[BLAME_OTHER] = 100 * MS },
		    .unseen_ns = { [BLAME_ON_CPU] = 500 * MS, [BLAME_OTHER] = 50 * MS } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 210 },
		    { ACCOUNT_BETWEEN, 0, BLAME_OTHER, 50 },
		    { ACCOUNT_NOT_KNOWN, 0, BLAME_ON_CPU, 500 },
		    { ACCOUNT_NOT_KNOWN, 0, BLAME_OTHER, 240 } } },
		{ "more away than there was time",
		  { .now_ns = START_NS + 100 * MS,
		    .account = { .since_ns = START_NS,
				 .away_ns[BLAME_LOCK] = 90 * MS,
				 .ops[SYNC] = { .ns = 40 * MS, .blame_ns[BLAME_DEVICE] = 50 * MS, .op = SYNC } } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_LOCK, 60 }, { ACCOUNT_IN, SYNC, BLAME_DEVICE, 40 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct account_record *r = &rows[i].record;
		struct account_part parts[ACCOUNT_PARTS_MOST];
		size_t n = account_read(r, parts), want = 0;

		for (; want < ARRAY_SIZE(rows[i].want) && rows[i].want[want].ms; want++) {
			const struct expected *e = &rows[i].want[want];

			CHECK_INT_EQ(rows[i].name, part_ns(parts, n, e->where, e->op, e->class), e->ms * MS);
		}
		CHECK_INT_EQ(rows[i].name, n, want);
		CHECK_INT_EQ(rows[i].name, parts_sum(parts, n), r->now_ns - START_NS);
		for (size_t k = 1; k < n; k++)
			CHECK(rows[i].name, account_part_order(&parts[k - 1], &parts[k]) < 0);
	}
}

static void places_have_names(void)
{
	CHECK_STR_EQ("between", account_where_name(ACCOUNT_BETWEEN), "between");
	CHECK_STR_EQ("in", account_where_name(ACCOUNT_IN), "in");
	CHECK_STR_EQ("not known", account_where_name(ACCOUNT_NOT_KNOWN), "not_known");
}

int main(void)
{
	places_have_names();
	a_record_is_parts();
	return check_result();
}
