// SPDX-License-Identifier: Apache-2.0
#include "detect/delay.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "detect/advice.h"
#include "detect/finding_message.h"
#include "events/event.h"
#include "events/op.h"

/*
 * Minimum of a delay: share of its operation's time, time, and share of the observed time. (Guesses: revisit with real
 * traces.)
 */
#define OPERATION_RATIO 0.10
#define LEAST_NS NSEC_PER_MSEC
#define WINDOW_RATIO 0.01

/* Waiting for the GPU, computing and sleeping are intended by the program; other time is lost. */
#define EXPECTED (MEASURED(BLAME_ON_CPU) | MEASURED(BLAME_DEVICE) | MEASURED(BLAME_SLEEP))
/*
 * A synchronising call may wait for the GPU in any of these classes: libcuda blocks in ioctl(2), poll(2) or a futex
 * that another of its threads wakes.
 */
#define EXPECTED_OF_SYNC (EXPECTED | MEASURED(BLAME_LOCK) | MEASURED(BLAME_NETWORK) | MEASURED(BLAME_OTHER))

static unsigned int expected_of(const struct op *op)
{
	return op && (op->traits & OP_SYNC) ? EXPECTED_OF_SYNC : EXPECTED;
}

bool delay_is_expected(const struct op *op, enum blame_class class)
{
	return expected_of(op) & MEASURED(class);
}

uint64_t delay_judge(const struct delay_times *t, uint64_t window_ns, enum blame_class *ret_class)
{
	unsigned int expected = expected_of(t->op);
	uint64_t waited_ns = 0, sum_ns;
	int most = BLAME_ON_CPU;

	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		if (!(t->measured & MEASURED(i)))
			continue;
		waited_ns += t->blame_ns[i];
		if (!(expected & MEASURED(i)) && t->blame_ns[i] > (most == BLAME_ON_CPU ? 0 : t->blame_ns[most]))
			most = i;
	}
	sum_ns = MAX(t->raw_ns, waited_ns);
	if (most == BLAME_ON_CPU || t->blame_ns[most] < LEAST_NS ||
	    (double)t->blame_ns[most] < OPERATION_RATIO * (double)sum_ns ||
	    (double)t->blame_ns[most] < WINDOW_RATIO * (double)window_ns)
		return 0;
	*ret_class = (enum blame_class)most;
	return t->blame_ns[most];
}

/* Advice of the finding of this class that lost most. */
static const char *advice_found(const Ingero__V1__Summary *summary, uint32_t pid, enum blame_class takes)
{
	const Ingero__V1__Finding *most = NULL;

	if (takes == BLAME_OTHER)
		return NULL; /* a finding of that class knows what was waited for between calls, not what this is */
	for (size_t i = 0; i < summary->n_findings; i++) {
		const Ingero__V1__Finding *f = summary->findings[i];

		if (f->n_advice && f->pid == pid && f->cause &&
		    strcmp(f->cause->takes, finding_class_field(takes)) == 0 && (!most || f->lost_ns > most->lost_ns))
			most = f;
	}
	return most ? most->advice[0] : NULL;
}

/* Whether one process, or each with a notable share, works for the process that waits. @one: NULL: several ran */
static bool are_workers(const Ingero__V1__Summary *summary, const Ingero__V1__Operation *op,
			const Ingero__V1__Behind *one, uint64_t sum_ns, advice_parent_func parent)
{
	bool is_found = false;

	for (size_t i = 0; i < summary->n_behind; i++) {
		const Ingero__V1__Behind *b = summary->behind[i];

		if (b->victim_pid != op->pid || (one ? b != one : (double)b->ns < CULPRIT_LEAST_RATIO * (double)sum_ns))
			continue;
		if (!b->pid || b->pid == op->pid || b->uid != op->uid || !advice_is_worker(b->pid, op->pid, parent))
			return false;
		is_found = true;
	}
	return is_found;
}

/* Advice against one process if it ran for half of the time; otherwise, for the waiting process. */
static struct advice_cpu advice_behind(const Ingero__V1__Summary *summary, const Ingero__V1__Operation *op,
				       advice_parent_func parent)
{
	static const struct advice_scheduling not_known = { .n_others = 0 };
	const struct advice_task victim = { .pid = op->pid, .uid = op->uid, .comm = op->process_name };
	const Ingero__V1__Behind *first = NULL;
	struct advice_task behind = { .pid = 0 };
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < summary->n_behind; i++) {
		const Ingero__V1__Behind *b = summary->behind[i];

		if (b->victim_pid != op->pid)
			continue;
		sum_ns += b->ns;
		if (!first || b->ns > first->ns)
			first = b;
	}
	if (!sum_ns || (first->ns >= sum_ns - first->ns && !first->pid))
		return (struct advice_cpu){ .n = 0 }; /* nobody is known, or the caller may not see the process */
	behind.uid = first->uid;
	behind.comm = first->comm;
	if (first->ns >= sum_ns - first->ns)
		behind.pid = first->pid;
	behind.is_worker = are_workers(summary, op, behind.pid ? first : NULL, sum_ns, parent);
	return advice_cpu(&victim, &behind, 0, &not_known);
}

struct delay_advice delay_advice(const Ingero__V1__Summary *summary, const Ingero__V1__Operation *op,
				 enum blame_class takes, advice_parent_func parent)
{
	const char *text = advice_found(summary, op->pid, takes);
	struct advice_cpu cpu = { .n = 0 };
	struct delay_advice advice;

	if (!text && takes == BLAME_RUNNABLE)
		cpu = advice_behind(summary, op, parent);
	if (!text)
		text = cpu.n ? cpu.text[0] : advice_class(takes);
	(void)snprintf(advice.text, sizeof(advice.text), "%s", text ? text : "");
	return advice;
}
