// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts of threads from records written by hand, as the kernel half writes them: whatever a reading corrects, the
 * parts sum to the wall clock and none ever shrinks.
 */
#include "figures/account_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "figures/figures.h"
#include "figures/tick.h"
#include "parts.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define START_NS NSEC_PER_SEC
#define TGID 4711
#define SYNC 7

/* ---- a world of threads ---- */

struct world {
	struct process_slot slots[PROCESS_SLOTS];
	struct figure_cell cells[2];
	struct figures_source source;
	struct process_table *table;
	struct figures *figures;
	struct ticker *ticker;
	uint64_t now_ns;
};

static uint32_t all_cells(void *data)
{
	struct world *w = data;

	return ARRAY_SIZE(w->cells);
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	w->source = (struct figures_source){ .slots = w->slots, .cells = w->cells, .cells_used = all_cells, .data = w };
	w->now_ns = START_NS;
	(void)process_table_new(&w->table);
	(void)figures_new(w->table, &w->figures);
	(void)ticker_new(&w->ticker);
	w->slots[1] = (struct process_slot){ .tgid = TGID, .start_boot_ns = 7, .state = PROCESS_SLOT_LIVE };
	return w;
}

static void world_freep(struct world **w)
{
	figures_free((*w)->figures);
	ticker_free((*w)->ticker);
	process_table_free((*w)->table);
	free(*w);
}

static void note_release(uint32_t slot, void *data)
{
	struct world *w = data;

	w->slots[slot] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
}

/* A reading: those that are noted in between are in it. */
static void reading_begins(struct world *w)
{
	CHECK_INT_EQ("collect", figures_collect(w->figures, &w->source), 0);
}

static void reading_ends(struct world *w)
{
	CHECK_INT_EQ("read", figures_accounts_read(w->figures, true, true), 0);
	figures_release_gone(w->figures, &w->source, note_release, w);
}

static struct tick take(struct world *w)
{
	static const uint64_t losses[LOSS_COUNT];
	struct tick tick = { .to_ns = 0 };

	CHECK_INT_EQ("take", ticker_take(w->ticker, w->figures, w->now_ns, losses, &tick), 0);
	for (size_t i = 0; i < tick.processes.n; i++) {
		const struct tick_process *p = &tick.processes.items[i];

		for (size_t k = 0; k < p->accounts.n; k++)
			CHECK_INT_EQ("parts of a tick sum to its wall clock",
				     parts_sum(p->accounts.items[k].parts.items, p->accounts.items[k].parts.n),
				     p->accounts.items[k].wall_ns);
	}
	return tick;
}

static void note(struct world *w, uint32_t tid, struct account_record record)
{
	record.now_ns = w->now_ns;
	record.slot = 1;
	record.tgid = TGID;
	record.tid = tid;
	if (!record.account.since_ns)
		record.account.since_ns = START_NS;
	CHECK_INT_EQ("note", figures_account(w->figures, &record), 0);
}

static const struct account *account_of(const struct account *accounts, size_t n, uint32_t tid)
{
	static const struct account none;

	for (size_t i = 0; i < n; i++)
		if (accounts[i].tid == tid)
			return &accounts[i];
	return &none;
}

static const struct account *account_so_far(struct world *w, uint32_t tid)
{
	const struct process_figures *p = figures_get(w->figures, 0);

	return account_of(p->accounts.items, p->accounts.n, tid);
}

static const struct account *account_in(const struct tick *tick, uint32_t tid)
{
	if (!tick->processes.n)
		return account_of(NULL, 0, tid);
	return account_of(tick->processes.items[0].accounts.items, tick->processes.items[0].accounts.n, tid);
}

static uint64_t ms_of(const struct account *a, enum account_where where, uint32_t op, enum blame_class class)
{
	return part_ns(a->parts.items, a->parts.n, where, op, class) / MS;
}

/* ---- readings ---- */

/* What was told as long as it lasted is kept, and what it turned out as is told less of: each tick is its clock. */
static void an_open_wait_is_settled_otherwise(void)
{
	static const struct {
		const char *name;
		struct account_record open, settled; /* after 1 s and after 1.5 s */
		struct expected want[4];	     /* of the second tick */
	} rows[] = {
		{ "in a call: the call's time stays",
		  { .open_since_ns = START_NS, .open_op = SYNC, .open_ns[BLAME_DEVICE] = 700 * MS },
		  { .account = { .calls = 1,
				 .ops[SYNC] = { .ns = 1300 * MS, .blame_ns[BLAME_LOCK] = 1100 * MS, .op = SYNC } } },
		  { { ACCOUNT_IN, SYNC, BLAME_LOCK, 300 }, { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 200 } } },
		{ "between calls",
		  { .open_since_ns = START_NS, .open_ns[BLAME_OTHER] = 1000 * MS },
		  { .account = { .away_ns = { [BLAME_BLOCK_IO] = 1200 * MS, [BLAME_RUNNABLE] = 50 * MS } } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_BLOCK_IO, 200 },
		    { ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE, 50 },
		    { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 250 } } },
		{ "a call that is of no operation any more",
		  { .open_since_ns = START_NS + 400 * MS, .open_op = SYNC, .open_ns[BLAME_DEVICE] = 600 * MS },
		  { .account = { .away_ns = { [BLAME_LOCK] = 300 * MS } } },
		  { { ACCOUNT_BETWEEN, 0, BLAME_LOCK, 300 }, { ACCOUNT_BETWEEN, 0, BLAME_ON_CPU, 200 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_freep) struct world *w = world_new();
		const struct account *account;
		struct tick tick;

		reading_begins(w);
		w->now_ns = START_NS + 1000 * MS;
		note(w, TGID, rows[i].open);
		reading_ends(w);
		tick = take(w);
		CHECK_INT_EQ(rows[i].name, account_in(&tick, TGID)->wall_ns, 1000 * MS);
		tick_done(&tick);

		reading_begins(w);
		w->now_ns = START_NS + 1500 * MS;
		note(w, TGID, rows[i].settled);
		reading_ends(w);
		tick = take(w);
		account = account_in(&tick, TGID);
		CHECK_INT_EQ(rows[i].name, account->wall_ns, 500 * MS);
		for (size_t k = 0; k < ARRAY_SIZE(rows[i].want) && rows[i].want[k].ms; k++) {
			const struct expected *e = &rows[i].want[k];

			CHECK_INT_EQ(rows[i].name, ms_of(account, e->where, e->op, e->class), e->ms);
		}
		tick_done(&tick);
	}
}

/* A record that was changed while it was copied says that its thread is there, and no more. */
static void a_torn_record_is_left_out(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct account_record record = { .account = { .calls = 5, .away_ns[BLAME_LOCK] = 100 * MS } };
	struct tick tick;

	for (int second = 1; second <= 5; second++) {
		bool is_torn = second == 2 || second == 3 || second == 4;

		reading_begins(w);
		w->now_ns += 1000 * MS;
		record.changes = is_torn ? 8 : 9;
		record.account.changes = 9;
		record.account.away_ns[BLAME_LOCK] = is_torn ? 7 : (uint64_t)second * 100 * MS;
		note(w, TGID, record);
		reading_ends(w);
		tick = take(w);
		CHECK_INT_EQ("none of a torn one", account_in(&tick, TGID)->wall_ns / MS,
			     second == 1   ? 1000
			     : second == 5 ? 4000
					   : 0);
		CHECK_INT_EQ("all of it in the end", ms_of(account_in(&tick, TGID), ACCOUNT_BETWEEN, 0, BLAME_LOCK),
			     second == 1   ? 100
			     : second == 5 ? 400
					   : 0);
		tick_done(&tick);
	}
	CHECK_INT_EQ("one thread all the time", figures_get(w->figures, 0)->accounts.n, 1);
	CHECK_INT_EQ("its calls", account_so_far(w, TGID)->calls, 5);
}

/* As when its thread ends, beside what the iterator wrote: the older one of two may come last. */
static void a_record_may_come_twice(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct account_record record = { .account = { .calls = 3 } };
	struct tick tick;

	reading_begins(w);
	w->now_ns = START_NS + 900 * MS;
	note(w, TGID, record);
	note(w, TGID, record);
	w->now_ns = START_NS + 700 * MS;
	record.account.calls = 2;
	note(w, TGID, record);
	w->now_ns = START_NS + 1000 * MS;
	reading_ends(w);
	tick = take(w);
	CHECK_INT_EQ("the newest", account_in(&tick, TGID)->wall_ns, 900 * MS);
	CHECK_INT_EQ("its calls", account_in(&tick, TGID)->calls, 3);
	tick_done(&tick);
	tick = take(w);
	CHECK_INT_EQ("and nothing since", tick.processes.n, 0);
	tick_done(&tick);
}

/* A reading between two ticks is an answer's. */
static void ticks_are_differences(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct tick tick;

	for (int reading = 1; reading <= 6; reading++) {
		uint64_t away_ns = (uint64_t)reading * 30 * MS;

		reading_begins(w);
		w->now_ns += 100 * MS;
		note(w, TGID,
		     (struct account_record){ .comm = "train", .account = { .away_ns[BLAME_SLEEP] = away_ns } });
		reading_ends(w);
		CHECK_INT_EQ("so far", account_so_far(w, TGID)->wall_ns, w->now_ns - START_NS);
		CHECK_INT_EQ("asleep so far", ms_of(account_so_far(w, TGID), ACCOUNT_BETWEEN, 0, BLAME_SLEEP),
			     away_ns / MS);
		if (reading % 3)
			continue;
		tick = take(w);
		CHECK_INT_EQ("three readings", account_in(&tick, TGID)->wall_ns, 300 * MS);
		CHECK_INT_EQ("asleep", ms_of(account_in(&tick, TGID), ACCOUNT_BETWEEN, 0, BLAME_SLEEP), 90);
		CHECK_STR_EQ("its name", account_in(&tick, TGID)->comm, "train");
		tick_done(&tick);
	}

	reading_begins(w);
	w->now_ns += 5000 * MS;
	note(w, TGID, (struct account_record){ .now_ns = 0 });
	reading_ends(w);
	figures_accounts_taken(w->figures);
	tick = take(w);
	CHECK_INT_EQ("a pause is of no tick", tick.processes.n, 0);
	tick_done(&tick);
}

/* ---- threads ---- */

#define THREADS 12

/* A second with so many calls of each thread; a negative number: not read, the thread has ended. */
static struct tick second_passes(struct world *w, uint64_t calls[THREADS], const int made[THREADS])
{
	reading_begins(w);
	w->now_ns += 1000 * MS;
	for (uint32_t i = 0; i < THREADS; i++) {
		if (made[i] < 0)
			continue;
		calls[i] += (uint64_t)made[i];
		note(w, TGID + i, (struct account_record){ .account = { .calls = calls[i] } });
	}
	reading_ends(w);
	return take(w);
}

static void a_fifth_of_the_calls_drives(void)
{
	static const struct {
		const char *name;
		int made[THREADS];
		const char *driving; /* a letter of each */
	} rows[] = {
		{ "no call has ended yet", { 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, "yy" },
		{ "one does all", { 50, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, "yn" },
		{ "no call: as before", { 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, "yn" },
		{ "a fifth", { 80, 20, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, "yy" },
		{ "less than a fifth", { 81, 19, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, "yn" },
		{ "another takes over", { 0, 19, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, "ny" },
	};
	CLEANUP(world_freep) struct world *w = world_new();
	uint64_t calls[THREADS] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tick tick = second_passes(w, calls, rows[i].made);
		size_t n_driving = 0;

		for (uint32_t k = 0; k < 2; k++) {
			bool is_driving = account_in(&tick, TGID + k)->is_driving;

			n_driving += is_driving;
			CHECK_INT_EQ(rows[i].name, is_driving, rows[i].driving[k] == 'y');
		}
		for (size_t k = 0; tick.processes.n && k < n_driving; k++)
			CHECK(rows[i].name, tick.processes.items[0].accounts.items[k].is_driving);
		tick_done(&tick);
	}
	reading_ends(w);
	CHECK("five of six seconds", account_so_far(w, TGID)->is_driving);
	CHECK("three of six seconds", account_so_far(w, TGID + 1)->is_driving);
}

static void the_busiest_are_told_singly(void)
{
	static const int many[THREADS] = { 1000, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2 };
	CLEANUP(world_freep) struct world *w = world_new();
	uint64_t calls[THREADS] = { 0 }, wall_ns = 0;
	struct tick tick = second_passes(w, calls, many);
	const struct process_figures *p = figures_get(w->figures, 0);

	CHECK_INT_EQ("a driving one, 7 others, the rest", tick.processes.items[0].accounts.n, 9);
	CHECK_INT_EQ("the driving one first", tick.processes.items[0].accounts.items[0].tid, TGID);
	for (uint32_t i = 1; i <= 7; i++) {
		CHECK_INT_EQ("by calls", tick.processes.items[0].accounts.items[i].tid, TGID + i);
		CHECK("which do not drive", !tick.processes.items[0].accounts.items[i].is_driving);
	}
	CHECK_INT_EQ("the rest has no number", tick.processes.items[0].accounts.items[8].tid, 0);
	CHECK_INT_EQ("four threads' seconds", account_in(&tick, 0)->wall_ns, 4000 * MS);
	CHECK_INT_EQ("and calls", account_in(&tick, 0)->calls, 5 + 4 + 3 + 2);
	tick_done(&tick);

	for (size_t i = 0; i < p->accounts.n; i++)
		wall_ns += p->accounts.items[i].wall_ns;
	CHECK_INT_EQ("so far likewise", p->accounts.n, 9);
	CHECK_INT_EQ("nothing is lost", wall_ns, THREADS * 1000 * MS);
}

/* One that did not drive becomes part of the sum; its seconds and calls stay. */
static void threads_end(void)
{
	static const int all[THREADS] = { 50, 30, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
	static const int one[THREADS] = { 50, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
	CLEANUP(world_freep) struct world *w = world_new();
	uint64_t calls[THREADS] = { 0 };
	struct tick tick;

	for (int second = 0; second < 6; second++) {
		tick = second_passes(w, calls, second < 2 ? all : one);
		CHECK_INT_EQ("who lives is told", account_in(&tick, TGID)->wall_ns, 1000 * MS);
		CHECK_INT_EQ("who ended is not", tick.processes.items[0].accounts.n, second < 2 ? 3 : 1);
		tick_done(&tick);
	}
	CHECK_INT_EQ("it lives", account_so_far(w, TGID)->wall_ns, 6000 * MS);
	CHECK_INT_EQ("it drove, and is remembered", account_so_far(w, TGID + 1)->wall_ns, 2000 * MS);
	CHECK("as that", account_so_far(w, TGID + 1)->is_driving);
	CHECK_INT_EQ("the other is in the sum", account_so_far(w, TGID + 2)->wall_ns, 0);
	CHECK_INT_EQ("with its time", account_so_far(w, 0)->wall_ns, 2000 * MS);
	CHECK_INT_EQ("and its calls", account_so_far(w, 0)->calls, 10);
}

/* A thread for each request: memory has an end, the sum has all of them. */
static void many_driving_threads_end(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	const struct process_figures *p;
	uint64_t wall_ns = 0, calls = 0;
	struct tick tick;

	for (uint32_t i = 0; i < 100; i++) {
		struct account_record record = { .account = { .since_ns = w->now_ns, .calls = 10 } };

		reading_begins(w);
		w->now_ns += (1000 + i) * MS;
		note(w, TGID + i % 50, record); /* their numbers come again */
		reading_ends(w);
		tick = take(w);
		CHECK_INT_EQ("each drives in its second", tick.processes.items[0].accounts.items[0].is_driving, 1);
		CHECK_INT_EQ("alone", tick.processes.items[0].accounts.n, 1);
		tick_done(&tick);
	}
	p = figures_get(w->figures, 0);
	for (size_t i = 0; i < p->accounts.n; i++) {
		wall_ns += p->accounts.items[i].wall_ns;
		calls += p->accounts.items[i].calls;
	}
	CHECK_INT_IN("of those that ended a few are told singly", p->accounts.n, ACCOUNT_ENDED_MOST + 1,
		     ACCOUNT_ENDED_MOST + 4);
	CHECK_INT_EQ("all their time", wall_ns, w->now_ns - START_NS);
	CHECK_INT_EQ("all their calls", calls, 1000);
}

/* What the thread computed before it was first read is not known to be the program's between calls. */
static void clock_ticks_are_differences(void)
{
	static const struct {
		uint64_t user_ms, kernel_ms;	       /* so far */
		uint64_t want_user_ms, want_kernel_ms; /* of the tick */
	} rows[] = {
		{ 5000, 7000, 0, 0 },
		{ 5100, 7300, 100, 300 },
		{ 5100, 7304, 0, 4 },
		{ 0, 0, 0, 0 }, /* not known, of a thread that ended */
	};
	CLEANUP(world_freep) struct world *w = world_new();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct account_record record = { .account = { .calls = i },
						 .user_ns = rows[i].user_ms * MS,
						 .kernel_ns = rows[i].kernel_ms * MS };
		struct tick tick;

		reading_begins(w);
		w->now_ns += 1000 * MS;
		note(w, TGID, record);
		reading_ends(w);
		tick = take(w);
		CHECK_INT_EQ("user", account_in(&tick, TGID)->user_ns, rows[i].want_user_ms * MS);
		CHECK_INT_EQ("kernel", account_in(&tick, TGID)->kernel_ns, rows[i].want_kernel_ms * MS);
		tick_done(&tick);
	}
}

/* ---- processes ---- */

static void process_ends(struct world *w)
{
	w->slots[1].gone_ns = w->now_ns;
	w->slots[1].state = PROCESS_SLOT_GONE;
}

static void an_exec_begins_anew(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct account_record record = { .account = { .calls = 4, .away_ns[BLAME_NETWORK] = 100 * MS } };
	struct tick tick;

	reading_begins(w);
	w->now_ns = START_NS + 500 * MS;
	note(w, TGID, record);
	process_ends(w);
	reading_ends(w);

	/* the same thread, its account of the program before, until that program's slot is found gone; then its own */
	reading_begins(w);
	reading_ends(w);
	w->slots[1] =
		(struct process_slot){ .tgid = TGID, .exec_gen = 1, .start_boot_ns = 7, .state = PROCESS_SLOT_LIVE };
	reading_begins(w);
	w->now_ns = START_NS + 900 * MS;
	note(w, TGID, (struct account_record){ .account = { .since_ns = START_NS + 600 * MS, .calls = 1 } });
	reading_ends(w);

	tick = take(w);
	CHECK_INT_EQ("two programs", tick.processes.n, 2);
	if (tick.processes.n == 2) {
		const struct tick_process *before = &tick.processes.items[0], *after = &tick.processes.items[1];

		CHECK_INT_EQ("before", account_of(before->accounts.items, before->accounts.n, TGID)->wall_ns, 500 * MS);
		CHECK_INT_EQ("its calls", account_of(before->accounts.items, before->accounts.n, TGID)->calls, 4);
		CHECK_INT_EQ("after", account_of(after->accounts.items, after->accounts.n, TGID)->wall_ns, 300 * MS);
		CHECK_INT_EQ("its calls", account_of(after->accounts.items, after->accounts.n, TGID)->calls, 1);
	}
	tick_done(&tick);
}

/* Its end was told: of its threads the driving one is remembered. */
static void a_process_that_is_gone_keeps_one(void)
{
	static const int made[THREADS] = { 10, 50, 30, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	CLEANUP(world_freep) struct world *w = world_new();
	uint64_t calls[THREADS] = { 0 };
	struct tick tick = second_passes(w, calls, made);

	tick_done(&tick);
	process_ends(w);
	tick = second_passes(w, calls, made);
	CHECK_INT_EQ("the last second whole", tick.processes.items[0].accounts.n, 10);
	CHECK("gone", tick.processes.items[0].gone_ns != 0);
	tick_done(&tick);
	CHECK_INT_EQ("one", figures_get(w->figures, 0)->accounts.n, 1);
	CHECK_INT_EQ("the driving one that called most", figures_get(w->figures, 0)->accounts.items[0].tid, TGID + 1);
	CHECK_INT_EQ("its whole life", figures_get(w->figures, 0)->accounts.items[0].wall_ns, 2000 * MS);
	tick = take(w);
	CHECK_INT_EQ("told once", tick.processes.n, 0);
	tick_done(&tick);
}

static void short_process(struct world *w, uint32_t number, uint32_t uid)
{
	const struct account_record record = { .now_ns = w->now_ns + 10 * MS,
					       .slot = 1,
					       .tgid = TGID + number,
					       .tid = TGID + number,
					       .account = { .since_ns = w->now_ns, .calls = 1 } };
	struct tick tick;

	w->now_ns += 10 * MS;
	w->slots[1] = (struct process_slot){ .tgid = TGID + number,
					     .uid = uid,
					     .start_boot_ns = 7 + number,
					     .gone_ns = w->now_ns,
					     .state = PROCESS_SLOT_GONE };
	reading_begins(w);
	CHECK_INT_EQ("note", figures_account(w->figures, &record), 0);
	reading_ends(w);
	tick = take(w);
	tick_done(&tick);
}

/* A user who starts very many processes displaces only the accounts of his own that ended. */
static void users_displace_their_own(void)
{
	enum { BOBS = 5, ALICES = 300 };
	CLEANUP(world_freep) struct world *w = world_new();
	size_t n_alice = 0, n_bob = 0;

	for (uint32_t i = 0; i < BOBS; i++)
		short_process(w, i, 1001);
	for (uint32_t i = 0; i < ALICES; i++)
		short_process(w, BOBS + i, 1000);
	for (size_t i = 0; i < figures_count(w->figures); i++) {
		const struct process_figures *p = figures_get(w->figures, i);

		if (p->process->identity.uid == 1001)
			n_bob += p->accounts.n;
		else
			n_alice += p->accounts.n;
	}
	CHECK_INT_EQ("bob's", n_bob, BOBS);
	CHECK_INT_IN("alice's", (int64_t)n_alice, 64, ALICES - 1);
}

/* What is read once, as its thread ends, may come before its process is known. */
static void an_early_record_waits(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct process_slot slot = w->slots[1];

	w->slots[1] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
	reading_begins(w);
	w->now_ns += 10 * MS;
	note(w, TGID, (struct account_record){ .account = { .calls = 1 } });
	reading_ends(w);
	CHECK_INT_EQ("nobody", figures_count(w->figures), 0);
	w->slots[1] = slot;
	reading_begins(w);
	reading_ends(w);
	CHECK_INT_EQ("its account", account_so_far(w, TGID)->wall_ns, 10 * MS);

	w->slots[1].tgid++; /* another process */
	reading_begins(w);
	note(w, TGID, (struct account_record){ .account = { .calls = 1 } });
	reading_ends(w);
	CHECK_INT_EQ("no other's", figures_get(w->figures, 1)->accounts.n, 0);
	CHECK_INT_EQ("not lost yet", figures_accounts_lost(w->figures), 0);
	reading_begins(w);
	reading_ends(w);
	CHECK_INT_EQ("lost with its process", figures_accounts_lost(w->figures), 1);
}

/* Of those whose process is not known there is room for so many; each one more is counted. */
static void early_records_find_no_room(void)
{
	enum { EARLY = 64, MORE = 3 };
	CLEANUP(world_freep) struct world *w = world_new();
	struct process_slot slot = w->slots[1];

	w->slots[1] = (struct process_slot){ .state = PROCESS_SLOT_FREE };
	reading_begins(w);
	w->now_ns += 10 * MS;
	for (uint32_t i = 0; i < EARLY + MORE; i++) {
		struct account_record record = { .now_ns = w->now_ns,
						 .slot = 1,
						 .tgid = TGID,
						 .tid = TGID + i,
						 .account = { .since_ns = START_NS, .calls = 1 } };

		CHECK_INT_EQ("note", figures_account(w->figures, &record), i < EARLY ? 0 : -ENOBUFS);
	}
	reading_ends(w);
	CHECK_INT_EQ("counted", figures_accounts_lost(w->figures), MORE);
	w->slots[1] = slot;
	reading_begins(w);
	reading_ends(w);
	CHECK_INT_EQ("the others are there", account_so_far(w, TGID)->wall_ns, 10 * MS);
	CHECK_INT_EQ("and no more is lost", figures_accounts_lost(w->figures), MORE);
}

/* Readings at random, some of them wrong of what goes on, as the kernel half may be: sums hold, and nothing shrinks. */
static void whatever_is_read_sums(void)
{
	CLEANUP(world_freep) struct world *w = world_new();
	struct account_record record = { .account = { .calls = 0 } };
	uint64_t random = 1, told_ns = 0;

	for (int i = 0; i < 2000; i++) {
		struct thread_account *a = &record.account;
		const struct account *account;
		struct tick tick;
		uint64_t away_ns, step_ns;

		random = random * 6364136223846793005u + 1442695040888963407u;
		step_ns = (random >> 40) % (300 * MS) + 1;
		away_ns = step_ns / 100 * ((random >> 33) % 101);
		reading_begins(w);
		w->now_ns += step_ns;
		record.open_since_ns = random >> 20 & 1 ? w->now_ns - away_ns : 0;
		record.open_op = random >> 21 & 1 ? SYNC + (random >> 22 & 31) : 0;
		memset(record.open_ns, 0, sizeof(record.open_ns));
		record.open_ns[1 + (random >> 27) % (BLAME_COUNT - 1)] = away_ns;
		record.runtime_ns = (w->now_ns - START_NS) / 100 * ((random >> 50) % 101);
		if (random >> 23 & 1) {
			a->away_ns[1 + (random >> 29) % (BLAME_COUNT - 1)] += away_ns / 2;
		} else {
			struct account_op *op = &a->ops[(random >> 31) % ACCOUNT_OPS];

			op->op = (uint32_t)(op - a->ops) + 1;
			op->ns += away_ns;
			op->blame_ns[1 + (random >> 29) % (BLAME_COUNT - 1)] += away_ns;
			a->calls++;
		}
		note(w, TGID, record);
		reading_ends(w);
		tick = take(w);
		account = account_in(&tick, TGID);
		CHECK_INT_EQ("a tick is its time", account->wall_ns, step_ns);
		for (size_t k = 0; k < account->parts.n; k++)
			CHECK_INT_IN("no part shrinks", account->parts.items[k].ns, 1, step_ns);
		tick_done(&tick);
		account = account_so_far(w, TGID);
		told_ns += step_ns;
		CHECK_INT_EQ("so far", account->wall_ns, told_ns);
		CHECK_INT_EQ("its parts", parts_sum(account->parts.items, account->parts.n), told_ns);
	}
}

int main(void)
{
	an_open_wait_is_settled_otherwise();
	a_torn_record_is_left_out();
	a_record_may_come_twice();
	ticks_are_differences();
	clock_ticks_are_differences();
	a_fifth_of_the_calls_drives();
	the_busiest_are_told_singly();
	threads_end();
	many_driving_threads_end();
	an_exec_begins_anew();
	a_process_that_is_gone_keeps_one();
	users_displace_their_own();
	an_early_record_waits();
	early_records_find_no_room();
	whatever_is_read_sums();
	return check_result();
}
