// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Open calls of a thread that end without anybody seeing them return.
 */
#pragma once

#include "figures.h"

/* The frame is not open any more: its last words to its cell. */
static __always_inline void frame_abandon(struct thread_state *t, struct call_frame *f)
{
	struct figure_cell *cell = cell_of(t->slot, f->op);
	__u32 i;

	f->start_ns = 0;
	if (cell)
		__sync_fetch_and_add(f->is_released ? &cell->untimed : &cell->abandoned, 1);
	if (f->is_dirty) {
		for (i = 0; i < BLAME_COUNT; i++)
			f->blame_ns[i] = 0;
		f->is_dirty = 0;
	}
}

/* Frames from `depth` on never return. */
static __noinline int frames_drop(struct thread_state *t, __u32 depth)
{
	__u32 i, n = t->depth;

	WRITE_ONCE(t->depth, depth);
	barrier();
	for (i = 0; i < CALL_DEPTH_MAX; i++)
		if (i >= depth && i < n)
			frame_abandon(t, &t->frames[i]);
	return 0;
}
