// SPDX-License-Identifier: Apache-2.0
/*
 * Graphs are made ready again and again, where launching one that is ready would do.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

/* A program that starts makes its graphs ready, and pays for it: cold_start's matter. (Guess.) */
#define START_NS (10 * NSEC_PER_SEC)
/* Below this part of the time it is no matter. (Guess.) */
#define TIME_RATIO 0.05

enum { EXTRA_CALLS };

static bool is_instantiation(const struct op *op)
{
	return (op->traits & OP_GRAPH) && !(op->traits & OP_LAUNCH);
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	enum op_layer layer = detector_view_layer(view, is_instantiation);
	struct condition c = { .confidence = 1 };

	(void)room;
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op *op = view->ops[i].op;

		if (!op || !is_instantiation(op) || op->layer != layer)
			continue;
		condition_lose(&c, view, op, detect_own_ns(&view->ops[i].figures));
		c.extra[EXTRA_CALLS] += op_figures_count(&view->ops[i].figures);
	}
	if (view->from_ns < view->first_call_ns + START_NS ||
	    (double)c.lost_ns < TIME_RATIO * (double)MAX(view->wall_ns, view->calls_ns))
		return 0;
	*ret = c;
	return 1;
}

static uint64_t call_ns(const struct event *event)
{
	return is_instantiation(event->op) ? detect_call_own_ns(event->call) : 0;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	(void)facts;
	detector_evidence(f, "instantiate_ns", (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence(f, "instantiations", (double)s->extra[EXTRA_CALLS], FINDING_UNIT_COUNT);
	detector_evidence(f, "lost_ratio", s->time_ns ? (double)s->lost_ns / (double)s->time_ns : 0,
			  FINDING_UNIT_RATIO);
}

const struct detector detector_graph_rebuild = {
	.name = "graph_rebuild",
	.words = {
		.title = "costs much: graphs are made ready while the program runs",
		.advice = { "instantiate once and launch again; change one with cudaGraphExecUpdate",
			    "capture with shapes that do not change: pad batches, or keep a graph for each shape" },
	},
	.noise_ratio = 0, /* .check has its own floor */
	.open_lost_ns = 100 * NSEC_PER_MSEC,   /* guess: as alloc_spike's */
	.open_present_ns = 3 * NSEC_PER_SEC,   /* guess */
	.quiet_ns = 30 * NSEC_PER_SEC,	       /* guess */
	.bands = {			       /* guess */
		[FINDING_MEDIUM] = { 0.1, NSEC_PER_SEC },
		[FINDING_HIGH] = { 0.3, 10 * NSEC_PER_SEC },
	},
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
