// SPDX-License-Identifier: Apache-2.0
/*
 * Allocating and freeing device memory costs much time: suddenly, or all the time because the steady loop allocates.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

/* Allocations at the start of a program are normal; cold_start covers them. (Guess.) */
#define START_NS (10 * NSEC_PER_SEC)
/* Suddenly: this many times the usual cost, after this much time of observation. (Guesses.) */
#define SPIKE_TIMES 10
#define WATCHED_NS (5 * NSEC_PER_SEC)
/* All the time: this often. A caching allocator makes a few such calls per minute. (Guess.) */
#define LOOP_CALLS_PER_S 20

enum { EXTRA_CALLS, EXTRA_BYTES, EXTRA_USUAL_NS, EXTRA_WALL_NS };

static bool is_alloc(const struct op *op)
{
	return (op->traits & OP_MEMORY) != 0;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	enum op_layer layer = detector_view_layer(view, is_alloc);
	struct condition c = { .confidence = 1 };
	double usual_ns = 0;
	uint64_t watched_ns = UINT64_MAX;
	bool is_often, is_sudden;

	(void)room;
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op_figures *f = &view->ops[i].figures;
		const struct op *op = view->ops[i].op;
		const struct op_memory *memory;

		if (!op || !is_alloc(op) || op->layer != layer)
			continue;
		memory = detector_view_memory(view, op);
		usual_ns += memory ? memory->quiet_own_ns * (double)view->wall_ns / (double)NSEC_PER_SEC : 0;
		watched_ns = MIN(watched_ns, memory ? memory->quiet_wall_ns : 0);
		condition_lose(&c, view, op, detect_own_ns(f));
		c.extra[EXTRA_CALLS] += op_figures_count(f);
		c.extra[EXTRA_BYTES] += f->bytes;
	}
	if (!c.lost_ns || view->from_ns < view->first_call_ns + START_NS)
		return 0;

	is_often = (double)c.extra[EXTRA_CALLS] * (double)NSEC_PER_SEC >= LOOP_CALLS_PER_S * (double)view->wall_ns;
	is_sudden = watched_ns >= WATCHED_NS && (double)c.lost_ns > SPIKE_TIMES * usual_ns;
	if (!is_often && !is_sudden)
		return 0;
	c.extra[EXTRA_USUAL_NS] = (uint64_t)usual_ns;
	c.extra[EXTRA_WALL_NS] = view->wall_ns;
	*ret = c;
	return 1;
}

static uint64_t call_ns(const struct event *event)
{
	return is_alloc(event->op) ? detect_call_own_ns(event->call) : 0;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	double seconds = (double)s->extra[EXTRA_WALL_NS] / (double)NSEC_PER_SEC;

	(void)facts;
	detector_evidence_lost(f, s, "alloc_ns", "alloc_ratio");
	detector_evidence(f, "usual_alloc_ns", (double)s->extra[EXTRA_USUAL_NS], FINDING_UNIT_NS);
	detector_evidence(f, "alloc_calls", (double)s->extra[EXTRA_CALLS], FINDING_UNIT_COUNT);
	detector_evidence(f, "alloc_calls_per_s", seconds > 0 ? (double)s->extra[EXTRA_CALLS] / seconds : 0,
			  FINDING_UNIT_COUNT);
	detector_evidence(f, "allocated_bytes", (double)s->extra[EXTRA_BYTES], FINDING_UNIT_BYTES);
}

const struct detector detector_alloc_spike = {
	.name = "alloc_spike",
	.words = {
		.title = "costs much time: memory is allocated while the program runs",
		.advice = { "allocate once before the loop and reuse the memory",
			    "use a caching allocator: torch's own, cudaMallocAsync with a pool, RMM" },
	},
	.needs_tier_always = true,
	.is_disturbing = true,
	.noise_ratio = 0.03,		      /* guess: less is harmless */
	.open_lost_ns = 100 * NSEC_PER_MSEC,  /* guess */
	.open_present_ns = 1500 * NSEC_PER_MSEC,
	.quiet_ns = 30 * NSEC_PER_SEC,	      /* guess: spikes every few hundred steps are one finding */
	.bands = {			      /* guess */
		[FINDING_MEDIUM] = { 0.1, 500 * NSEC_PER_MSEC },
		[FINDING_HIGH] = { 0.3, 5 * NSEC_PER_SEC },
	},
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
