// SPDX-License-Identifier: Apache-2.0
/*
 * A graph could not be captured, or graphs are instantiated again and again where launching one would do.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

/* Codes of calls that are not allowed while a stream is captured, and of captures that ended so (call_errors.def). */
#define CAPTURE_CODES_FIRST 900
#define CAPTURE_CODES_LAST 908
/* Programs instantiate their graphs when they start: cold_start covers that. (Guess.) */
#define START_NS (10 * NSEC_PER_SEC)
/* Minimum share of the time. (Guess.) */
#define TIME_RATIO 0.05

enum { EXTRA_FAILED, EXTRA_CALLS };

static bool is_instantiation(const struct op *op)
{
	return (op->traits & OP_GRAPH) && !(op->traits & OP_LAUNCH);
}

static bool is_capture_error(const struct op *op, int32_t code)
{
	return (op->layer == OP_LAYER_RUNTIME || op->layer == OP_LAYER_DRIVER) && code >= CAPTURE_CODES_FIRST &&
	       code <= CAPTURE_CODES_LAST;
}

/* Whether a graph was instantiated in this tick: then the program had another way, or tried again. */
static bool is_instantiated(const struct detector_view *view)
{
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op_figures *f = &view->ops[i].figures;

		if (view->ops[i].op && is_instantiation(view->ops[i].op) && op_figures_count(f) > f->errors)
			return true;
	}
	return false;
}

static bool check_failed(const struct detector_view *view, struct condition *ret)
{
	const struct failed_call *first = failed_calls_first(view->failed, is_capture_error);

	if (!first)
		return false;
	*ret = (struct condition){
		.op = first->op,
		.confidence = 1,
		.severity = is_instantiated(view) ? FINDING_LOW : FINDING_MEDIUM,
		.is_event = true,
		.start_ns = first->call.start_ns,
		.end_ns = view->to_ns,
		.tid = first->call.tid,
		.example = first->call,
		.extra = { [EXTRA_FAILED] = first->count },
	};
	return true;
}

static bool check_cost(const struct detector_view *view, struct condition *ret)
{
	enum op_layer layer = detector_view_layer(view, is_instantiation);
	struct condition c = { .confidence = 1 };

	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op *op = view->ops[i].op;

		if (!op || !is_instantiation(op) || op->layer != layer)
			continue;
		condition_lose(&c, view, op, detect_own_ns(&view->ops[i].figures));
		c.extra[EXTRA_CALLS] += op_figures_count(&view->ops[i].figures);
	}
	if (view->from_ns < view->first_call_ns + START_NS ||
	    (double)c.lost_ns < TIME_RATIO * (double)MAX(view->wall_ns, view->calls_ns))
		return false;
	*ret = c;
	return true;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	size_t n = check_failed(view, &ret[0]);

	if (n < room)
		n += check_cost(view, &ret[n]);
	return n;
}

static uint64_t call_ns(const struct event *event)
{
	if ((event->call->reason & RECORD_REASON_ERROR) && is_capture_error(event->op, event->call->ret))
		return event->call->raw_ns;
	return is_instantiation(event->op) ? detect_call_own_ns(event->call) : 0;
}

static void lost_capture_tell(const struct detector_sums *s, struct finding *f)
{
	detector_title(f, "failed while a graph was captured: the capture is lost");
	detector_advise(f, "run the work a few times before the capture: libraries allocate, load and synchronise when "
			   "they are used first");
	detector_advise(f,
			"in the capture, neither synchronise nor allocate outside of a pool; other threads can capture "
			"with cudaStreamCaptureModeThreadLocal");
	detector_evidence(f, "failed_calls", (double)s->extra[EXTRA_FAILED], FINDING_UNIT_COUNT);
}

static void cost_tell(const struct detector_sums *s, struct finding *f)
{
	detector_title(f, "costs much: graphs are instantiated while the program runs");
	detector_advise(f, "instantiate once and launch again; change a graph with cudaGraphExecUpdate");
	detector_advise(f, "capture with shapes that do not change: pad batches, or keep a graph for each shape");
	detector_evidence_lost(f, s, "instantiate_ns", "instantiate_ratio");
	detector_evidence(f, "instantiations", (double)s->extra[EXTRA_CALLS], FINDING_UNIT_COUNT);
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	(void)facts;
	if (s->extra[EXTRA_FAILED])
		lost_capture_tell(s, f);
	else
		cost_tell(s, f);
}

const struct detector detector_graph_capture = {
	.name = "graph_capture",
	.is_per_op = true,
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
