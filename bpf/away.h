// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Threads that make calls, off the CPU outside of them: figures of their process, of its main
 * thread and of all others. Noted when such a thread leaves the CPU, and counted when it leaves
 * it the next time, calls or ends, as only then is known what of it was spent ready. A call that
 * no such wait comes before pays nothing for it; a switch of such a thread pays what one inside a
 * call does.
 *
 * All on behalf of the thread itself; the hook may interrupt a program, so whoever takes away_clock
 * counts.
 */
#pragma once

#include "blame.h"
#include "figures.h"
#include "off.h"
#include "waits.h"

static __always_inline void away_blame(struct figure_cell *cell, __u64 class, __u64 ns)
{
	class -= 1; /* there is none of BLAME_ON_CPU */
	keep(class);
	if (ns && class < BLAME_COUNT - 1)
		__sync_fetch_and_add(&cell->blame_ns[class], ns);
}

/*
 * away_end() - count the interval that was noted last
 * @arrival, @delay, @pcount: of the thread's sched_info, now
 */
VERIFIED_ALONE int away_end(struct thread_state *t, __u64 arrival, __u64 delay, __u64 pcount)
{
	struct figure_cell *cell;
	struct off_parts parts;
	__u64 clock, class, run_delay, ready, from;

	if (!t)
		return 0;
	clock = READ_ONCE(t->away_clock);
	class = READ_ONCE(t->away_class);
	run_delay = READ_ONCE(t->away_run_delay);
	from = READ_ONCE(t->away_pcount);
	if (!clock)
		return 0;
	account_change(t);
	/* Whoever takes the clock counts. */
	if (__sync_val_compare_and_swap(&t->away_clock, clock, 0) != clock) {
		account_change(t);
		return 0;
	}
	/* It was away more than once since: nobody looked for a while, as the hook was not there. */
	if (pcount != from + 1 || arrival <= clock) {
		account_change(t);
		return 0;
	}
	parts = off_split(arrival - clock, delay - run_delay, class);
	ready = class == BLAME_QUOTA ? BLAME_QUOTA : BLAME_RUNNABLE;
	account_away(t, ready, parts.runnable_ns);
	account_away(t, class, parts.blocked_ns);
	account_change(t);
	if (ready == BLAME_RUNNABLE && parts.runnable_ns >= BEHIND_FLOOR_NS)
		behind_add(t->slot, arrival - parts.runnable_ns, arrival, /* is_between= */ 1);
	wait_end(t, /* op= */ 0, class, wait_ns(&parts, class));
	cell = cell_of_event(t->slot, t->tid == t->tgid ? OP_EVENT_wait_main : OP_EVENT_wait_threads);
	if (!cell) {
		counter_add(LOSS_SWITCH_UNSEEN, 1);
		return 0;
	}
	cell_add(cell, arrival - clock, arrival - clock);
	away_blame(cell, ready, parts.runnable_ns);
	away_blame(cell, class, parts.blocked_ns);
	return 0;
}

/* Of a thread that is not traced any more nothing is counted, whatever its last call was told. */
static __always_inline bool away_is_wanted(const struct thread_state *t, struct task_struct *task)
{
	if (!t->wants || !t->slot || t->slot == CALIBRATION_SLOT)
		return false;
	return t->policy == policy || is_traced(task, t->tgid);
}
