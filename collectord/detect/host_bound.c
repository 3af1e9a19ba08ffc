// SPDX-License-Identifier: Apache-2.0
/*
 * A driving thread computes between its calls for most of its clock, and its calls are short: the device waits for the
 * program's own code.
 *
 * Time that the thread waits for the device counts against it: as much of the computing may be hidden behind work of
 * the device. What takes a tenth of the clock otherwise has a detector of its own, and comes first.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/detector.h"

/* A process that begins imports its modules. (Guess, as starved.) */
#define BEGIN_NS (5 * NSEC_PER_SEC)
/* Fewer calls in a second are no demand for the device. (Guess.) */
#define DEMAND_CALLS 20
/* Computing between calls beyond all waits for the device, of the thread's clock: where it is told at all, and where it
 * is more than LOW. (Guesses: how long the device was idle is not known here.) */
#define LEAST_RATIO 0.25
#define MOST_RATIO 0.5
/* Any other delay of so much of the clock comes first: the noise of starved. */
#define OTHER_RATIO 0.1
/* The average call in which the thread does not wait for the device. (Guess: launches take 5 us.) */
#define SHORT_CALL_NS (200 * NSEC_PER_USEC)

enum extra { EXTRA_COMPUTING, EXTRA_CALLS };

/* Waits between calls and delays that another detector names; sleep is neither. */
static uint64_t other_delays(const struct driving *d)
{
	uint64_t ns = d->in_ns[BLAME_RUNNABLE] + d->in_ns[BLAME_QUOTA];

	for (int class = BLAME_ON_CPU + 1; class < BLAME_COUNT; class ++)
		if (class != BLAME_SLEEP)
			ns += d->between_ns[class];
	return ns;
}

static bool is_host_bound(const struct driving *d)
{
	double wall_ns = (double)d->account->wall_ns;
	uint64_t host_ns = d->calls_ns - MIN(d->calls_ns, d->device_ns);

	return d->account->calls && host_ns / d->account->calls < SHORT_CALL_NS &&
	       (double)other_delays(d) < OTHER_RATIO * wall_ns &&
	       (double)driving_least(d, d->between_ns[BLAME_ON_CPU]) >= LEAST_RATIO * wall_ns;
}

/* The GIL is waited for, or the program is called so. */
static bool is_python(const struct detector_view *view)
{
	static const char name[] = "python";

	if (strncmp(view->process->comm, name, sizeof(name) - 1) == 0)
		return true;
	for (size_t i = 0; i < view->n_waits; i++)
		if (view->waits[i].kind == RESOURCE_GIL)
			return true;
	return false;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	struct condition c = { .confidence = 1 };
	struct driving worst = { .account = NULL };
	uint64_t computing_ns, least_ns;

	if (!room || view->to_ns < view->first_call_ns + BEGIN_NS ||
	    (double)view->calls * NSEC_PER_SEC < DEMAND_CALLS * (double)view->wall_ns)
		return 0;
	for (size_t i = 0; i < view->n_driving; i++) {
		struct driving one;

		driving_of(&view->accounts[i], &one);
		if (is_host_bound(&one) &&
		    (!worst.account || one.between_ns[BLAME_ON_CPU] > worst.between_ns[BLAME_ON_CPU]))
			worst = one;
	}
	if (!worst.account)
		return 0;
	computing_ns = worst.between_ns[BLAME_ON_CPU];
	least_ns = driving_least(&worst, computing_ns);
	condition_account(&c, &worst, 0, computing_ns);
	c.most = (double)least_ns < MOST_RATIO * (double)worst.account->wall_ns ? FINDING_LOW : FINDING_MEDIUM;
	c.of = is_python(view) ? cause_get(CAUSE_PYTHON) : NULL;
	c.extra[EXTRA_COMPUTING] = computing_ns;
	c.extra[EXTRA_CALLS] = worst.account->calls;
	*ret = c;
	return 1;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	bool is_in_python = strcmp(f->cause.kind, cause_get(CAUSE_PYTHON)->kind) == 0;
	uint64_t computing_ns = s->extra[EXTRA_COMPUTING], calls = s->extra[EXTRA_CALLS];

	(void)facts;
	detector_title_between(f, is_in_python ? cause_get(CAUSE_PYTHON)->title : "computed on the CPU");
	detector_evidence(f, "on_cpu_ns", (double)computing_ns, FINDING_UNIT_NS);
	detector_evidence(f, "lost_ratio", s->time_ns ? (double)s->lost_ns / (double)s->time_ns : 0,
			  FINDING_UNIT_RATIO);
	detector_evidence(f, "lost_at_least_ns", (double)s->least_ns, FINDING_UNIT_NS);
	detector_evidence(f, "on_cpu_per_call_ns", calls ? (double)computing_ns / (double)calls : 0, FINDING_UNIT_NS);
	if (!is_in_python) {
		detector_advise(f, "see where it computes: sudo perf top -p %" PRIu32, f->process.tgid);
		detector_advise(f, "replay the calls of a step as one CUDA graph, or do the work in another thread");
		return;
	}
	detector_advise(f, "see which lines compute: sudo py-spy top --pid %" PRIu32, f->process.tgid);
	detector_advise(f, "replay the calls of a step as one CUDA graph (torch.compile, torch.cuda.graph), or move "
			   "the work to worker processes");
	detector_advise(f, "garbage collection is not measured: log it with gc.callbacks, then use gc.freeze() after "
			   "the start");
}

const struct detector detector_host_bound = {
	.name = "host_bound",
	.words = { .own = "computes between its calls" },
	.is_of_thread = true,
	.is_of_cause = true,
	.noise_ratio = 0.2,			 /* guess: own code of a healthy program */
	.open_lost_ns = 500 * NSEC_PER_MSEC,	 /* guess */
	.open_present_ns = 1500 * NSEC_PER_MSEC, /* guess: more than one tick */
	.steady_ns = 4 * NSEC_PER_SEC,		 /* as starved */
	.quiet_ns = 10 * NSEC_PER_SEC,		 /* as starved */
	/* No more: the program does what its author wrote, and how long the device was idle is not measured. */
	.bands = { [FINDING_MEDIUM] = { MOST_RATIO, 5 * NSEC_PER_SEC } },
	.check = check,
	.tell = tell,
};
