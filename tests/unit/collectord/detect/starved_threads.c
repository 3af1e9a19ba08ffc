// SPDX-License-Identifier: Apache-2.0
/*
 * A wait that another thread of the process ends: the thread that holds the GIL or a lock is named, what that thread
 * waits for itself is followed, and a thread that works for the waiting one costs nothing.
 */
#include "starved_play.h"

/* Threads of the process that hold its GIL, in milliseconds of a second each: the one that holds it mostly is named. */
static void check_threads(void)
{
	static const struct {
		const char *name;
		uint64_t held[3];
		uint32_t tid;
		const char *advice, *ended; /* followed by the command; after the end of the process */
	} rows[] = {
		{ "one",
		  { 500 },
		  4999,
		  "see what thread 4999 does while it holds the GIL",
		  "see what the thread that holds the GIL does, as thread 4999 did" },
		{ "mostly one",
		  { 100, 400 },
		  5000,
		  "see what thread 5000 does while it holds the GIL",
		  "see what the thread that holds the GIL does, as thread 5000 did" },
		{ "the first, by half",
		  { 250, 150, 100 },
		  4999,
		  "see what thread 4999 does while it holds the GIL",
		  "see what the thread that holds the GIL does, as thread 4999 did" },
		{ "none of three",
		  { 200, 150, 150 },
		  0,
		  "see which thread holds the GIL",
		  "see which thread holds the GIL" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;
		char want[FINDING_ADVICE_BYTES];

		for (int second = 0; second <= BEGIN + SECONDS; second++) {
			struct account *a = play_account(p, MAIN, true);

			if (second == BEGIN + SECONDS) {
				f = play_find(p, "starved");
				(void)snprintf(want, sizeof(want), "%s: sudo py-spy dump --pid %u", rows[i].advice,
					       PLAY_PID);
				CHECK_STR_EQ(rows[i].name, f ? f->advice[1] : "", want);
				play_process(p)->gone_ns = p->now_ns + S / 2;
			}
			play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
			play_between(a, BLAME_LOCK, 500 * MS);
			play_rest(a, S);
			for (uint32_t k = 0; k < ARRAY_SIZE(rows[i].held); k++)
				if (rows[i].held[k])
					play_wait(p, &(struct account_wait){ .ns = rows[i].held[k] * MS,
									     .max_ns = 5 * MS,
									     .count = 20,
									     .tid = MAIN,
									     .class = BLAME_LOCK,
									     .kind = RESOURCE_GIL,
									     .waker_tgid = PLAY_PID,
									     .waker_tid = 4999 + k,
									     .waker_uid = PLAY_UID,
									     .waker_comm = "python" });
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(rows[i].name, f ? f->cause.kind : "", "gil");
		CHECK_INT_EQ(rows[i].name, f ? f->cause.pid : 0, PLAY_PID);
		CHECK_INT_EQ(rows[i].name, f ? f->cause.tid : 1, rows[i].tid);
		(void)snprintf(want, sizeof(want), "%s, while it runs: sudo py-spy dump --pid PID", rows[i].ended);
		CHECK_STR_EQ(rows[i].name, f ? f->advice[1] : "", want);
		play_free(p);
	}
}

/* A wait that another thread of the process ends, in milliseconds of a second. */
static const struct {
	const char *name;
	uint64_t other_waits; /* for a pipe, between its calls */
	uint64_t other_cpu;   /* in calls */
	bool is_quiet;	      /* the other thread makes no calls */
	const char *cause;
	uint32_t pid;
	uint64_t computes; /* the other thread, while the first one waits for it: as threads without calls are told */
	uint64_t other_sleeps;		/* between its calls */
	uint64_t lost;			/* of each second; 0: not looked at */
	enum finding_severity severity; /* likewise */
} hops[] = {
	{ "autograd, which made calls", 0, 500, false, "", 0, 0, 0, 0, 0 },
	{ "a thread that fetches what a worker writes", 450, 50, false, "loader", WORKER, 0, 0, 0, 0 },
	{ "a thread that mostly made calls", 100, 500, false, "", 0, 0, 0, 0, 0 },
	{ "a thread that makes calls, and sleeps with the lock", 0, 30, false, "lock", PLAY_PID, 0, 960, 500,
	  FINDING_HIGH },
	{ "a thread that makes calls, and sleeps for half of the time", 0, 100, false, "lock", PLAY_PID, 0, 300, 300,
	  FINDING_MEDIUM },
	{ "a thread that makes calls, and sleeps now and then", 0, 300, false, "", 0, 0, 200, 0, 0 },
	{ "a thread without calls that fetches what a worker writes", 450, 0, true, "loader", WORKER, 0, 0, 0, 0 },
	{ "a thread without calls, its activity not known", 0, 0, true, "lock", PLAY_PID, 0, 0, 0, 0 },
	{ "a thread without calls that mostly computes", 100, 0, true, "lock", PLAY_PID, 0, 0, 0, 0 },
	{ "a thread that has begun to make calls: what it did meanwhile counts, not all its waits", 450, 50, false, "",
	  0, 500, 0, 0, 0 },
};

static void check_hops(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(hops); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < 15; second++) {
			play_fork(p, WORKER);
			waiting_second(p, BLAME_LOCK, 500 * MS);
			if (!hops[i].is_quiet) {
				struct account *a = play_account(p, OTHER_THREAD, false);

				play_in(a, "cudaLaunchKernel", BLAME_ON_CPU, hops[i].other_cpu * MS);
				play_between(a, BLAME_OTHER, hops[i].other_waits * MS);
				play_between(a, BLAME_SLEEP, hops[i].other_sleeps * MS);
				play_rest(a, S);
			}
			play_wait(p, &(struct account_wait){ .ns = 500 * MS,
							     .max_ns = 50 * MS,
							     .count = 10,
							     .tid = MAIN,
							     .class = BLAME_LOCK,
							     .kind = RESOURCE_FUTEX,
							     .waker_tgid = PLAY_PID,
							     .waker_tid = OTHER_THREAD,
							     .waker_uid = PLAY_UID });
			worker_wait(p, OTHER_THREAD, WORKER, hops[i].other_waits * MS, hops[i].is_quiet);
			if (hops[i].computes)
				play_wait(p, &(struct account_wait){ .ns = hops[i].computes * MS,
								     .max_ns = 50 * MS,
								     .count = 10,
								     .tid = OTHER_THREAD,
								     .is_meanwhile = true,
								     .class = BLAME_ON_CPU });
			CHECK_INT_EQ(hops[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(hops[i].name, f ? f->cause.kind : "", hops[i].cause);
		CHECK_INT_EQ(hops[i].name, f ? f->cause.pid : 0, hops[i].pid);
		if (hops[i].lost) {
			CHECK_INT_EQ(hops[i].name, f ? f->lost_ns : 0, 11 * hops[i].lost * MS);
			CHECK_INT_EQ(hops[i].name, f ? f->severity : 0, hops[i].severity);
		}
		play_free(p);
	}
}

/* What the worker does meanwhile, of each second; the advice follows it. */
static const struct {
	const char *name;
	enum blame_class class;
	enum resource_kind kind;
	uint64_t ms;
	uint32_t waker; /* who ended that wait, and waits for the disk itself */
	size_t n;	/* hops */
	uint64_t last_ms;
	const char *advice;
} chains[] = {
	{ "it reads", BLAME_BLOCK_IO, RESOURCE_INODE, 400, 0, 1, 400,
	  "keep train.bin in memory or on a faster disk: the worker waits for it" },
	{ "it computes", BLAME_ON_CPU, RESOURCE_NONE, 450, 0, 1, 450,
	  "more workers while CPUs are free; if it is a PyTorch DataLoader: num_workers 1 -> 2" },
	{ "it sleeps", BLAME_SLEEP, RESOURCE_NONE, 450, 0, 1, 450,
	  "the worker sleeps for most of the time: see what for, and let it sleep less" },
	{ "it waits for one that reads", BLAME_OTHER, RESOURCE_PIPE, 400, WORKER + 1, 2, 320,
	  "keep train.bin in memory or on a faster disk: the worker waits for it" },
	{ "it waits for a lock", BLAME_LOCK, RESOURCE_FILE_LOCK, 450, 0, 1, 450,
	  "give each process a file of its own in the place of train.bin, or hold its lock for less time: the worker "
	  "waits for it" },
	{ "it waits for a lock of one that reads", BLAME_LOCK, RESOURCE_FILE_LOCK, 450, WORKER + 1, 2, 360,
	  "give each process a file of its own in the place of train.bin, or hold its lock for less time: the worker "
	  "waits for it" },
	{ "it waits for a lock for a moment", BLAME_LOCK, RESOURCE_FILE_LOCK, 100, 0, 1, 400,
	  "more workers while CPUs are free; if it is a PyTorch DataLoader: num_workers 1 -> 2" },
	{ "it is not known", BLAME_OTHER, RESOURCE_NONE, 0, 0, 0, 0,
	  "more workers while CPUs are free; if it is a PyTorch DataLoader: num_workers 1 -> 2" },
};

static void meanwhile(struct play *p, uint32_t tid, enum blame_class class, enum resource_kind kind, uint64_t ns,
		      uint32_t waker)
{
	struct account_wait wait = { .ns = ns,
				     .max_ns = ns,
				     .count = 1,
				     .tid = tid,
				     .is_meanwhile = true,
				     .class = (uint8_t) class,
				     .kind = (uint8_t)kind,
				     .waker_tgid = waker,
				     .waker_tid = waker,
				     .waker_uid = PLAY_UID,
				     .name = "train.bin" };

	if (ns)
		play_wait(p, &wait);
}

static void check_chains(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		for (int second = 0; second < 15; second++) {
			play_fork(p, WORKER);
			waiting_second(p, BLAME_OTHER, 500 * MS);
			worker_wait(p, MAIN, WORKER, 500 * MS, false);
			meanwhile(p, WORKER, chains[i].class, chains[i].kind, chains[i].ms * MS, chains[i].waker);
			meanwhile(p, WORKER, BLAME_MEMORY, RESOURCE_NONE, chains[i].ms ? (500 - chains[i].ms) * MS : 0,
				  0);
			if (chains[i].waker) {
				meanwhile(p, chains[i].waker, BLAME_BLOCK_IO, RESOURCE_INODE, 40 * MS, 0);
				meanwhile(p, chains[i].waker, BLAME_ON_CPU, RESOURCE_NONE, 10 * MS, 0);
			}
			CHECK_INT_EQ(chains[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(chains[i].name, f ? f->cause.kind : "", "loader");
		if (f) {
			const struct finding_chain *chain = &f->cause.chain;

			CHECK_STR_EQ(chains[i].name, f->advice[0], chains[i].advice);
			CHECK_INT_EQ(chains[i].name, chain->n, chains[i].n);
			CHECK_INT_EQ(chains[i].name, chain->ns, chains[i].n ? 500 * MS : 0);
			CHECK_INT_EQ(chains[i].name, chain->n ? chain->hop[chain->n - 1].ns : 0,
				     chains[i].last_ms * MS);
			CHECK_INT_EQ(chains[i].name, chain->n ? chain->hop[0].pid : WORKER, WORKER);
		}
		play_free(p);
	}
}

/* A thread that has a lock and computes may do so for the waiting one. If it waits, too, nothing gets done. */
static void check_lock_holders(void)
{
	static const struct {
		const char *name;
		uint64_t cpu, runnable, sleep; /* ms a second, while the main thread waits for it */
		enum finding_severity severity;
	} rows[] = {
		{ "not known", 0, 0, 0, FINDING_MEDIUM },
		{ "computes", 700, 50, 0, FINDING_MEDIUM },
		{ "would compute", 100, 600, 50, FINDING_MEDIUM },
		{ "sleeps", 50, 0, 700, FINDING_HIGH },
		{ "sleeps for less than half", 500, 0, 250, FINDING_MEDIUM },
	};
	static const char *const paced[] = {
		"unless thread 4712 sleeps on purpose and then fills a queue (one of Python looks like a lock): see "
		"what it does while it holds the lock (this stops the process meanwhile): sudo gdb -p 4711 -batch -ex "
		"'thread "
		"apply all bt'",
		"unless thread 4712 slept on purpose and then filled a queue (one of Python looks like a lock): see "
		"what the thread that holds the lock does (this stops the process meanwhile), while it runs: sudo gdb "
		"-p PID "
		"-batch -ex 'thread apply all bt'",
	};
	static const char *const plain[] = {
		"see what thread 4712 does while it holds the lock (this stops the process meanwhile): sudo gdb -p "
		"4711 -batch -ex 'thread apply all bt'",
		"see what the thread that holds the lock does, as thread 4712 did (this stops the process meanwhile), "
		"while it runs: sudo gdb -p PID "
		"-batch -ex 'thread apply all bt'",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f = NULL;

		for (int second = 0; second <= BEGIN + SECONDS; second++) {
			bool is_last = second == BEGIN + SECONDS;
			struct account_wait wait = { .ns = 750 * MS,
						     .max_ns = 50 * MS,
						     .count = 20,
						     .tid = MAIN,
						     .class = BLAME_LOCK,
						     .kind = RESOURCE_FUTEX,
						     .waker_tgid = MAIN,
						     .waker_tid = OTHER_THREAD,
						     .waker_uid = PLAY_UID,
						     .waker_comm = "python" };
			const struct {
				enum blame_class class;
				uint64_t ms;
			} did[] = { { BLAME_ON_CPU, rows[i].cpu },
				    { BLAME_RUNNABLE, rows[i].runnable },
				    { BLAME_SLEEP, rows[i].sleep } };

			waiting_second(p, BLAME_LOCK, 750 * MS);
			play_wait(p, &wait);
			for (size_t k = 0; k < ARRAY_SIZE(did); k++)
				if (did[k].ms)
					play_wait(p, &(struct account_wait){ .ns = did[k].ms * MS,
									     .max_ns = 50 * MS,
									     .count = 20,
									     .tid = OTHER_THREAD,
									     .is_meanwhile = true,
									     .class = (uint8_t)did[k].class });
			if (is_last)
				play_process(p)->gone_ns = p->now_ns + S / 2;
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
			f = play_find(p, "starved");
			if (second >= BEGIN + SECONDS - 1)
				CHECK_STR_EQ(rows[i].name, f ? f->advice[0] : "",
					     (rows[i].severity == FINDING_HIGH ? paced : plain)[is_last]);
		}
		CHECK_STR_EQ(rows[i].name, f ? f->cause.kind : "", "lock");
		CHECK_INT_EQ(rows[i].name, f ? f->severity : 0, rows[i].severity);
		CHECK_INT_EQ(rows[i].name, f ? f->cause.tid : 0, OTHER_THREAD);
		play_free(p);
	}
}

/*
 * A condition variable of the C library has two futexes beside each other, on which a thread waits in turns. No thread
 * holds it: one that sleeps, or waits with a time limit, before it signals it gives at the pace that it chose.
 */
static void check_signals(void)
{
	static const struct {
		const char *name;
		uint64_t futex[2];
		uint64_t n[2];		/* waits a second; 1 and 1: of 0.9 s, one a second */
		uint32_t other_waker;	/* of those on the second futex; 0: the same thread */
		enum blame_class class; /* what the thread that ends them does meanwhile */
		bool has_calls;
		const char *cause;
		enum finding_severity severity;
	} rows[] = {
		{ "signalled by one that sleeps", { 0x7f08, 0x7f0c }, { 10, 10 }, 0, BLAME_SLEEP, false, "", 0 },
		{ "the same, most often through one", { 0x7f08, 0x7f0c }, { 14, 5 }, 0, BLAME_SLEEP, false, "", 0 },
		{ "by one with a time limit", { 0x7f08, 0x7f0c }, { 10, 10 }, 0, BLAME_LOCK, false, "", 0 },
		{ "by one that makes calls, and sleeps", { 0x7f08, 0x7f0c }, { 10, 10 }, 0, BLAME_SLEEP, true, "", 0 },
		{ "by one that computes",
		  { 0x7f08, 0x7f0c },
		  { 10, 10 },
		  0,
		  BLAME_ON_CPU,
		  false,
		  "lock",
		  FINDING_MEDIUM },
		{ "slowly, in turns", { 0x7f08, 0x7f0c }, { 1, 1 }, 0, BLAME_SLEEP, false, "", 0 },
		{ "one futex, slowly", { 0x7f08, 0x7f08 }, { 1, 1 }, 0, BLAME_SLEEP, false, "lock", FINDING_HIGH },
		{ "one futex", { 0x7f08, 0 }, { 20, 0 }, 0, BLAME_SLEEP, false, "lock", FINDING_HIGH },
		{ "two, not in turns", { 0x7f08, 0x7f0c }, { 20, 1 }, 0, BLAME_SLEEP, false, "lock", FINDING_HIGH },
		{ "two, not beside each other",
		  { 0x7f08, 0x7f10 },
		  { 10, 10 },
		  0,
		  BLAME_SLEEP,
		  false,
		  "lock",
		  FINDING_HIGH },
		{ "of two structures", { 0x7f0c, 0x7f10 }, { 10, 10 }, 0, BLAME_SLEEP, false, "lock", FINDING_HIGH },
		{ "by two threads",
		  { 0x7f08, 0x7f0c },
		  { 10, 10 },
		  OTHER_THREAD + 1,
		  BLAME_SLEEP,
		  false,
		  "lock",
		  FINDING_HIGH },
		{ "addresses not known", { 0, 0 }, { 10, 10 }, 0, BLAME_SLEEP, false, "lock", FINDING_HIGH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		bool is_slow = rows[i].n[0] == 1;
		uint64_t n = is_slow ? 1 : rows[i].n[0] + rows[i].n[1];
		uint64_t wait_ns = is_slow ? 900 * MS : 30 * MS;
		const struct finding *f;

		for (int second = 0; second < BEGIN + SECONDS; second++) {
			waiting_second(p, BLAME_LOCK, n * wait_ns);
			if (rows[i].has_calls) {
				struct account *a = play_account(p, OTHER_THREAD, false);

				play_in(a, "cudaLaunchKernel", BLAME_ON_CPU, 10 * MS);
				play_between(a, rows[i].class, S - 10 * MS);
			}
			for (int k = 0; k < 2; k++) {
				uint32_t waker = k && rows[i].other_waker ? rows[i].other_waker : OTHER_THREAD;

				if (!rows[i].n[k] || (is_slow && k != second % 2))
					continue;
				play_wait(p, &(struct account_wait){ .ns = rows[i].n[k] * wait_ns,
								     .max_ns = wait_ns,
								     .count = rows[i].n[k],
								     .tid = MAIN,
								     .resource = rows[i].futex[k],
								     .class = BLAME_LOCK,
								     .kind = RESOURCE_FUTEX,
								     .waker_tgid = PLAY_PID,
								     .waker_tid = waker,
								     .waker_uid = PLAY_UID });
				if (!rows[i].has_calls)
					play_wait(p, &(struct account_wait){ .ns = rows[i].n[k] * (wait_ns - MS),
									     .max_ns = wait_ns - MS,
									     .count = rows[i].n[k],
									     .tid = waker,
									     .is_meanwhile = true,
									     .class = (uint8_t)rows[i].class });
			}
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "starved");
		CHECK_STR_EQ(rows[i].name, f ? f->cause.kind : "", rows[i].cause);
		CHECK_INT_EQ(rows[i].name, f ? f->severity : 0, rows[i].severity);
		play_free(p);
	}
}

int main(void)
{
	check_threads();
	check_hops();
	check_chains();
	check_lock_holders();
	check_signals();
	return check_result();
}
