// SPDX-License-Identifier: Apache-2.0
/*
 * A call does not return.
 *
 * The normal duration depends on the operation: a synchronising call waits as long as its kernel runs, and only the
 * author knows how long that should be. A launch, an allocation or a copy that takes minutes is never normal.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "detect/detector.h"
#include "detect/wait_advice.h"
#include "events/op.h"

/* Minimum age of a hung call, absolute and as a multiple of the longest call that returned. (Guesses.) */
#define HUNG_NS (10 * NSEC_PER_SEC)
#define HUNG_TIMES 20
/* Minimum number of returned calls to know the usual length of a wait for the device. (Guess.) */
#define KNOWN_CALLS 100
#define UNKNOWN_CONFIDENCE 0.3
#define DEVICE_CONFIDENCE 0.6
/* Behind a debugger and its process. */
#define BACKTRACES " -batch -ex 'thread apply all bt'"
/* Minimum age for each severity: for a call that should be short, and for a wait for the device. (Guesses.) */
static const uint64_t short_ages_ns[] = {
	[FINDING_MEDIUM] = 30 * NSEC_PER_SEC,
	[FINDING_HIGH] = 60 * NSEC_PER_SEC,
	[FINDING_CRITICAL] = 600 * NSEC_PER_SEC,
};
static const uint64_t device_ages_ns[] = {
	[FINDING_MEDIUM] = 60 * NSEC_PER_SEC,
	[FINDING_HIGH] = 600 * NSEC_PER_SEC,
	[FINDING_CRITICAL] = 3600 * NSEC_PER_SEC,
};

static uint64_t age_ns(const struct in_flight_record *call)
{
	return call->now_ns > call->start_ns ? call->now_ns - call->start_ns : 0;
}

/* Whether the call so far mostly waits for the device or polls it. */
static bool waits_for_device(const struct in_flight_record *call, const struct op *op)
{
	uint64_t waited_ns = 0, on_cpu_ns;

	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		waited_ns += call->blame_ns[i];
	on_cpu_ns = age_ns(call) > waited_ns ? age_ns(call) - waited_ns : 0;
	return (op->traits & OP_SYNC) && 2 * (call->blame_ns[BLAME_DEVICE] + on_cpu_ns) > age_ns(call);
}

/* What stopped the thread in its call; NULL: nothing. */
static const struct account_wait *stop_of(const struct detector_view *view, const struct in_flight_record *call)
{
	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];

		if (w->is_open && w->kind == RESOURCE_STOPPED && w->tid == call->tid && w->op == call->op)
			return w;
	}
	return NULL;
}

static void judge(const struct in_flight_record *call, const struct op *op, const struct op_memory *memory,
		  struct condition *c)
{
	bool for_device = waits_for_device(call, op), is_known = memory && memory->calls >= KNOWN_CALLS;
	const uint64_t *ages_ns = for_device ? device_ages_ns : short_ages_ns;

	c->severity = FINDING_LOW;
	for (int i = FINDING_MEDIUM; i <= FINDING_CRITICAL; i++)
		if (age_ns(call) >= ages_ns[i])
			c->severity = (enum finding_severity)i;
	c->confidence = for_device ? DEVICE_CONFIDENCE : 1;
	if (is_known)
		return;
	c->confidence = MIN(c->confidence, for_device ? UNKNOWN_CONFIDENCE : DEVICE_CONFIDENCE);
	if (for_device)
		c->severity = MIN(c->severity, FINDING_MEDIUM);
}

static void condition_fill(const struct detector_view *view, const struct in_flight_record *call, const struct op *op,
			   const struct op_memory *memory, struct condition *c)
{
	uint64_t longest_ns = memory ? memory->max_ns : 0, waited_ns = 0;
	const struct account_wait *stop = stop_of(view, call);

	*c = (struct condition){
		.op = op,
		.lost_ns = view->wall_ns,
		.lost_total_ns = age_ns(call) - longest_ns,
		.start_ns = call->start_ns,
		.tid = call->tid,
		.example = { .start_ns = call->start_ns, .duration_ns = age_ns(call), .tid = call->tid },
		.has_blame = true,
	};
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		c->blame_ns[i] = call->blame_ns[i];
		waited_ns += call->blame_ns[i];
	}
	if (stop)
		c->longest = *stop;
	c->blame_ns[BLAME_ON_CPU] = age_ns(call) > waited_ns ? age_ns(call) - waited_ns : 0;
	judge(call, op, memory, c);
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n_in_flight; i++) {
		const struct in_flight_record *call = view->in_flight[i];
		const struct op *op = op_get(call->op);
		const struct op_memory *memory = op ? detector_view_memory(view, op) : NULL;
		uint64_t longest_ns = memory ? memory->max_ns : 0;
		size_t at = 0;

		if (!op || age_ns(call) < MAX(HUNG_NS, HUNG_TIMES * longest_ns))
			continue;
		while (at < n && ret[at].op != op)
			at++;
		if (at == room)
			continue;
		if (at == n)
			ret[n++] = (struct condition){ .op = op };
		/*
		 * Only the oldest call of an operation is reported; the answer about calls in progress has the others.
		 */
		if (age_ns(call) > ret[at].example.duration_ns)
			condition_fill(view, call, op, memory, &ret[at]);
	}
	return n;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	char behind[192] = BACKTRACES;

	detector_title(f, f->end_ns ? "was in progress for a long time" : "does not return");
	detector_evidence(f, "age_ns", f->n_calls ? (double)f->call[0].duration_ns : 0, FINDING_UNIT_NS);
	if (s->longest.kind == RESOURCE_STOPPED) {
		wait_advise_stopped(f, facts, &s->longest);
		return;
	}
	if (f->blame_ns[BLAME_LOCK] > f->blame_ns[BLAME_DEVICE]) {
		if (f->n_calls && f->call[0].tid && !facts->is_ended)
			(void)snprintf(behind, sizeof(behind),
				       BACKTRACES "; thread (LWP) %" PRIu32
						  " waits for it, and __data.__owner of its mutex is the thread that "
						  "holds it",
				       f->call[0].tid);
		wait_advise_debugger(f, facts, "see which thread holds the lock", f->process.tgid, behind);
		return;
	}
	wait_advise_debugger(f, facts, "see where its threads are", f->process.tgid, BACKTRACES);
	detector_advise(f, "check whether the device works: nvidia-smi -q -d UTILIZATION,ECC; dmesg | grep Xid");
}

const struct detector detector_hung_call = {
	.name = "hung_call",
	.is_per_op = true,
	.is_disturbing = true,
	.check = check,
	.tell = tell,
};
