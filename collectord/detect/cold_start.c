// SPDX-License-Identifier: Apache-2.0
/*
 * The first calls of a process cost far more than later ones: contexts are created, modules loaded, code compiled.
 *
 * The finding needs steady calls of the same operations for comparison, so a short process has none. Reported once.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

/*
 * Judged after this much time with calls since the last slow tick; given up this long after the first call. (Guesses.)
 */
#define STEADY_NS (2 * NSEC_PER_SEC)
#define GIVE_UP_NS (60 * NSEC_PER_SEC)
/*
 * A process whose first seen call comes this long after its start was already running: its first calls were not seen.
 * The start is in CLOCK_BOOTTIME, which includes suspended time, so the age is never overestimated. (Guess.)
 */
#define RUNNING_NS (300 * NSEC_PER_SEC)
/* The process counts as steady after this many further calls. (Guess.) */
#define STEADY_CALLS 50
/* Number of calls of an operation that give its steady cost. (Guess.) */
#define OP_STEADY_CALLS 5
/*
 * First calls cost at least this many times later ones: 50 to 200 in Ingero's scenario, but a tick mixes both. (Guess.)
 */
#define FIRST_TIMES 5

/* Cost of the first ticks of one operation beyond its steady cost. */
struct excess {
	uint64_t ns;
	uint64_t calls;
	uint64_t end_ns;    /* end of the last slow tick; 0: none */
	uint64_t steady_ns; /* steady cost of a call */
};

/* Steady cost of a call: mean of the last half of the ticks; without calls there, the median of the last tick. */
static double steady_call_ns(const struct op_memory *m, double *ret_byte_ns)
{
	size_t from = (m->n_early + 1) / 2;
	uint64_t calls = 0, own_ns = 0, bytes = 0;

	for (size_t i = from; i < m->n_early; i++) {
		calls += m->early[i].calls;
		own_ns += m->early[i].own_ns;
		bytes += m->early[i].bytes;
	}
	*ret_byte_ns = bytes ? (double)own_ns / (double)bytes : 0;
	if (calls >= OP_STEADY_CALLS)
		return (double)own_ns / (double)calls;
	if (m->n_early && m->early[m->n_early - 1].calls >= OP_STEADY_CALLS)
		return (double)m->early[m->n_early - 1].median_ns;
	return -1;
}

static struct excess excess_of(const struct op_memory *m)
{
	struct excess e = { .ns = 0 };
	double byte_ns, call_ns = steady_call_ns(m, &byte_ns);

	if (call_ns < 0)
		return e;
	e.steady_ns = (uint64_t)call_ns;
	for (size_t i = 0; i < m->n_early; i++) {
		const struct early_tick *t = &m->early[i];
		/* Larger copies always take longer. */
		double expected_ns = MAX((double)t->calls * call_ns, (double)t->bytes * byte_ns);

		if ((double)t->own_ns <= FIRST_TIMES * expected_ns)
			break;
		e.ns += t->own_ns - (uint64_t)expected_ns;
		e.calls += t->calls;
		e.end_ns = t->to_ns;
	}
	return e;
}

/* Number of calls in the remembered ticks after a time. */
static uint64_t calls_after(const struct op_memory *m, uint64_t after_ns)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < m->n_early; i++)
		if (m->early[i].from_ns >= after_ns)
			calls += m->early[i].calls;
	return calls;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	struct condition c = { .confidence = 1, .start_ns = view->first_call_ns };
	enum op_layer layer = OP_LAYER_CALLS;
	uint64_t sums[OP_LAYER_COUNT] = { 0 }, calls = 0, most_ns = 0;

	(void)room;
	if (view->to_ns > view->first_call_ns + GIVE_UP_NS)
		return 0;
	if (view->process->start_boot_ns && view->first_call_ns > view->process->start_boot_ns + RUNNING_NS)
		return 0;
	for (size_t i = 0; i < view->memory->n; i++)
		sums[view->memory->items[i].op->layer] += excess_of(&view->memory->items[i]).ns;
	for (int other = OP_LAYER_CALLS; other < OP_LAYER_CALLS_END; other++)
		if (sums[other] > sums[layer])
			layer = (enum op_layer)other;

	for (size_t i = 0; i < view->memory->n; i++) {
		const struct op_memory *m = &view->memory->items[i];
		struct excess e = excess_of(m);

		if (m->op->layer != layer)
			continue;
		condition_lose(&c, view, m->op, e.ns);
		if (e.ns > most_ns) {
			most_ns = e.ns;
			c.extra[0] = e.calls;
		}
		c.end_ns = MAX(c.end_ns, e.end_ns);
	}
	if (!c.lost_ns || view->to_ns < c.end_ns + STEADY_NS)
		return 0;
	for (size_t i = 0; i < view->memory->n; i++)
		if (view->memory->items[i].op->layer == layer)
			calls += calls_after(&view->memory->items[i], c.end_ns);
	if (calls < STEADY_CALLS)
		return 0;
	*ret = c;
	return 1;
}

static uint64_t call_ns(const struct event *event)
{
	return event->op->traits & OP_SYNC ? 0 : detect_call_own_ns(event->call);
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	(void)facts;
	f->calls = s->extra[0];
	f->max_ns = f->n_calls ? f->call[0].duration_ns : 0;
	detector_evidence(f, "start_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence(f, "first_calls", (double)s->extra[0], FINDING_UNIT_COUNT);
}

const struct detector detector_cold_start = {
	.name = "cold_start",
	.words = {
		.title = "was slow at the start of the process",
		.advice = {
			"warm up: call each kernel and allocate once before the first request or step",
			"keep the process running, or load modules before they are used: CUDA_MODULE_LOADING=EAGER",
		},
	},
	.needs_tier_always = true,
	.is_once = true,
	.open_lost_ns = 100 * NSEC_PER_MSEC, /* guess: less is not felt */
	.bands = {			     /* guess: it is over when it is told, so never worse */
		[FINDING_MEDIUM] = { 0.001, 2 * NSEC_PER_SEC },
	},
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
