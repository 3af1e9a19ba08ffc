// SPDX-License-Identifier: Apache-2.0
/*
 * The process was ready to run, in its calls or between them, while another task had the CPU.
 *
 * Only the scheduler's run-queue wait counts, and the tasks that ran meanwhile; voluntary waits do not. A healthy
 * process has some of it: interrupts, kernel threads, short slices of other processes.
 */
#include "detect/advice.h"
#include "detect/detector.h"

#define MOST_OF_IT 0.75 /* share of a culprit from which the others need no word (guess) */

/* Advises against one culprit. With several, slowing down one of them does not help. Workers are not slowed down. */
static void advise(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	struct advice_task victim = { .pid = f->process.tgid, .uid = f->process.uid, .comm = f->process.comm };
	struct advice_task behind = { .pid = f->cause.is_several ? 0 : f->cause.pid,
				      .uid = f->cause.uid,
				      .comm = f->cause.comm,
				      .is_worker = f->cause.is_worker };
	struct advice_scheduling scheduling = { .n_others = 0 };
	struct advice_affinity *affinity = &scheduling.affinity;
	struct advice_cpu advice;

	affinity->is_known = facts->affinity && behind.pid && facts->affinity(victim.pid, &affinity->victim) == 0 &&
			     facts->affinity(behind.pid, &affinity->behind) == 0;
	if (facts->priority && behind.pid) {
		(void)facts->priority(f->tid ? f->tid : victim.pid, &scheduling.victim);
		(void)facts->priority(f->cause.tid ? f->cause.tid : behind.pid, &scheduling.behind);
	}
	if (f->cause.share < MOST_OF_IT && s->n_culprits > 1)
		scheduling.n_others = s->n_culprits - 1;
	advice = advice_cpu(&victim, &behind, facts->n_cpus, &scheduling);

	for (size_t i = 0; i < advice.n; i++)
		detector_advise(f, "%s", advice.text[i]);
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	detector_evidence_lost(f, s, "runnable_ns", "runnable_ratio");
	detector_evidence(f, "culprit_ns", (double)s->culprit_ns, FINDING_UNIT_NS);
	detector_evidence(f, "culprits", s->n_culprits, FINDING_UNIT_COUNT);
	if (s->machine_cpu_ratio >= 0)
		detector_evidence(f, "machine_cpu_ratio", s->machine_cpu_ratio, FINDING_UNIT_RATIO);
	advise(s, facts, f);
}

const struct detector detector_cpu_contention = {
	.name = "cpu_contention",
	.words = {
		.title = "waited for the CPU",
		.behind = "behind",
		.many = "behind many processes, such as",
	},
	.takes = BLAME_RUNNABLE,
	.needs = MEASURED(BLAME_RUNNABLE),
	.sharpened_by = MEASURED(BLAME_QUOTA), /* without it, throttled time may be reported as runnable */
	.is_disturbing = true,
	.is_of_thread = true,
	.has_culprits = true,
	.has_lasting_advice = true,
	/*
	 * Twice the maximum without other load, 0.22 %; 0.005 % is usual (docs/measurements/blame.md, "behind / wall,
	 * without a hog"). A CPU hog on the core of a program that mostly blocks costs it only 1.5 %: the scheduler
	 * prefers threads that slept.
	 */
	.noise_ratio = 0.005,
	.open_lost_ns = 50 * NSEC_PER_MSEC, /* guess: this hog is reported after five seconds */
	.open_present_ns = 1500 * NSEC_PER_MSEC, /* guess: more than one tick */
	.quiet_ns = 10 * NSEC_PER_SEC,		 /* guess: bursts every few seconds are one finding */
	.bands = {				 /* guess: revisit with real traces */
		[FINDING_MEDIUM] = { 0.075, 500 * NSEC_PER_MSEC },
		[FINDING_HIGH] = { 0.25, 1500 * NSEC_PER_MSEC },
		[FINDING_CRITICAL] = { 0.6, 10 * NSEC_PER_SEC },
	},
	.tell = tell,
};
