// SPDX-License-Identifier: Apache-2.0
/*
 * Copies take most of the time in a process's calls, and a good part of the wall clock.
 *
 * A copy from pageable memory first waits for all earlier work in its stream, so its duration alone proves nothing: a
 * copy of four bytes that takes 20 ms is a wait for the device. Only time that the number of bytes explains counts as
 * copying.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

/* Minimum share of copies of the time in calls, and of the wall clock. (Guesses.) */
#define CALLS_RATIO 0.6
#define TIME_RATIO 0.25
/*
 * Time of a slow copy: bytes per second from pageable memory on an old bus, and overhead per call. More time is
 * waiting. (Guess: pageable copies reach some GB/s; a call without bytes takes a few microseconds.)
 */
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
			"copy asynchronously from pinned memory (pin_memory=True, cudaHostAlloc; non_blocking=True)",
			"make fewer, larger copies, or keep reused data on the device",
			"prefetch the next batch in a separate stream while the current one is computed",
		},
	},
	.needs_all_calls = true,
	.noise_ratio = 0, /* .check has its own floor */
	.open_lost_ns = NSEC_PER_SEC,	       /* guess: a property of the program, not an event */
	.open_present_ns = 3 * NSEC_PER_SEC,   /* guess: longer than loading a model */
	.quiet_ns = 10 * NSEC_PER_SEC,	       /* guess */
	.bands = {			       /* guess: the program may need these copies */
		[FINDING_MEDIUM] = { 0.4, 2 * NSEC_PER_SEC },
		[FINDING_HIGH] = { 0.8, 30 * NSEC_PER_SEC },
	},
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
