// SPDX-License-Identifier: Apache-2.0
/*
 * A driving thread computes between its calls for most of its time, or in launches, and its calls are short: the device
 * waits for the program's own code. Or the thread waits for the device after every launch or two, so that the device
 * has no work while the thread computes.
 *
 * Time that the thread waits for the device is subtracted: that much computing may overlap with work of the device.
 * Another delay of a tenth of the time takes precedence: other detectors report it. Beside it, computing is told where
 * it is the largest part of the time.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process_name.h"
#include "detect/detector.h"
#include "events/op.h"

/* With fewer calls per second the device is not in demand. (Guess.) */
#define DEMAND_CALLS 20
/*
 * Computing between calls minus all waits for the device, as a share of the thread's time: minimum for a finding, and
 * minimum for more than LOW. (Guesses: the idle time of the device is not known here.)
 */
#define LEAST_RATIO 0.25
#define MOST_RATIO 0.5
/* Another delay of this share of the time takes precedence: the noise of starved. */
#define OTHER_RATIO 0.1
/* Beside another delay: minimum of computing between calls minus all waits for the device; nothing above LOW. (Guess.)
 */
#define BESIDE_RATIO 0.4
/* Maximum of the average call, without waits for the device. (Guess: launches take 5 us.) */
#define SHORT_CALL_NS (200 * NSEC_PER_USEC)

/* Maximum of the average launch. (Guess: where the queue of the device is full, a launch takes as long as a kernel.) */
#define SHORT_LAUNCH_NS (10 * NSEC_PER_USEC)
/* Maximum of launches for each wait for the device, and minimum of waits in a second. (Guesses.) */
#define LAUNCHES_OF_SYNC 2
#define DEMAND_SYNCS 20
/* The device may be busy with long kernels, or the first launch after a wait may come at once. (Guess.) */
#define QUEUE_CONFIDENCE 0.7

/*
 * Minimum of its CPU time in the kernel for that to be the cause, and of its CPU time in a second for the kernel's
 * clock ticks, up to 10 ms apart, to tell that. (Guesses.)
 */
#define KERNEL_RATIO 0.7
#define TICKS_LEAST_NS (100 * NSEC_PER_MSEC)

/* Minimum time of collections in a second. (Guess.) */
#define GC_LEAST_NS (20 * NSEC_PER_MSEC)

enum extra { EXTRA_COMPUTING, EXTRA_CALLS, EXTRA_COLLECTIONS, EXTRA_COLLECTED_NS };
enum extra_of_launches { EXTRA_LAUNCHES, EXTRA_SYNCS };

/* Launches and waits for the device of a process in one tick. */
struct device_calls {
	uint64_t launches;	 /* graphs, too */
	uint64_t kernels;	 /* launches of single kernels */
	uint64_t kernels_own_ns; /* time in these, without waits */
	uint64_t syncs;
};

/* Waits between calls and delays that other detectors report; sleep is not counted. */
static uint64_t other_delays(const struct driving *d)
{
	uint64_t ns = d->in_ns[BLAME_RUNNABLE] + d->in_ns[BLAME_QUOTA];

	for (int class = BLAME_ON_CPU + 1; class < BLAME_COUNT; class ++)
		if (class != BLAME_SLEEP)
			ns += d->between_ns[class];
	return ns;
}

static struct device_calls device_calls_of(const struct detector_view *view)
{
	struct device_calls sum = { 0 };

	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op *op = view->ops[i].op;
		uint64_t n = op_figures_count(&view->ops[i].figures);

		if (!op || op->layer != view->layer)
			continue;
		sum.syncs += op->traits & OP_SYNC ? n : 0;
		if (!(op->traits & OP_LAUNCH))
			continue;
		sum.launches += n;
		if (op->traits & OP_GRAPH)
			continue;
		sum.kernels += n;
		sum.kernels_own_ns += detect_own_ns(&view->ops[i].figures);
	}
	return sum;
}

/* CPU time of a thread in launches of single kernels. */
static uint64_t launching_ns(const struct driving *d)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < d->account->parts.n; i++) {
		const struct account_part *part = &d->account->parts.items[i];
		const struct op *op = part->where == ACCOUNT_IN ? op_get((uint16_t)part->op) : NULL;

		if (op && part->class == BLAME_ON_CPU && (op->traits & OP_LAUNCH) && !(op->traits & OP_GRAPH))
			ns += part->ns;
	}
	return ns;
}

static bool is_share(uint64_t ns, double ratio, const struct driving *d)
{
	return (double)ns >= ratio * (double)d->account->wall_ns;
}

static bool is_launch_bound(const struct driving *d, uint64_t launching, const struct device_calls *calls)
{
	return calls->kernels && calls->kernels_own_ns / calls->kernels < SHORT_LAUNCH_NS &&
	       !is_share(other_delays(d), OTHER_RATIO, d) && is_share(driving_least(d, launching), LEAST_RATIO, d);
}

/* Whether it takes more of a thread's time than any class of delay. */
static bool is_largest(const struct driving *d, uint64_t computing_ns)
{
	for (int class = BLAME_ON_CPU + 1; class < BLAME_COUNT; class ++) {
		bool is_of_calls = class == BLAME_RUNNABLE || class == BLAME_QUOTA;

		if (d->between_ns[class] + (is_of_calls ? d->in_ns[class] : 0) >= computing_ns)
			return false;
	}
	return true;
}

static bool has_other_delays(const struct driving *d)
{
	return is_share(other_delays(d), OTHER_RATIO, d);
}

static bool is_host_bound(const struct driving *d, uint64_t computing_ns)
{
	uint64_t host_ns = d->calls_ns - MIN(d->calls_ns, d->device_ns);
	bool is_beside = has_other_delays(d);

	return d->account->calls && host_ns / d->account->calls < SHORT_CALL_NS &&
	       is_share(driving_least(d, computing_ns), is_beside ? BESIDE_RATIO : LEAST_RATIO, d) &&
	       (!is_beside || is_largest(d, computing_ns));
}

/* Time and number of a thread's garbage collections between its calls. .ns 0: none known */
static struct account_wait collections_of(const struct detector_view *view, const struct driving *d)
{
	struct account_wait sum = { .ns = 0 };

	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];

		if (w->kind != RESOURCE_GC || w->op || w->tid != d->account->tid)
			continue;
		sum.ns += w->ns;
		sum.count += w->count;
		sum.max_ns = MAX(sum.max_ns, w->max_ns);
	}
	sum.ns = MIN(sum.ns, d->between_ns[BLAME_ON_CPU]);
	return sum;
}

/* Whether a thread's CPU time is in its system calls and page faults. That of its calls is in the sum, too: it is
 * short. */
static bool is_in_kernel(const struct account *account)
{
	uint64_t all_ns = account->user_ns + account->kernel_ns;

	return all_ns >= TICKS_LEAST_NS && (double)account->kernel_ns >= KERNEL_RATIO * (double)all_ns;
}

/* Whether the process is Python: its threads wait for the GIL, or its name or script says so. */
static bool is_python(const struct detector_view *view)
{
	if (process_name_is_python(view->process->comm, view->process->program.script))
		return true;
	for (size_t i = 0; i < view->n_waits; i++)
		if (view->waits[i].kind == RESOURCE_GIL || view->waits[i].kind == RESOURCE_GC)
			return true;
	return false;
}

/* A process in one tick. */
struct look {
	const struct detector_view *view;
	struct device_calls calls;
};

/* A driving thread of it. */
struct host {
	struct driving driving;
	struct account_wait collections;
	uint64_t computing_ns; /* between calls, without collections, which are a condition of their own */
	uint64_t launching_ns;
};

static void host_of(const struct look *look, const struct account *account, struct host *ret)
{
	driving_of(account, &ret->driving);
	ret->collections = collections_of(look->view, &ret->driving);
	ret->computing_ns = ret->driving.between_ns[BLAME_ON_CPU];
	if (ret->collections.ns >= GC_LEAST_NS)
		ret->computing_ns -= ret->collections.ns;
	ret->launching_ns = launching_ns(&ret->driving);
}

/* ---- the conditions: the time that a thread lost, 0: none; and what is told of the thread that lost most ---- */

static uint64_t collecting_lost(const struct look *look, const struct host *h)
{
	return detector_view_is_busy(look->view) && h->collections.ns >= GC_LEAST_NS ? h->collections.ns : 0;
}

static void collecting_fill(const struct look *look, const struct host *h, struct condition *c)
{
	condition_account(c, &h->driving, 0, h->collections.ns);
	c->longest = h->collections;
	c->extra[EXTRA_COMPUTING] = h->driving.between_ns[BLAME_ON_CPU];
	c->extra[EXTRA_COLLECTIONS] = h->collections.count;
	c->extra[EXTRA_COLLECTED_NS] = look->view->wall_ns;
}

static uint64_t computing_lost(const struct look *look, const struct host *h)
{
	bool is_wanted = (double)look->view->calls * NSEC_PER_SEC >= DEMAND_CALLS * (double)look->view->wall_ns;

	return is_wanted && is_host_bound(&h->driving, h->computing_ns) ? h->computing_ns : 0;
}

static void computing_fill(const struct look *look, const struct host *h, struct condition *c)
{
	uint64_t least_ns = driving_least(&h->driving, h->computing_ns);

	condition_account(c, &h->driving, 0, h->computing_ns);
	c->most = is_share(least_ns, MOST_RATIO, &h->driving) && !has_other_delays(&h->driving) ? FINDING_MEDIUM
												: FINDING_LOW;
	if (is_in_kernel(h->driving.account))
		c->of = cause_get(CAUSE_KERNEL);
	else
		c->of = is_python(look->view) ? cause_get(CAUSE_PYTHON) : NULL;
	c->extra[EXTRA_COMPUTING] = h->computing_ns;
	c->extra[EXTRA_CALLS] = h->driving.account->calls;
	c->extra[EXTRA_COLLECTED_NS] = look->view->is_collected ? look->view->wall_ns : 0;
}

static uint64_t launching_lost(const struct look *look, const struct host *h)
{
	return is_launch_bound(&h->driving, h->launching_ns, &look->calls) ? h->launching_ns : 0;
}

static void launching_fill(const struct look *look, const struct host *h, struct condition *c)
{
	c->confidence = QUEUE_CONFIDENCE;
	condition_account(c, &h->driving, h->launching_ns, 0);
	c->least_ns = driving_least(&h->driving, h->launching_ns);
	c->most = is_share(c->least_ns, MOST_RATIO, &h->driving) ? FINDING_MEDIUM : FINDING_LOW;
	c->extra[EXTRA_LAUNCHES] = look->calls.kernels;
}

/*
 * After each wait for the device it has no work until the next launch. At least one of the gaps between a wait, its
 * launches and the next wait is lost; how long each gap is, is not known.
 */
static uint64_t waiting_lost(const struct look *look, const struct host *h)
{
	const struct device_calls *calls = &look->calls;
	uint64_t between_ns = h->driving.between_ns[BLAME_ON_CPU], host_ns = between_ns + h->launching_ns;

	if ((double)calls->syncs * NSEC_PER_SEC < DEMAND_SYNCS * (double)look->view->wall_ns || !calls->launches ||
	    calls->launches > LAUNCHES_OF_SYNC * calls->syncs)
		return 0;
	if (is_host_bound(&h->driving, between_ns) || is_launch_bound(&h->driving, h->launching_ns, calls) ||
	    is_share(other_delays(&h->driving), OTHER_RATIO, &h->driving) ||
	    !is_share(host_ns, LEAST_RATIO, &h->driving))
		return 0;
	return host_ns;
}

static void waiting_fill(const struct look *look, const struct host *h, struct condition *c)
{
	const struct device_calls *calls = &look->calls;

	condition_account(c, &h->driving, h->launching_ns, h->driving.between_ns[BLAME_ON_CPU]);
	c->confidence = QUEUE_CONFIDENCE;
	c->least_ns = (uint64_t)((double)c->lost_ns * (double)calls->syncs / (double)(calls->syncs + calls->launches));
	c->extra[EXTRA_LAUNCHES] = calls->launches;
	c->extra[EXTRA_SYNCS] = calls->syncs;
}

static void tell_collections(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	uint64_t collections = s->extra[EXTRA_COLLECTIONS];

	(void)facts;
	detector_title_between(f, cause_get(CAUSE_GC)->title);
	detector_evidence(f, "gc_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence_time(f, s);
	detector_evidence(f, "collections", (double)collections, FINDING_UNIT_COUNT);
	detector_evidence(f, "longest_collection_ns", (double)s->longest.max_ns, FINDING_UNIT_NS);
	detector_advise(f, "call gc.collect() and gc.freeze() once when model and data are loaded: later collections "
			   "skip those objects");
	detector_advise(f,
			"gc.disable() during the steps, gc.collect() between phases: saves at most %.1f s in the "
			"%.0f s of this finding",
			(double)s->lost_ns / NSEC_PER_SEC, (double)s->present_ns / NSEC_PER_SEC);
	detector_advise(f, "raise gc.set_threshold(), or create fewer objects that refer to each other in a step");
}

static void tell_launches(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	uint64_t launches = s->extra[EXTRA_LAUNCHES];

	(void)facts;
	detector_title_process(f, cause_get(CAUSE_LAUNCHES)->title);
	detector_evidence(f, "launching_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence_time(f, s);
	detector_evidence(f, "launches", (double)launches, FINDING_UNIT_COUNT);
	detector_evidence(f, "ns_per_launch", launches ? (double)s->lost_ns / (double)launches : 0, FINDING_UNIT_NS);
	detector_advise(f,
			"replay the launches of a step as one CUDA graph (torch.compile, torch.cuda.graph), or merge "
			"small kernels: saves at most %.1f s in the %.0f s of this finding",
			(double)s->lost_ns / NSEC_PER_SEC, (double)s->present_ns / NSEC_PER_SEC);
	detector_advise(f, "a larger batch has the same launches for more work");
}

static void tell_syncs(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	uint64_t launches = s->extra[EXTRA_LAUNCHES], syncs = s->extra[EXTRA_SYNCS];

	(void)facts;
	detector_title_process(f, cause_get(CAUSE_SYNCS)->title);
	detector_evidence(f, "on_cpu_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence_time(f, s);
	detector_evidence(f, "synchronises", (double)syncs, FINDING_UNIT_COUNT);
	detector_evidence(f, "launches_per_synchronise", syncs ? (double)launches / (double)syncs : 0,
			  FINDING_UNIT_RATIO);
	detector_advise(f, "wait for the device less often (loss.item(), .cpu(), print() of a tensor): launch the next "
			   "step first, and read results of several steps together");
	detector_advise(f, "copy results into pinned memory without waiting, and look at an event later");
}

static void tell_computing(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	const struct cause *cause = cause_find(f->cause.kind);
	bool is_in_python = cause == cause_get(CAUSE_PYTHON);
	uint64_t computing_ns = s->extra[EXTRA_COMPUTING], calls = s->extra[EXTRA_CALLS];

	detector_title_between(f, cause ? cause->title : "computed on the CPU");
	detector_evidence(f, "on_cpu_ns", (double)computing_ns, FINDING_UNIT_NS);
	detector_evidence_time(f, s);
	detector_evidence(f, "on_cpu_per_call_ns", calls ? (double)computing_ns / (double)calls : 0, FINDING_UNIT_NS);
	if (cause == cause_get(CAUSE_KERNEL)) {
		detector_advise_command(f, facts, "see in which functions of the kernel", "sudo perf top -p ",
					f->process.tgid, "");
		detector_advise_command(f, facts, "see which system calls take it (this slows it down)",
					"sudo strace -c -p ", f->process.tgid, "");
		detector_advise(f, "read and write more at a time, or in another thread");
		return;
	}
	if (!is_in_python) {
		detector_advise_command(f, facts, "see where it computes", "sudo perf top -p ", f->process.tgid, "");
		detector_advise(f, "replay the calls of a step as one CUDA graph, or do the work in another thread");
		return;
	}
	detector_advise_command(f, facts, "see which lines compute", "sudo py-spy top --pid ", f->process.tgid, "");
	detector_advise(f, "replay the calls of a step as one CUDA graph (torch.compile, torch.cuda.graph), or move "
			   "the work to worker processes");
	if (s->extra[EXTRA_COLLECTED_NS])
		return; /* collections are measured, and have a finding of their own */
	detector_advise(f, "garbage collection is not measured: log it with gc.callbacks, then use gc.freeze() after "
			   "the start");
}

static const struct kind {
	enum cause_number cause;
	uint64_t (*lost)(const struct look *look, const struct host *h);
	void (*fill)(const struct look *look, const struct host *h, struct condition *c);
	void (*tell)(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f);
} kinds[] = {
	{ CAUSE_GC, collecting_lost, collecting_fill, tell_collections },
	{ CAUSE_PYTHON, computing_lost, computing_fill, tell_computing },
	{ CAUSE_LAUNCHES, launching_lost, launching_fill, tell_launches },
	{ CAUSE_SYNCS, waiting_lost, waiting_fill, tell_syncs },
};

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	struct look look = { .view = view, .calls = device_calls_of(view) };
	struct host worst[ARRAY_SIZE(kinds)];
	uint64_t most_ns[ARRAY_SIZE(kinds)] = { 0 };
	size_t n = 0;

	if (!detector_view_is_examined(view))
		return 0;
	for (size_t i = 0; i < view->n_driving; i++) {
		struct host one;

		host_of(&look, &view->accounts[i], &one);
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			uint64_t lost_ns = kinds[k].lost(&look, &one);

			if (lost_ns <= most_ns[k])
				continue;
			most_ns[k] = lost_ns;
			worst[k] = one;
		}
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds) && n < room; k++) {
		if (!most_ns[k])
			continue;
		ret[n] = (struct condition){ .confidence = 1, .of = cause_get(kinds[k].cause) };
		kinds[k].fill(&look, &worst[k], &ret[n++]);
	}
	return n;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (strcmp(f->cause.kind, cause_get(kinds[k].cause)->kind) == 0) {
			kinds[k].tell(s, facts, f);
			return;
		}
	}
	tell_computing(s, facts, f); /* of a program that is not Python */
}

const struct detector detector_host_bound = {
	.name = "host_bound",
	.words = { .own = "computes between its calls" },
	.needs_all_calls = true,
	.is_of_thread = true,
	.is_of_cause = true,
	.noise_ratio = 0.2,			 /* guess: the code of a healthy program */
	.open_lost_ns = 500 * NSEC_PER_MSEC,	 /* guess */
	.open_present_ns = 1500 * NSEC_PER_MSEC, /* guess: more than one tick */
	.steady_ns = 4 * NSEC_PER_SEC,		 /* as starved */
	.quiet_ns = 10 * NSEC_PER_SEC,		 /* as starved */
	/* Never more than MEDIUM: the program works as written, and the idle time of the device is not measured. */
	.bands = { [FINDING_MEDIUM] = { MOST_RATIO, 5 * NSEC_PER_SEC } },
	.check = check,
	.tell = tell,
};
