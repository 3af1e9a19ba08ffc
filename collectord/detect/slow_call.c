// SPDX-License-Identifier: Apache-2.0
/*
 * One call took seconds and returned, far longer than all calls of its operation before.
 *
 * Reported as it was observed. A call that may wait for kernels takes as long as they do, and only the author knows how
 * long that should be: it is compared with many calls before it. Other findings of the same operation take precedence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/advice.h"
#include "detect/delay.h"
#include "detect/detector.h"
#include "detect/wait_advice.h"
#include "events/op.h"

/* Minimum duration as a multiple of the longest call that returned before. (Guess.) */
#define BEFORE_TIMES 10
/* Minimum number of calls before, to know what is usual. (Guess: as hung_call.) */
#define USUAL_CALLS 100
/* A copy of so many bytes in a second takes its time. (Guess: as memcpy_share.) */
#define COPIED_BYTES_PER_S 1e9
/* Minimum duration of a MEDIUM one. (Guess.) */
#define MEDIUM_CALL_NS (5 * NSEC_PER_SEC)
#define FIRST_CONFIDENCE 0.6
#define FOR_DEVICE_CONFIDENCE 0.6

enum { EXTRA_DURATION_NS, EXTRA_BEFORE_NS };

/* Operations that may wait until kernels are done, or until the queue has room. */
#define FOR_KERNELS (OP_SYNC | OP_COPY | OP_FILL | OP_FREE | OP_LAUNCH | OP_COLLECTIVE | OP_GRAPH)

static bool is_for_device(const struct longest_call *l, enum blame_class class)
{
	if (l->op->traits & (OP_SYNC | OP_COLLECTIVE))
		return delay_is_expected(l->op, class) || class == BLAME_LOCK || class == BLAME_NETWORK ||
		       class == BLAME_OTHER;
	return class == BLAME_DEVICE || class == BLAME_ON_CPU;
}

/* The longest wait in the call whose resource is known. */
static const struct account_wait *wait_of(const struct detector_view *view, const struct longest_call *l)
{
	const struct account_wait *longest = NULL;

	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];

		if (w->op == l->op->id && w->tid == l->call.tid && !w->is_meanwhile &&
		    (!longest || w->max_ns > longest->max_ns))
			longest = w;
	}
	return longest && 2 * longest->max_ns > l->own_ns ? longest : NULL;
}

/* Whether most of its time may be the work of the device, or the library's own. */
static bool is_mostly_device(const struct detector_view *view, const struct longest_call *l)
{
	const struct account_wait *wait = wait_of(view, l);
	uint64_t ns = 0;

	if (wait && wait->kind == RESOURCE_STOPPED)
		return false;
	for (int class = 0; class < BLAME_COUNT; class ++)
		ns += is_for_device(l, (enum blame_class) class) ? l->blame_ns[class] : 0;
	return 2 * ns > l->own_ns;
}

/* Whether it may have waited for kernels for most of its time. */
static bool may_be_kernels(const struct detector_view *view, const struct longest_call *l)
{
	return (l->op->traits & FOR_KERNELS) && is_mostly_device(view, l);
}

static bool is_large_copy(const struct longest_call *l)
{
	return (l->op->traits & OP_COPY) &&
	       (double)l->bytes * (double)NSEC_PER_SEC >= COPIED_BYTES_PER_S * (double)l->own_ns;
}

/* The longest call before it. The record of a call may come a tick after its figures. */
static uint64_t before_of(const struct detector_view *view, const struct longest_call *l,
			  const struct op_memory *memory)
{
	bool is_late = l->call.start_ns + l->call.duration_ns <= view->from_ns;

	if (!memory)
		return 0;
	return is_late && memory->longest_ns == l->call.duration_ns ? memory->before_ns : memory->longest_ns;
}

static struct condition condition_of(const struct detector_view *view, const struct longest_call *l,
				     const struct op_memory *memory)
{
	uint64_t before_ns = before_of(view, l, memory);
	bool is_usual_known = memory && memory->calls >= USUAL_CALLS, is_device = is_mostly_device(view, l);
	const struct account_wait *wait = wait_of(view, l);
	struct condition c = {
		.op = l->op,
		.lost_ns = l->own_ns - before_ns,
		.start_ns = l->call.start_ns,
		.earlier_ns = view->from_ns - MIN(view->from_ns, l->call.start_ns),
		.tid = l->call.tid,
		.severity = FINDING_LOW,
		.confidence = is_usual_known ? 1 : FIRST_CONFIDENCE,
		.extra = { [EXTRA_DURATION_NS] = l->call.duration_ns, [EXTRA_BEFORE_NS] = before_ns },
		.example = l->call,
		.has_blame = true,
		.is_event = true,
	};

	memcpy(c.blame_ns, l->blame_ns, sizeof(c.blame_ns));
	if (wait)
		c.longest = *wait;
	if (is_device)
		c.confidence = MIN(c.confidence, FOR_DEVICE_CONFIDENCE);
	else if (is_usual_known && l->own_ns >= MEDIUM_CALL_NS)
		c.severity = FINDING_MEDIUM;
	return c;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < view->longest->n && n < room; i++) {
		const struct longest_call *l = &view->longest->items[i];
		const struct op_memory *memory = detector_view_memory(view, l->op);
		uint64_t calls = memory ? memory->calls : 0, before_ns = before_of(view, l, memory);

		if (l->own_ns < BEFORE_TIMES * before_ns || is_large_copy(l) ||
		    (calls < USUAL_CALLS && may_be_kernels(view, l)))
			continue;
		ret[n++] = condition_of(view, l, memory);
	}
	return n;
}

/* The class that took most of the calls' time. */
static enum blame_class class_most(const struct finding *f)
{
	int most = BLAME_ON_CPU;

	for (int class = 0; class < BLAME_COUNT; class ++)
		if (class != BLAME_RUNNABLE && class != BLAME_QUOTA && f->blame_ns[class] > f->blame_ns[most])
			most = class;
	return (enum blame_class)most;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	char what[48], path[DETECTOR_PATH_BYTES];
	enum blame_class class = class_most(f);

	(void)snprintf(what, sizeof(what), "took %.1f s", (double)s->extra[EXTRA_DURATION_NS] / (double)NSEC_PER_SEC);
	detector_title(f, what);
	detector_evidence(f, "duration_ns", (double)s->extra[EXTRA_DURATION_NS], FINDING_UNIT_NS);
	detector_evidence(f, "longest_before_ns", (double)s->extra[EXTRA_BEFORE_NS], FINDING_UNIT_NS);
	if (s->longest.kind == RESOURCE_STOPPED) {
		wait_advise_stopped(f, facts, &s->longest);
		return;
	}
	if (s->longest.class == class && detector_path(&s->longest, path))
		detector_advise(f, "it waited for %s%s%s: keep that in memory or on a faster disk", path,
				s->longest.device_name[0] ? " on " : "", s->longest.device_name);
	if (advice_class(class))
		detector_advise(f, "%s", advice_class(class));
	if (class == BLAME_DEVICE)
		detector_advise(f,
				"if no kernel or copy takes so long, check whether the device works: nvidia-smi -q -d "
				"UTILIZATION,ECC; dmesg | grep Xid");
	if (class == BLAME_ON_CPU)
		detector_advise(f, "if it loads or compiles code, call it once before the first request or step");
}

const struct detector detector_slow_call = {
	.name = "slow_call",
	.is_per_op = true,
	.yields = true,
	.extras_largest = 1u << EXTRA_DURATION_NS | 1u << EXTRA_BEFORE_NS,
	.quiet_ns = NSEC_PER_SEC,
	.check = check,
	.call_ns = longest_call_ns,
	.tell = tell,
};
