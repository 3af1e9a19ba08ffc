// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The wait of a thread that was noted when it left the CPU and is not counted yet, as seen from another CPU.
 */
#pragma once

#include "off.h"

struct wait_noted {
	__u64 clock; /* run-queue clock at the start; 0: no wait */
	__u64 out_ns;
	__u64 run_delay;
	__u64 class;
};

struct wait_parts {
	__u64 ns[2]; /* ready, blocked */
	__u64 out_ns;
	__u32 class[2];
	__u32 is_over; /* the thread is back on a CPU */
	__u32 pad;
};

/* @now: CLOCK_MONOTONIC; @ret: must be zero; unchanged if there is no wait */
static __always_inline void wait_now(const struct wait_noted *noted, struct task_struct *task, __u64 now,
				     struct wait_parts *ret)
{
	__u64 out = noted->clock, arrival = task->sched_info.last_arrival, queued = task->sched_info.last_queued;
	__u64 delay = task->sched_info.run_delay - noted->run_delay, off;
	struct off_parts parts;

	if (!out)
		return;
	if (arrival > out) {
		off = arrival - out; /* the wait is over and not settled yet */
		ret->is_over = 1;
	} else {
		off = now > noted->out_ns ? now - noted->out_ns : 0;
		/* The thread was woken, and waits for a CPU since `queued`. */
		delay = queued > out && off > queued - out ? off - (queued - out) : 0;
	}
	parts = off_split(off, delay, noted->class);
	ret->out_ns = noted->out_ns;
	ret->class[0] = noted->class == BLAME_QUOTA ? BLAME_QUOTA : BLAME_RUNNABLE;
	ret->class[1] = noted->class;
	ret->ns[0] = parts.runnable_ns;
	ret->ns[1] = parts.blocked_ns;
}

/* Adds the parts of the wait to `ns`, by class. */
static __always_inline void wait_add(__u64 ns[BLAME_COUNT], const struct wait_parts *wait)
{
	__u32 k;

	for (k = 0; k < BLAME_COUNT; k++) {
		ns[k] += k == wait->class[0] ? wait->ns[0] : 0;
		ns[k] += k == wait->class[1] ? wait->ns[1] : 0;
	}
}
