// SPDX-License-Identifier: Apache-2.0
/*
 * Copies make up most of a process's calls and cost real time.
 *
 * A copy from pageable memory waits for everything before it in its stream, so its
 * duration alone proves nothing: four bytes that "take" 20 ms are a wait for the device.
 * Only the time that the bytes explain is called copying.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

/* Copies are the matter when they are most of the time in calls, and a good part of the clock. (Guesses.) */
#define CALLS_RATIO 0.6
#define TIME_RATIO 0.25
/* What a slow copy takes: bytes a second from pageable memory on an old bus, and per call. Anything beyond
 * is waiting. (Guess: pageable copies reach some GB/s; a call without bytes a few microseconds.) */
#define SLOW_BYTES_PER_S 1e9
#define SLOW_CALL_NS 20000.0

enum { EXTRA_BYTES, EXTRA_CALLS, EXTRA_CALL_NS };

static bool is_copy(const struct op *op)
{
	return op->traits & OP_COPY;
}

static uint64_t copying_ns(uint64_t own_ns, uint64_t calls, uint64_t bytes)
{
	double explained_ns = (double)calls * SLOW_CALL_NS + (double)bytes / SLOW_BYTES_PER_S * (double)NSEC_PER_SEC;

	return (double)own_ns > explained_ns ? (uint64_t)explained_ns : own_ns;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	enum op_layer layer = detector_view_layer(view, is_copy);
	struct condition c = { .confidence = 1 };
	uint64_t own_ns = 0;

	(void)room;
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op_figures *f = &view->ops[i].figures;
		const struct op *op = view->ops[i].op;

		if (op && op->layer == view->layer)
			own_ns += detect_own_ns(f);
		if (!op || !is_copy(op) || op->layer != layer)
			continue;
		condition_lose(&c, view, op, copying_ns(detect_own_ns(f), op_figures_count(f), f->bytes));
		c.extra[EXTRA_BYTES] += f->bytes;
		c.extra[EXTRA_CALLS] += op_figures_count(f);
		c.extra[EXTRA_CALL_NS] += detect_own_ns(f);
	}
	if (!c.lost_ns || (double)c.lost_ns < CALLS_RATIO * (double)own_ns ||
	    (double)c.lost_ns < TIME_RATIO * (double)MAX(view->wall_ns, view->calls_ns))
		return 0;
	*ret = c;
	return 1;
}

static uint64_t call_ns(const struct event *event)
{
	return is_copy(event->op) ? detect_call_own_ns(event->call) : 0;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	(void)facts;
	detector_evidence_lost(f, s, "copy_ns", "copy_ratio");
	detector_evidence(f, "copies", (double)s->extra[EXTRA_CALLS], FINDING_UNIT_COUNT);
	detector_evidence(f, "copied_bytes", (double)s->extra[EXTRA_BYTES], FINDING_UNIT_BYTES);
	if (s->extra[EXTRA_CALL_NS])
		detector_evidence(f, "bytes_per_s",
				  (double)s->extra[EXTRA_BYTES] * (double)NSEC_PER_SEC /
					  (double)s->extra[EXTRA_CALL_NS],
				  FINDING_UNIT_BYTES);
}

const struct detector detector_memcpy_share = {
	.name = "memcpy_share",
	.words = {
		.title = "takes most of the time in calls",
		.advice = {
			"copy from pinned memory (pin_memory=True, cudaHostAlloc) and let it overlap (non_blocking=True)",
			"copy less often and more at once, or keep on the device what is used again",
			"prefetch the next batch in a stream of its own while this one is computed",
		},
	},
	.noise_ratio = 0, /* .check has its own floor */
	.open_lost_ns = NSEC_PER_SEC,	       /* guess: how a program is, not what happens to it */
	.open_present_ns = 3 * NSEC_PER_SEC,   /* guess: loading a model is over or a phase by then */
	.quiet_ns = 10 * NSEC_PER_SEC,	       /* guess */
	.bands = {			       /* guess: it may be as good as it gets */
		[FINDING_MEDIUM] = { 0.4, 2 * NSEC_PER_SEC },
		[FINDING_HIGH] = { 0.8, 30 * NSEC_PER_SEC },
	},
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
