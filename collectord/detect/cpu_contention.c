// SPDX-License-Identifier: Apache-2.0
/*
 * Calls were ready to run and another task had the CPU.
 *
 * Voluntary waits are none of it: the scheduler's own run-queue wait inside each call is
 * what counts, and who ran meanwhile. The healthy have some: interrupts, kernel threads,
 * a neighbour's short slice.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/detector.h"

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	(void)room;
	return detector_check_class(view, BLAME_RUNNABLE, ret);
}

static uint64_t call_ns(const struct event *event)
{
	return event->call->blame_ns[BLAME_RUNNABLE];
}

/* Names that the kernel gives its own threads: they cannot be moved by command. */
static bool is_kernel_thread(const struct finding_cause *cause)
{
	static const char *const names[] = { "kworker/", "ksoftirqd/", "migration/", "rcu", "irq/", "kswapd" };

	for (size_t i = 0; cause->uid == 0 && i < ARRAY_SIZE(names); i++)
		if (strncmp(cause->comm, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * On which CPU they met is not known, so both are moved: nothing else keeps them apart
 * for sure. The one that disturbs gets the first CPU, the one that is disturbed the rest.
 */
static void advise_apart(const struct detector_facts *facts, struct finding *f)
{
	uint32_t last = facts->n_cpus - 1;

	if (last == 1)
		detector_advise(f, "taskset -acp 0 %" PRIu32 " && taskset -acp 1 %" PRIu32, f->cause.pid,
				f->process.tgid);
	else
		detector_advise(f, "taskset -acp 0 %" PRIu32 " && taskset -acp 1-%" PRIu32 " %" PRIu32, f->cause.pid,
				last, f->process.tgid);
}

static void advise(const struct detector_facts *facts, struct finding *f)
{
	if (f->cause.pid == f->process.tgid && !f->cause.is_several) {
		detector_advise(f,
				"let the process have more CPUs or start fewer threads: its own threads wait for each "
				"other");
		return;
	}
	/* Nobody moves the first process: everything else hangs on it. */
	if (f->cause.pid > 1 && !f->cause.is_several && !is_kernel_thread(&f->cause)) {
		if (facts->n_cpus > 1)
			advise_apart(facts, f);
		detector_advise(f, "renice -n 19 -p %" PRIu32, f->cause.pid);
		return;
	}
	detector_advise(f, "give the process CPUs of its own: cpuset.cpus of its control group, or isolcpus");
	detector_advise(f, "renice -n -5 -p %" PRIu32, f->process.tgid);
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	detector_title(f, "waited for the CPU");
	detector_evidence(f, "runnable_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence(f, "runnable_ratio", s->calls_ns ? (double)s->lost_ns / (double)s->calls_ns : 0,
			  FINDING_UNIT_RATIO);
	detector_evidence(f, "lost_ratio", s->time_ns ? (double)s->lost_ns / (double)s->time_ns : 0,
			  FINDING_UNIT_RATIO);
	detector_evidence(f, "culprit_ns", (double)s->culprit_ns, FINDING_UNIT_NS);
	detector_evidence(f, "culprits", s->n_culprits, FINDING_UNIT_COUNT);
	if (s->machine_cpu_ratio >= 0)
		detector_evidence(f, "machine_cpu_ratio", s->machine_cpu_ratio, FINDING_UNIT_RATIO);
	advise(facts, f);
}

const struct detector detector_cpu_contention = {
	.name = "cpu_contention",
	.needs = MEASURED(BLAME_RUNNABLE),
	.sharpened_by = MEASURED(BLAME_QUOTA), /* without it, what a quota takes may be told as runnable */
	.is_disturbing = true,
	.is_outside_too = true,
	.has_culprits = true,
	/* Twice what was the most without any neighbour: 0.22 %, 0.005 % is usual (docs/measurements/blame.md,
	 * "behind / wall, without a hog"). A hog on the core of a program that mostly blocks costs it no more
	 * than 1.5 %: the scheduler lets go first who slept. */
	.noise_ratio = 0.005,
	.open_lost_ns = 50 * NSEC_PER_MSEC, /* guess: that hog is told after five seconds */
	.open_present_ns = 1500 * NSEC_PER_MSEC, /* guess: more than one tick */
	.quiet_ns = 10 * NSEC_PER_SEC,		 /* guess: bursts every few seconds are one finding */
	.bands = {				 /* guess: revisit with real traces */
		[FINDING_MEDIUM] = { 0.075, 500 * NSEC_PER_MSEC },
		[FINDING_HIGH] = { 0.25, 1500 * NSEC_PER_MSEC },
		[FINDING_CRITICAL] = { 0.6, 10 * NSEC_PER_SEC },
	},
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
