// SPDX-License-Identifier: Apache-2.0
/*
 * A quota is named first where it takes more than anybody else, and grows with what it takes.
 */
#include "play.h"

#include <errno.h>

static const struct {
	const char *name;
	double quota; /* share of the time that it takes away */
	double hog;
	const char *first;
	enum finding_severity severity;
	size_t n;
} cases[] = {
	{ "none", 0, 0, "", 0, 0 },
	{ "touched now and then", 0.0015, 0, "", 0, 0 },
	{ "5 %", 0.05, 0, "cpu_quota", FINDING_LOW, 1 },
	{ "20 %", 0.2, 0, "cpu_quota", FINDING_MEDIUM, 1 },
	{ "half", 0.5, 0, "cpu_quota", FINDING_HIGH, 1 },
	{ "quota of 40 %", 0.62, 0, "cpu_quota", FINDING_CRITICAL, 1 },
	{ "quota of 5 %", 0.95, 0, "cpu_quota", FINDING_CRITICAL, 1 },
	{ "with a weaker hog", 0.4, 0.2, "cpu_quota", FINDING_HIGH, 2 },
	{ "with a stronger hog", 0.2, 0.5, "cpu_contention", FINDING_HIGH, 2 },
};

/* Milliseconds of each second that it takes of the driving thread. */
static const struct {
	const char *name;
	uint64_t in, in_others, between;
	const char *title;
} accounts[] = {
	{ "most between calls", 100, 0, 300, "python was throttled by its CPU quota between its calls" },
	{ "most in calls of one operation", 200, 50, 150, "cudaLaunchKernel was throttled by its CPU quota" },
};

static void check_account(size_t i)
{
	struct play *p = play_new(1);
	const struct finding *f = p->findings;
	const char *name = accounts[i].name;

	p->but = "host_bound"; /* the rest of the second it computes */
	for (int second = 0; second < 20; second++) {
		struct account *a = play_account(p, PLAY_PID, true);

		play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
		play_in(a, "cudaLaunchKernel", BLAME_QUOTA, accounts[i].in * MS);
		play_in(a, "cudaStreamSynchronize", BLAME_QUOTA, accounts[i].in_others * MS);
		play_between(a, BLAME_QUOTA, accounts[i].between * MS);
		play_rest(a, S);
		CHECK_INT_EQ(name, play_tick(p, S), 0);
	}
	CHECK_INT_EQ(name, p->n_findings, 1);
	CHECK_STR_EQ(name, f->title, accounts[i].title);
	CHECK_INT_EQ(name, f->severity, FINDING_HIGH);
	CHECK_INT_EQ(name, f->lost_ns, 8 * S);
	CHECK_INT_EQ(name, play_evidence(f, "in_op_ns"), f->op ? (int64_t)(20 * accounts[i].in * MS) : -1);
	CHECK_INT_EQ(name, play_evidence(f, "in_calls_ns"), 20 * (accounts[i].in + accounts[i].in_others) * MS);
	CHECK_INT_EQ(name, play_evidence(f, "between_calls_ns"), 20 * accounts[i].between * MS);
	CHECK_INT_EQ(name, f->blame_ns[BLAME_QUOTA], f->lost_ns);
	CHECK_INT_EQ(name, play_blame_sum(f), 20 * S);
	play_free(p);
}

static int quota_of(uint32_t pid, struct advice_quota *ret)
{
	CHECK_INT_EQ("quota", pid, PLAY_PID);
	*ret = (struct advice_quota){ .is_v1 = true, .path = "/lab/job 7" };
	return 0;
}

static int quota_v2(uint32_t pid, struct advice_quota *ret)
{
	(void)pid;
	*ret = (struct advice_quota){ .path = "/system.slice/train.service" };
	return 0;
}

static int no_quota(uint32_t pid, struct advice_quota *ret)
{
	(void)pid;
	(void)ret;
	return -ESRCH;
}

/* The remedy names the group and the file that it has; after the end of the process, too. */
static void check_groups(void)
{
	static const struct {
		const char *name;
		int (*quota)(uint32_t pid, struct advice_quota *ret);
		const char *want;
	} rows[] = {
		{ "not asked", NULL, "raise cpu.max of its control group (kubernetes: limits.cpu, docker: --cpus)" },
		{ "unknown", no_quota, "raise cpu.max of its control group (kubernetes: limits.cpu, docker: --cpus)" },
		{ "version 1", quota_of,
		  "raise cpu.cfs_quota_us of its control group '/lab/job 7' (kubernetes: limits.cpu, docker: --cpus)" },
		{ "version 2", quota_v2,
		  "raise cpu.max of its control group /system.slice/train.service (kubernetes: limits.cpu, docker: "
		  "--cpus)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct play *p = play_new(i);
		const struct finding *f;

		engine_set_facts(p->engine, &(struct detector_facts){ .n_cpus = 16, .quota = rows[i].quota });
		for (int second = 0; second < 20; second++) {
			play_training(p, 0, 0.5);
			CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		}
		f = play_find(p, "cpu_quota");
		CHECK_STR_EQ(rows[i].name, f ? f->advice[0] : "", rows[i].want);
		CHECK_INT_EQ(rows[i].name, f ? f->n_advice : 0, 2);
		engine_set_facts(p->engine, &(struct detector_facts){ .n_cpus = 16, .quota = no_quota });
		play_training(p, 0, 0.5);
		play_process(p)->gone_ns = p->now_ns + S / 2;
		CHECK_INT_EQ(rows[i].name, play_tick(p, S), 0);
		CHECK(rows[i].name, f && f->end_ns != 0);
		CHECK_STR_EQ(rows[i].name, f ? f->advice[0] : "", rows[i].want);
		play_free(p);
	}
}

int main(void)
{
	check_groups();
	for (size_t i = 0; i < ARRAY_SIZE(accounts); i++)
		check_account(i);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint64_t seed = 0; seed < 10; seed++) {
			struct play *p = play_new(seed);
			const struct finding *f;

			for (int second = 0; second < 155; second++) {
				play_training(p, second < 5 ? 0 : cases[i].hog, second < 5 ? 0 : cases[i].quota);
				CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
			}
			f = play_first(p);
			CHECK_STR_EQ(cases[i].name, f ? f->kind : "", cases[i].first);
			CHECK_INT_EQ(cases[i].name, f ? f->severity : 0, cases[i].severity);
			CHECK_INT_EQ(cases[i].name, p->n_findings, cases[i].n);
			f = play_find(p, "cpu_quota");
			if (f) {
				CHECK_INT_EQ(cases[i].name, f->cause.pid, 0);
				CHECK(cases[i].name, play_evidence(f, "throttled_ratio") > 0.95 * cases[i].quota);
				CHECK(cases[i].name, strstr(f->advice[0], "cpu.max") != NULL);
			}
			play_free(p);
		}
	}
	return check_result();
}
