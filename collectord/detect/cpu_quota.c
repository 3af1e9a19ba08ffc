// SPDX-License-Identifier: Apache-2.0
/*
 * The process was ready to run, but its control group had used up its CPU quota.
 */
#include <stdio.h>

#include "detect/detector.h"
#include "files/file_path.h"

/* The file that sets the quota has another name in each version of control groups. */
static void group_name(const struct detector_facts *facts, struct finding *f)
{
	struct advice_quota quota = { .path = "" };
	char path[DETECTOR_PATH_BYTES] = "";

	if (facts->quota && facts->quota(f->process.tgid, &quota) == 0)
		file_path_quote(quota.path, path, sizeof(path));
	if (!quota.path[0] || !path[0])
		return; /* the remedy of the class stays */
	(void)snprintf(f->advice[0], FINDING_ADVICE_BYTES,
		       "raise %s of its control group %s (kubernetes: limits.cpu, docker: --cpus)",
		       quota.is_v1 ? "cpu.cfs_quota_us" : "cpu.max", path);
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	detector_evidence_lost(f, s, "quota_ns", "throttled_ratio");
	group_name(facts, f);
}

const struct detector detector_cpu_quota = {
	.name = "cpu_quota",
	.words = {
		.title = "was throttled by its CPU quota",
		.advice = { "or start fewer threads: all threads of the group share one quota" },
		.own = "out of its CPU quota",
	},
	.takes = BLAME_QUOTA,
	.needs = MEASURED(BLAME_QUOTA),
	.is_disturbing = true,
	.is_of_thread = true,
	.has_lasting_advice = true,
	/*
	 * Throttling comes from a setting, never by chance, so there is little noise: single periods in which a burst
	 * just reached the limit. (Guess.)
	 */
	.noise_ratio = 0.002,
	.open_lost_ns = 100 * NSEC_PER_MSEC,	 /* guess: one period of the usual quota (kernel: 100 ms) */
	.open_present_ns = 1500 * NSEC_PER_MSEC, /* guess: more than one tick */
	.quiet_ns = 10 * NSEC_PER_SEC,		 /* guess */
	.bands = {				 /* as cpu_contention: the same time is lost */
		[FINDING_MEDIUM] = { 0.075, 500 * NSEC_PER_MSEC },
		[FINDING_HIGH] = { 0.25, 1500 * NSEC_PER_MSEC },
		[FINDING_CRITICAL] = { 0.6, 10 * NSEC_PER_SEC },
	},
	.tell = tell,
};
