// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Threads that make calls, off the CPU outside of them: figures of their process, of its main
 * thread and of all others. Noted when such a thread leaves the CPU, and counted when it leaves
 * it the next time or ends, as only then is known what of it was spent ready. Calls pay nothing
 * for it; a switch of such a thread pays what one inside a call does.
 *
 * All on behalf of the thread itself, by hooks that do not interrupt each other: no exchange is
 * needed.
 */
#pragma once

#include "figures.h"
#include "off.h"

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
	__u64 clock, class;

	if (!t)
		return 0;
	clock = t->away_clock;
	class = t->away_class;
	t->away_clock = 0;
	/* It was away more than once since: nobody looked for a while, as the hook was not there. */
	if (!clock || pcount != t->away_pcount + 1 || arrival <= clock)
		return 0;
	cell = cell_of_event(t->slot, t->tid == t->tgid ? OP_EVENT_wait_main : OP_EVENT_wait_threads);
	if (!cell) {
		counter_add(LOSS_SWITCH_UNSEEN, 1);
		return 0;
	}
	parts = off_split(arrival - clock, delay - t->away_run_delay, class);
	cell_add(cell, arrival - clock, arrival - clock);
	away_blame(cell, class == BLAME_QUOTA ? BLAME_QUOTA : BLAME_RUNNABLE, parts.runnable_ns);
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
