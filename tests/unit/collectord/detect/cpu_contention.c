// SPDX-License-Identifier: Apache-2.0
/*
 * A neighbour on the CPU is the first finding, by its name, and the worse the stronger it is.
 */
#include "events/stack.h"
#include "play.h"

#define SECONDS 30

static struct finding run(double hog, double quota, uint64_t tick_ns, uint64_t seed, size_t *ret_n)
{
	struct play *p = play_new(seed);
	struct finding first = { .kind = "" };

	/* Whatever the length of a tick, what it holds is made second by second. */
	for (int i = 0; i < 10 + SECONDS; i++) {
		play_training(p, i < 10 ? 0 : hog, i < 10 ? 0 : quota);
		if ((uint64_t)(i + 1) * S % tick_ns == 0)
			CHECK_INT_EQ("hog", play_tick(p, tick_ns), 0);
	}
	*ret_n = p->n_findings;
	if (play_first(p))
		first = *play_first(p);
	play_free(p);
	return first;
}

static const struct {
	const char *name;
	double hog;
	double quota;
	uint64_t tick_ns;
	const char *kind; /* "": nothing */
	enum finding_severity severity;
} cases[] = {
	{ "nothing", 0, 0, S, "", 0 },
	{ "noise", 0.0045, 0, S, "", 0 },
	{ "a program that blocks", 0.015, 0, S, "cpu_contention", FINDING_LOW },
	{ "2 %", 0.02, 0, S, "cpu_contention", FINDING_LOW },
	{ "10 %", 0.10, 0, S, "cpu_contention", FINDING_MEDIUM },
	{ "30 %", 0.30, 0, S, "cpu_contention", FINDING_HIGH },
	{ "50 %", 0.50, 0, S, "cpu_contention", FINDING_HIGH },
	{ "90 %", 0.90, 0, S, "cpu_contention", FINDING_CRITICAL },
	{ "50 %, ticks of 5 s", 0.50, 0, 5 * S, "cpu_contention", FINDING_HIGH },
	{ "with a weaker quota", 0.50, 0.10, S, "cpu_contention", FINDING_HIGH },
};

static void check_strength(void)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		enum finding_severity before = 0;

		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			size_t n;
			struct finding f = run(cases[i].hog, cases[i].quota, cases[i].tick_ns, seed, &n);
			double lost_s = (double)f.lost_ns / (double)S;

			CHECK_STR_EQ(cases[i].name, f.kind, cases[i].kind);
			CHECK_INT_EQ(cases[i].name, f.severity, cases[i].severity);
			if (!*cases[i].kind) {
				CHECK_INT_EQ(cases[i].name, n, 0);
				continue;
			}
			CHECK(cases[i].name, n == 1 || cases[i].quota > 0);
			CHECK(cases[i].name, f.severity >= before || cases[i].tick_ns != S || cases[i].quota > 0);
			before = f.severity;
			CHECK_INT_EQ(cases[i].name, f.cause.pid, PLAY_HOG);
			CHECK_STR_EQ(cases[i].name, f.cause.kind, "cpu_contention");
			CHECK(cases[i].name, f.cause.share > 0.85 && f.cause.share < 0.95);
			CHECK_STR_EQ(cases[i].name, f.op->name, "cudaStreamSynchronize");
			CHECK_STR_EQ(cases[i].name, f.title, "cudaStreamSynchronize waited for the CPU");
			CHECK_STR_EQ(cases[i].name, f.advice[0],
				     "sudo renice -n 19 -p $(ls /proc/6603/task), or ask root");
			CHECK_STR_EQ(cases[i].name, f.advice[1],
				     "or move it: sudo taskset -acp CPUS 6603, with CPUS of those that 'taskset -cp "
				     "6603' shows");
			/* The driver's calls lie inside the runtime's: their wait is not counted twice. */
			CHECK(cases[i].name,
			      lost_s > 0.97 * cases[i].hog * SECONDS && lost_s <= cases[i].hog * SECONDS);
			CHECK(cases[i].name, f.confidence == 1);
			CHECK_INT_IN(cases[i].name, f.usual_ns, 2900 * US, 3100 * US);
			CHECK_INT_EQ(cases[i].name, f.start_ns, 1010 * S);
			CHECK_INT_EQ(cases[i].name, f.present_ns, SECONDS * S);
			CHECK_INT_EQ(cases[i].name, f.n_calls, FINDING_CALLS_MAX);
		}
	}
}

/* Who is blamed: tenths of a half second's wait. */
static const struct {
	const char *name;
	uint32_t tgids[6];
	uint64_t tenths[6];
	uint32_t pid;
	unsigned int share; /* tenths */
	uint32_t others[FINDING_OTHERS_MAX];
	uint32_t n_culprits;
	const char *advice;
} groups[] = {
	{ "one", { 7 }, { 10 }, 7, 10, { 0 }, 1, "sudo renice -n 19 -p $(ls /proc/7/task), or ask root" },
	{ "most of it",
	  { 7, 8, 9 },
	  { 2, 6, 2 },
	  8,
	  6,
	  { 0 },
	  3,
	  "sudo renice -n 19 -p $(ls /proc/8/task), or ask root" },
	{ "a group, whose largest is named",
	  { 7, 8, 9, 10 },
	  { 2, 4, 3, 1 },
	  8,
	  4,
	  { 9, 7 },
	  4,
	  "sudo renice -n -5 -p $(ls /proc/4711/task), or ask root" },
	{ "its own threads", { PLAY_PID }, { 10 }, PLAY_PID, 10, { 0 }, 1, "give the process more CPUs" },
	{ "nobody known", { 0 }, { 0 }, 0, 0, { 0 }, 0, "sudo renice -n -5 -p $(ls /proc/4711/task), or ask root" },
};

static void check_groups(void)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct play *p = play_new(i);

		for (int second = 0; second < 10; second++) {
			play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
			for (size_t k = 0; k < ARRAY_SIZE(groups[i].tgids) && groups[i].tgids[k]; k++)
				play_behind(p, groups[i].tgids[k], names[k], groups[i].tenths[k] * 50 * MS);
			CHECK_INT_EQ(groups[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(groups[i].name, p->n_findings, 1);
		CHECK_INT_EQ(groups[i].name, p->findings[0].cause.pid, groups[i].pid);
		CHECK_INT_EQ(groups[i].name, (int)(p->findings[0].cause.share * 10 + 0.5), groups[i].share);
		for (size_t k = 0; k < FINDING_OTHERS_MAX; k++)
			CHECK_INT_EQ(groups[i].name, p->findings[0].cause.others[k].pid, groups[i].others[k]);
		CHECK_INT_EQ(groups[i].name, play_evidence(&p->findings[0], "culprits"), groups[i].n_culprits);
		CHECK_INT_EQ(groups[i].name, p->findings[0].cause.processes, groups[i].n_culprits);
		CHECK(groups[i].name,
		      strncmp(p->findings[0].advice[0], groups[i].advice, strlen(groups[i].advice)) == 0);
		play_free(p);
	}
}

/* Little time behind nobody who is known tells people nothing that they could act on. */
static void check_nobody(void)
{
	static const struct {
		const char *name;
		uint64_t each_ns; /* of 100 calls a second */
		size_t n;
		enum finding_severity severity;
	} rows[] = {
		{ "little, behind nobody known", 200 * US, 0, 0 },
		{ "much, behind nobody known", 2 * MS, 1, FINDING_MEDIUM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);

		for (int second = 0; second < 20; second++) {
			play_waits(p, "cudaStreamSynchronize", 100, 7 * MS, rows[i].each_ns, 0, BLAME_DEVICE);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(rows[i].name, p->n_findings, rows[i].n);
		CHECK_INT_EQ(rows[i].name, p->findings[0].severity, rows[i].severity);
		play_free(p);
	}
}

/* Several stay one finding, whoever of them has most; one that becomes nearly all is another. */
static void check_takes_over(void)
{
	struct play *p = play_new(0);

	for (int second = 0; second < 40; second++) {
		play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
		for (uint32_t k = 0; k < 6 && second < 20; k++)
			play_behind(p, 7 + k, "x", (k == (uint32_t)second % 6 ? 200 : 60) * MS);
		if (second >= 20)
			play_behind(p, 9, "x", 500 * MS);
		CHECK_INT_EQ("takes over", play_tick(p, S), 0);
		if (second == 19)
			CHECK_INT_EQ("several", p->n_findings, 1);
	}
	CHECK_INT_EQ("takes over", p->n_findings, 2);
	CHECK("takes over", p->findings[0].cause.is_several && !p->findings[1].cause.is_several);
	CHECK_INT_EQ("takes over", p->findings[1].cause.pid, 9);
	play_free(p);
}

/* Many that had little each: one of them is an example, and nobody's command cures. */
static void check_many(void)
{
	struct play *p = play_new(0);
	const struct finding_cause *cause;

	for (int second = 0; second < 20; second++) {
		play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
		for (uint32_t k = 0; k < 40; k++)
			play_behind(p, 100 + k, "cc1", 12 * MS);
		CHECK_INT_EQ("many", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("many", p->n_findings, 1);
	cause = &p->findings[0].cause;
	CHECK("many: several", cause->is_several);
	CHECK_INT_EQ("many: one name", cause->processes, 1);
	CHECK_INT_EQ("many: each once", cause->same_name, 40);
	CHECK("many: the share of all", cause->share > 0.95);
	play_free(p);
}

/* Compilers come and go beside a process that stays, which is blamed first: their name has most of it in the end. */
static void check_names(void)
{
	struct play *p = play_new(0);
	const struct finding_cause *cause;

	for (int second = 0; second < 20; second++) {
		play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
		play_behind(p, 50, "stays", (second < 3 ? 300 : 100) * MS);
		/* Each is there in two seconds, and none of them has as much as the one that stays. */
		for (uint32_t k = 0; k < 10 && second >= 3; k++)
			play_behind(p, 100 + (uint32_t)second * 5 + k, "cc1", 30 * MS);
		for (uint32_t k = 0; k < 2 && second >= 3; k++)
			play_behind(p, 60 + k, "as", 20 * MS);
		CHECK_INT_EQ("names", play_tick(p, S), 0);
		if (second == 2)
			CHECK_INT_EQ("the only one", p->findings[0].cause.pid, 50);
	}
	CHECK_INT_EQ("names", p->n_findings, 1);
	cause = &p->findings[0].cause;
	CHECK("names: several", cause->is_several);
	CHECK_STR_EQ("names: most", cause->comm, "cc1");
	CHECK_INT_EQ("names: each once", cause->same_name, 17 * 5 + 5);
	CHECK("names: its pid is one of them", cause->pid >= 115 && cause->pid < 205);
	CHECK_INT_EQ("names: share", (int)(cause->share * 1000), 17 * 300 * 1000 / 10000);
	CHECK_STR_EQ("names: the next", cause->others[0].comm, "stays");
	CHECK_INT_EQ("names: the next is one", cause->others[0].pid, 50);
	CHECK_INT_EQ("names: the next is no name", cause->others[0].same_name, 0);
	CHECK_INT_EQ("names: its share", (int)(cause->others[0].share * 1000), (3 * 300 + 17 * 100) * 1000 / 10000);
	CHECK_INT_EQ("names: the last", cause->others[1].same_name, 2);
	CHECK_INT_EQ("names: names", play_evidence(&p->findings[0], "culprits"), 3);
	play_free(p);
}

/* Processes of one name whose rows have different owners or rights are no one culprit: each is hidden by itself. */
static void check_owners(void)
{
	static const struct {
		const char *name;
		uint32_t uid;
		bool is_guarded;
	} rows[] = {
		{ "another user's", PLAY_UID + 1, false },
		{ "guarded", PLAY_UID, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding_cause *cause = &p->findings[0].cause;

		for (int second = 0; second < 10; second++) {
			play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
			for (uint32_t k = 0; k < 8; k++) {
				struct behind_figures who = { .ns = (k % 2 ? 70 : 50) * MS,
							      .number = k + 1,
							      .tgid = 100 + k,
							      .uid = k % 2 ? rows[i].uid : PLAY_UID,
							      .is_guarded = k % 2 && rows[i].is_guarded,
							      .comm = "cc1" };

				CHECK_INT_EQ("tick", ARRAY_PUSH(&play_process(p)->behind, who), 0);
			}
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(rows[i].name, cause->uid, rows[i].uid);
		CHECK_INT_EQ(rows[i].name, cause->is_guarded, rows[i].is_guarded);
		CHECK_INT_EQ(rows[i].name, cause->same_name, 4);
		CHECK("most: an odd one", cause->pid % 2);
		CHECK_INT_EQ(rows[i].name, cause->others[0].uid, PLAY_UID);
		CHECK_INT_EQ(rows[i].name, cause->others[0].is_guarded, false);
		CHECK_INT_EQ(rows[i].name, cause->others[0].same_name, 4);
		play_free(p);
	}
}

/* Who ran is known of a hundredth of what was lost, then of all: only then somebody is named. */
static void check_known(void)
{
	struct play *p = play_new(0);

	for (int second = 0; second < 40; second++) {
		struct account *a = play_account(p, PLAY_PID, true);

		play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
		play_between(a, BLAME_RUNNABLE, 500 * MS);
		play_rest(a, S);
		play_behind(p, PLAY_HOG, "hog", second < 20 ? 5 * MS : 500 * MS);
		CHECK_INT_EQ("known", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("known", p->n_findings, 2);
	CHECK_INT_EQ("nobody known", p->findings[0].cause.pid, 0);
	CHECK_INT_EQ("nobody known", p->findings[0].cause.processes, 0);
	CHECK_INT_EQ("nobody known", p->findings[0].severity, FINDING_HIGH);
	CHECK_INT_EQ("known", p->findings[1].cause.pid, PLAY_HOG);
	play_free(p);
}

/* Milliseconds of a second of the driving thread, which computes in the rest of it. */
static const struct {
	const char *name;
	uint64_t in;	   /* waited for a CPU in calls of an operation */
	uint64_t in_other; /* of another one */
	uint64_t between;  /* and between them */
	uint64_t device;   /* waited for the device in calls */
	uint64_t second;   /* another driving thread waited for a CPU between calls */
	uint64_t idle;	   /* a thread that is none did */
	uint32_t pid;	   /* that ran */
	enum finding_severity severity;
	double confidence;
	uint64_t lost; /* of a second */
	uint64_t least;
	const char *title;
} accounts[] = {
	{ "half, between calls", 0, 0, 500, 0, 0, 0, PLAY_HOG, FINDING_HIGH, 1, 500, 500,
	  "python waited for the CPU between its calls" },
	{ "half, in calls", 500, 0, 0, 0, 0, 0, PLAY_HOG, FINDING_HIGH, 1, 500, 500,
	  "cudaLaunchKernel waited for the CPU" },
	{ "more in calls than between", 300, 0, 200, 0, 0, 0, PLAY_HOG, FINDING_HIGH, 1, 500, 500,
	  "cudaLaunchKernel waited for the CPU" },
	{ "more in calls of two operations than between", 150, 150, 200, 0, 0, 0, PLAY_HOG, FINDING_HIGH, 1, 500, 500,
	  "python waited for the CPU" },
	{ "half of it in calls of two operations", 120, 120, 240, 0, 0, 0, PLAY_HOG, FINDING_HIGH, 1, 480, 480,
	  "python waited for the CPU" },
	{ "most of the clock", 0, 0, 700, 100, 0, 0, PLAY_HOG, FINDING_CRITICAL, 1, 700, 600,
	  "python waited for the CPU between its calls" },
	{ "a tenth", 0, 0, 100, 0, 0, 0, PLAY_HOG, FINDING_MEDIUM, 1, 100, 100,
	  "python waited for the CPU between its calls" },
	{ "may all be hidden behind the device", 0, 0, 300, 600, 0, 0, PLAY_HOG, FINDING_LOW, 0.7, 300, 0,
	  "python waited for the CPU between its calls" },
	{ "may mostly be hidden", 0, 0, 400, 360, 0, 0, PLAY_HOG, FINDING_MEDIUM, 0.7, 400, 40,
	  "python waited for the CPU between its calls" },
	{ "in calls nothing is hidden", 300, 0, 0, 600, 0, 0, PLAY_HOG, FINDING_HIGH, 1, 300, 300,
	  "cudaLaunchKernel waited for the CPU" },
	{ "the worst of two threads", 0, 0, 100, 0, 400, 0, PLAY_HOG, FINDING_HIGH, 1, 400, 400,
	  "python waited for the CPU between its calls" },
	{ "its own threads", 0, 0, 500, 0, 0, 0, PLAY_PID, FINDING_LOW, 1, 500, 500,
	  "python waited for the CPU between its calls" },
	{ "a thread that calls little", 0, 0, 0, 0, 0, 900, PLAY_HOG, 0, 0, 0, 0, "" },
	{ "noise", 0, 0, 4, 0, 0, 0, PLAY_HOG, 0, 0, 0, 0, "" },
};

static void check_accounts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(accounts); i++) {
		struct play *p = play_new(i);
		const struct finding *f = p->findings;
		const char *name = accounts[i].name;
		uint64_t in = accounts[i].in + accounts[i].in_other;

		p->but = "host_bound";
		for (int second = 0; second < 20; second++) {
			struct account *a = play_account(p, 1, true);

			/* Of several threads: it is the account that counts. */
			play_waits(p, "cudaLaunchKernel", 1000, 5 * US, accounts[i].in * US, 0, BLAME_ON_CPU);
			play_in(a, "cudaLaunchKernel", BLAME_ON_CPU, 5 * MS);
			play_in(a, "cudaLaunchKernel", BLAME_RUNNABLE, accounts[i].in * MS);
			play_in(a, "cudaFree", BLAME_RUNNABLE, accounts[i].in_other * MS);
			play_in(a, "cudaStreamSynchronize", BLAME_DEVICE, accounts[i].device / 2 * MS);
			play_in(a, "cudaStreamSynchronize", BLAME_ON_CPU, accounts[i].device / 2 * MS);
			play_between(a, BLAME_RUNNABLE, accounts[i].between * MS);
			play_rest(a, S);
			if (accounts[i].second) {
				a = play_account(p, 2, true);
				play_between(a, BLAME_RUNNABLE, accounts[i].second * MS);
				play_rest(a, S);
			}
			a = play_account(p, 3, false);
			play_between(a, BLAME_RUNNABLE, accounts[i].idle * MS);
			play_rest(a, S);
			play_behind(p, accounts[i].pid, "x", (in + accounts[i].between) * MS);
			play_behind(p, accounts[i].pid, "x", (accounts[i].second + accounts[i].idle) * MS);
			CHECK_INT_EQ(name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(name, p->n_findings, accounts[i].severity ? 1 : 0);
		if (p->n_findings) {
			CHECK_INT_EQ(name, f->severity, accounts[i].severity);
			CHECK_INT_EQ(name, f->cause.pid, accounts[i].pid);
			CHECK_INT_EQ(name, (int)(f->cause.share * 100 + 0.5), 100);
			CHECK_INT_EQ(name, f->lost_ns, 20 * accounts[i].lost * MS);
			CHECK_INT_EQ(name, play_evidence(f, "lost_at_least_ns"), 20 * accounts[i].least * MS);
			CHECK_INT_EQ(name, play_evidence(f, "in_calls_ns"), 20 * in * MS);
			CHECK_INT_EQ(name, play_evidence(f, "between_calls_ns"), 20 * (accounts[i].lost - in) * MS);
			CHECK_INT_EQ(name, (int)(play_evidence(f, "lost_ratio") * 1000 + 0.5), accounts[i].lost);
			CHECK_INT_EQ(name, (int)(f->confidence * 100 + 0.5), (int)(accounts[i].confidence * 100));
			CHECK_STR_EQ(name, f->title, accounts[i].title);
			CHECK_INT_EQ(name, f->tid, accounts[i].second ? 2 : 1);
			/* Where the time went has all that was lost, and sums to the thread's clock. */
			CHECK_INT_EQ(name, f->blame_ns[BLAME_RUNNABLE], f->lost_ns);
			CHECK_INT_EQ(name, play_blame_sum(f), 20 * S);
			CHECK_INT_EQ(name, play_evidence(f, "in_op_ns"),
				     f->op ? (int64_t)(20 * accounts[i].in * MS) : -1);
		}
		play_free(p);
	}
}

static int parent_of(uint32_t pid, uint32_t *ret_parent)
{
	static const uint32_t parents[] = { [7] = 1, [8] = PLAY_PID, [9] = 8, [10] = 8, [11] = 1 };

	*ret_parent = pid < ARRAY_SIZE(parents) ? parents[pid] : 1;
	return 0;
}

/* A process that works for the waiting one would delay it, if it got less of the CPU. */
static void check_workers(void)
{
#define FEWER "start fewer of them (PyTorch DataLoader: num_workers), or fewer threads in each (OMP_NUM_THREADS)"
	static const struct {
		const char *name;
		uint32_t tgids[4];
		uint32_t uid;
		uint32_t forked; /* seen */
		bool is_guarded;
		const char *advice;
	} rows[] = {
		{ "its fork was seen", { 7 }, PLAY_UID, 7, false, "7 is a worker of this process: " FEWER },
		{ "its fork was not seen", { 8 }, PLAY_UID, 0, false, "8 is a worker of this process: " FEWER },
		{ "through a server of forks", { 9 }, PLAY_UID, 0, false, "9 is a worker of this process: " FEWER },
		{ "a stranger of the same user", { 7 }, PLAY_UID, 0, false, "renice -n 19 -p $(ls /proc/7/task)" },
		{ "of another user by now",
		  { 8 },
		  PLAY_UID + 1,
		  0,
		  false,
		  "sudo renice -n 19 -p $(ls /proc/8/task), or ask its owner" },
		{ "guarded", { 8 }, PLAY_UID, 0, true, "renice -n 19 -p $(ls /proc/8/task)" },
		{ "several", { 7, 8, 9, 10 }, PLAY_UID, 7, false, "they are workers of this process: " FEWER },
		{ "several, one is a stranger",
		  { 8, 9, 10, 11 },
		  PLAY_UID,
		  0,
		  false,
		  "sudo renice -n -5 -p $(ls /proc/4711/task), or ask root" },
	};
#undef FEWER

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);

		engine_set_facts(p->engine, &(struct detector_facts){ .n_cpus = 16, .parent = parent_of });
		for (int second = 0; second < 10; second++) {
			size_t n = 0;

			while (n < ARRAY_SIZE(rows[i].tgids) && rows[i].tgids[n])
				n++;
			if (rows[i].forked)
				play_fork(p, rows[i].forked);
			play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
			for (size_t k = 0; k < n; k++) {
				struct behind_figures who = { .ns = 500 * MS / n,
							      .tgid = rows[i].tgids[k],
							      .uid = rows[i].uid,
							      .is_guarded = rows[i].is_guarded,
							      .comm = "python" };

				CHECK_INT_EQ("tick", ARRAY_PUSH(&play_process(p)->behind, who), 0);
			}
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(rows[i].name, p->n_findings, 1);
		CHECK_STR_EQ(rows[i].name, p->findings[0].advice[0], rows[i].advice);
		play_free(p);
	}
}

/* Which thread waits for the CPU in which second, over and over: the one that lost most is named. */
static void check_threads(void)
{
	static const struct {
		const char *name;
		uint32_t tids[4];
		uint32_t want;
	} rows[] = {
		{ "one", { 1, 1, 1, 1 }, 1 },
		{ "mostly the second", { 2, 2, 1, 2 }, 2 },
		{ "four in turn", { 1, 2, 3, 4 }, 0 },
		{ "half of it, beside two others", { 1, 1, 2, 3 }, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);

		p->but = "host_bound";
		for (int second = 0; second < 20; second++) {
			play_calls(p, "cudaLaunchKernel", 1000, 5 * US, BLAME_ON_CPU);
			for (uint32_t tid = 1; tid <= 4; tid++) {
				struct account *a = play_account(p, tid, true);

				play_between(a, BLAME_RUNNABLE, tid == rows[i].tids[second % 4] ? 500 * MS : 0);
				play_rest(a, S);
			}
			play_behind(p, PLAY_HOG, "hog", 500 * MS);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(rows[i].name, p->n_findings, 1);
		CHECK_INT_EQ(rows[i].name, p->findings[0].tid, rows[i].want);
		play_free(p);
	}
}

/* Each second another thread waits longest: no thread is said to have lost what all of them lost. */
static void check_own_part(void)
{
	static const struct {
		const char *name;
		uint64_t ms[3][3]; /* of a second, by thread; the three seconds over and over */
		uint32_t want;
		uint64_t want_ms; /* of three seconds */
	} rows[] = {
		{ "in turn", { { 500, 400, 0 }, { 400, 500, 0 }, { 450, 400, 500 } }, 1, 1350 },
		{ "one alone", { { 500, 0, 0 }, { 300, 0, 0 }, { 100, 0, 0 } }, 1, 900 },
		{ "the worst in each", { { 500, 400, 0 }, { 300, 0, 200 }, { 100, 90, 0 } }, 1, 900 },
		{ "each by itself", { { 500, 0, 0 }, { 0, 500, 0 }, { 0, 0, 500 } }, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);

		p->but = "host_bound";
		for (int second = 0; second < 21; second++) {
			play_calls(p, "cudaLaunchKernel", 1000, 5 * US, BLAME_ON_CPU);
			for (uint32_t tid = 1; tid <= 3; tid++) {
				struct account *a = play_account(p, tid, true);

				play_between(a, BLAME_RUNNABLE, rows[i].ms[second % 3][tid - 1] * MS);
				play_rest(a, S);
			}
			play_behind(p, PLAY_HOG, "hog", 500 * MS);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(rows[i].name, p->n_findings, 1);
		CHECK_INT_EQ(rows[i].name, p->findings[0].tid, rows[i].want);
		CHECK_INT_EQ(rows[i].name, p->findings[0].tid_lost_ns, 7 * rows[i].want_ms * MS);
		play_free(p);
	}
}

/* What is mostly lost between calls has no line: that of a call is another place. */
static void check_from(void)
{
	static const struct stack_frame line = {
		.ip = 1, .symbol = "main+0x4", .qualname = "", .file = "prog.c", .module = "/prog", .line = 38
	};
	static const struct {
		const char *name;
		uint64_t in_ms, between_ms; /* of a second */
		uint64_t later_in_ms, later_between_ms;
		uint32_t want;
	} rows[] = {
		{ "in calls", 400, 100, 400, 100, 38 },
		{ "half of it in calls", 250, 250, 250, 250, 38 },
		{ "between calls", 1, 499, 1, 499, 0 },
		{ "in calls first, but most of it between", 400, 0, 0, 900, 0 },
		{ "between calls first, but most of it in calls", 0, 400, 900, 0, 38 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		struct stack *stack = stack_new(PLAY_UID);

		CHECK_INT_EQ("stack", stack_name(stack, &line, 1, true, ""), 0);
		p->but = "host_bound";
		for (int second = 0; second < 12; second++) {
			struct account *a = play_account(p, 1, true);
			uint64_t in_ms = second < 6 ? rows[i].in_ms : rows[i].later_in_ms;

			play_calls(p, "cudaLaunchKernel", 1000, 5 * US, BLAME_ON_CPU);
			play_in(a, "cudaLaunchKernel", BLAME_RUNNABLE, in_ms * MS);
			play_between(a, BLAME_RUNNABLE,
				     (second < 6 ? rows[i].between_ms : rows[i].later_between_ms) * MS);
			play_rest(a, S);
			play_behind(p, PLAY_HOG, "hog", 500 * MS);
			if (in_ms)
				play_kept_at(p, "cudaLaunchKernel", in_ms * MS, in_ms * MS, stack);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK(rows[i].name, p->n_findings > 0);
		CHECK_INT_EQ(rows[i].name, p->findings[0].from.line, rows[i].want);
		CHECK_STR_EQ(rows[i].name, p->findings[0].from.func, rows[i].want ? "main" : "");
		play_free(p);
		(void)stack_unref(stack);
	}
}

/* One thread after another, more than are remembered: the one that lasts is named when it has lost half. */
static void check_many_threads(void)
{
	struct play *p = play_new(1);

	p->but = "host_bound";
	for (int second = 0; second < 40; second++) {
		struct account *a = play_account(p, second < 12 ? (uint32_t)second + 1 : 100, true);

		play_calls(p, "cudaLaunchKernel", 1000, 5 * US, BLAME_ON_CPU);
		play_between(a, BLAME_RUNNABLE, (second < 12 ? 500 : 600) * MS);
		play_rest(a, S);
		play_behind(p, PLAY_HOG, "hog", 500 * MS);
		CHECK_INT_EQ("many", play_tick(p, S), 0);
		if (second == 11)
			CHECK_INT_EQ("many", p->findings[0].tid, 0);
	}
	CHECK_INT_EQ("many", p->n_findings, 1);
	CHECK_INT_EQ("one in the end", p->findings[0].tid, 100);
	CHECK_INT_EQ("which may have lost more before", p->findings[0].tid_lost_ns, 0);
	play_free(p);
}

/* No account: it is not known whose calls lost the time. */
static void check_no_thread(void)
{
	struct play *p = play_new(1);

	for (int second = 0; second < 20; second++) {
		play_training(p, 0.5, 0);
		CHECK_INT_EQ("no account", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("no account", p->findings[0].tid, 0);
	play_free(p);
}

/* Not measured is not zero. */
static void check_unmeasured(void)
{
	struct play *p = play_new(0);

	p->tick.measured = (uint16_t)(ALL_CLASSES & ~MEASURED(BLAME_RUNNABLE));
	for (int second = 0; second < 10; second++) {
		play_training(p, 0.5, 0);
		CHECK_INT_EQ("runnable unmeasured", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("runnable unmeasured", p->n_findings, 0);
	p->tick.measured = (uint16_t)(ALL_CLASSES & ~MEASURED(BLAME_QUOTA));
	for (int second = 0; second < 10; second++) {
		play_training(p, 0.5, 0);
		CHECK_INT_EQ("quota unmeasured", play_tick(p, S), 0);
	}
	CHECK_INT_EQ("quota unmeasured", p->n_findings, 1);
	CHECK("quota unmeasured", p->findings[0].confidence > 0.5 && p->findings[0].confidence < 0.9);
	play_free(p);
}

int main(void)
{
	check_strength();
	check_groups();
	check_nobody();
	check_many();
	check_names();
	check_owners();
	check_takes_over();
	check_accounts();
	check_known();
	check_workers();
	check_threads();
	check_own_part();
	check_from();
	check_many_threads();
	check_no_thread();
	check_unmeasured();
	return check_result();
}
