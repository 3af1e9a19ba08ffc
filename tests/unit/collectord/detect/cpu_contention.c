// SPDX-License-Identifier: Apache-2.0
/*
 * A neighbour on the CPU is the first finding, by its name, and the worse the stronger it is.
 */
#include "play.h"

#define SECONDS 30

static struct finding run(double hog, double quota, uint64_t tick_ns, uint64_t seed, size_t *ret_n)
{
	struct play *p = malloc(sizeof(*p));
	struct finding first = { .kind = "" };

	play_begin(p, seed);
	/* Whatever the length of a tick, what it holds is made second by second. */
	for (int i = 0; i < 10 + SECONDS; i++) {
		play_training(p, i < 10 ? 0 : hog, i < 10 ? 0 : quota);
		if ((uint64_t)(i + 1) * S % tick_ns == 0)
			CHECK_INT_EQ("hog", play_tick(p, tick_ns), 0);
	}
	*ret_n = p->n_findings;
	if (play_first(p))
		first = *play_first(p);
	play_end(p);
	free(p);
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
	{ "its own threads", { PLAY_PID }, { 10 }, PLAY_PID, 10, { 0 }, 1, "let the process have more CPUs" },
	{ "nobody known", { 0 }, { 0 }, 0, 0, { 0 }, 0, "sudo renice -n -5 -p $(ls /proc/4711/task), or ask root" },
};

static void check_groups(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct play *p = malloc(sizeof(*p));

		play_begin(p, i);
		for (int second = 0; second < 10; second++) {
			play_waits(p, "cudaStreamSynchronize", 100, 4 * MS, 5 * MS, 0, BLAME_DEVICE);
			for (size_t k = 0; k < ARRAY_SIZE(groups[i].tgids) && groups[i].tgids[k]; k++)
				play_behind(p, groups[i].tgids[k], "x", groups[i].tenths[k] * 50 * MS);
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
		play_end(p);
		free(p);
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
		struct play *p = malloc(sizeof(*p));

		play_begin(p, i);
		for (int second = 0; second < 20; second++) {
			play_waits(p, "cudaStreamSynchronize", 100, 7 * MS, rows[i].each_ns, 0, BLAME_DEVICE);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		CHECK_INT_EQ(rows[i].name, p->n_findings, rows[i].n);
		CHECK_INT_EQ(rows[i].name, p->findings[0].severity, rows[i].severity);
		play_end(p);
		free(p);
	}
}

/* Several stay one finding, whoever of them has most; one that becomes nearly all is another. */
static void check_takes_over(void)
{
	struct play *p = malloc(sizeof(*p));

	play_begin(p, 0);
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
	play_end(p);
	free(p);
}

/* Not measured is not zero. */
static void check_unmeasured(void)
{
	struct play *p = malloc(sizeof(*p));

	play_begin(p, 0);
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
	play_end(p);
	free(p);
}

int main(void)
{
	check_strength();
	check_groups();
	check_nobody();
	check_takes_over();
	check_unmeasured();
	return check_result();
}
