// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Time off the CPU between calls, of threads that make calls: one figure for the main thread of the process and one for
 * all its other threads. The wait is noted when the thread leaves the CPU. It is counted when the thread next leaves
 * the CPU, begins a call or ends, since only then the time spent ready is known. A call without such a wait before it
 * has no extra cost; a task switch costs as much as one inside a call.
 *
 * All code here runs for the thread itself. The hook may interrupt a program, so only the one that takes away_clock
 * counts the wait.
 */
#pragma once

#include "blame.h"
#include "figures.h"
#include "off.h"
#include "wait_place.h"
#include "waits.h"

static __always_inline void away_blame(struct figure_cell *cell, __u64 class, __u64 ns)
{
	class -= 1; /* the cell has no entry for BLAME_ON_CPU */
	keep(class);
	if (ns && class < BLAME_COUNT - 1)
		__sync_fetch_and_add(&cell->blame_ns[class], ns);
}

/*
 * away_end() - count the interval between calls that was noted last
 * @arrival, @delay, @pcount: last_arrival, run_delay and pcount of the thread's sched_info, now
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
	/* Only the program that takes the clock counts. */
	if (__sync_val_compare_and_swap(&t->away_clock, clock, 0) != clock) {
		account_change(t);
		return 0;
	}
	/* The thread was off the CPU more than once since: the hook was detached meanwhile. */
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
	if (t->away_place)
		wait_place_note(t, parts.blocked_ns);
	cell = cell_of_event(t->slot, t->tid == t->tgid ? OP_EVENT_wait_main : OP_EVENT_wait_threads);
	if (!cell) {
		__sync_fetch_and_add(&share_losses_of(t->slot)->switches, 1);
		return 0;
	}
	cell_add(cell, arrival - clock, arrival - clock);
	away_blame(cell, ready, parts.runnable_ns);
	away_blame(cell, class, parts.blocked_ns);
	return 0;
}

/* Whether to count the thread's waits: not if it is no longer traced, whatever its last call decided. */
static __always_inline bool away_is_wanted(const struct thread_state *t, struct task_struct *task)
{
	if (!t->wants || !t->slot || t->slot == CALIBRATION_SLOT)
		return false;
	return t->policy == policy || is_traced(task, t->tgid);
}
