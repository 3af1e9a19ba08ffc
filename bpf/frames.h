// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Open calls of a thread that end without a trapped return.
 */
#pragma once

#include "blame.h"
#include "figures.h"

/* Clears the blame of a frame for its next use. */
VERIFIED_ALONE int frame_clean(struct call_frame *f)
{
	__u32 i;

	if (!f)
		return 0;
	for (i = 0; i < BLAME_COUNT; i++)
		f->blame_ns[i] = 0;
	f->is_dirty = 0;
	return 0;
}

/*
 * Counts a call whose return will not be seen, once, whichever program finds out first: as abandoned, or without a time
 * if its probes were detached to keep the budget.
 */
VERIFIED_ALONE int frame_give_up(struct call_frame *f, __u64 start_ns, __u32 slot)
{
	struct figure_cell *cell;

	if (!f || !start_ns || __sync_val_compare_and_swap(&f->start_ns, start_ns, 0) != start_ns)
		return 0;
	cell = cell_of(slot, f->op);
	if (cell && attach_off[f->attach] >= ATTACH_CLOSING)
		__sync_fetch_and_add(&cell->untimed, 1);
	else if (cell)
		__sync_fetch_and_add(&cell->abandoned, 1);
	return 0;
}

/* Closes a frame whose call never returns. */
VERIFIED_ALONE int frame_abandon(struct call_frame *f, __u32 slot)
{
	if (!f)
		return 0;
	frame_give_up(f, READ_ONCE(f->start_ns), slot);
	if (f->is_dirty)
		frame_clean(f);
	return 0;
}

/* The open call at depth 0 never returns: the time until now counts for it. */
VERIFIED_ALONE int account_call_left(struct thread_state *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_frame *f;
	__u64 start_ns;

	if (!t)
		return 0;
	f = &t->frames[0];
	start_ns = READ_ONCE(f->start_ns);
	if (!start_ns)
		return 0;
	settle(t, task->sched_info.last_arrival, task->sched_info.run_delay, 0);
	account_change(t);
	t->account.calls++;
	account_call_elsewhere(t, f, bpf_ktime_get_ns() - start_ns);
	account_change(t);
	return 0;
}

/* Drops the frames from `depth` on: their calls never return. */
VERIFIED_ALONE int frames_drop(struct thread_state *t, __u32 depth)
{
	__u32 i, n;

	if (!t)
		return 0;
	n = t->depth;
	if (n && !depth)
		account_call_left(t);
	WRITE_ONCE(t->depth, depth);
	barrier();
	for (i = 0; i < CALL_DEPTH_MAX; i++)
		if (i >= depth && i < n)
			frame_abandon(&t->frames[i], t->slot);
	return 0;
}
