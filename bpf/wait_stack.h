// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The stack of a wait between calls: taken when the thread leaves the CPU, since only then it is the current one and in
 * its system call or page fault. It is told with the wait if that lasts 1 ms or more (waits.h).
 *
 * A place of short waits (wait_place.h) pays a comparison; a place that is new, or where one of the last waits was
 * long, a stack, some in a second of one process. The first ones of each second are taken: one after another, they are
 * of each place as often as it waits.
 */
#pragma once

#include "abi.h"
#include "stack_scratch.h"
#include "syscalls.h"
#include "wait_place.h"

/* From stack.h: call.bpf.c has it, since bpftool 7.1 links no function of the kernel that two files use. */
__u64 stack_take(struct thread_state *t, __u64 function, __u64 ip, __u64 sp, __u64 frame_pointer);

/* Stacks in a second of one process, of places with long waits, and of new ones. Guesses. */
#define WAIT_STACKS_LONG 32
#define WAIT_STACKS_NEW 8

SHARED struct wait_stacks
	wait_stacks[PROCESS_SLOTS] = {}; /* by slot; threads at the same moment may exceed the limit */

static __always_inline bool wait_stack_may(__u32 slot, bool is_new)
{
	struct wait_stacks *budget = &wait_stacks[slot & (PROCESS_SLOTS - 1)];
	__u32 second = bpf_ktime_get_ns() / NS_IN_SECOND;

	if (budget->second != second) {
		budget->second = second;
		budget->n_long = budget->n_new = 0;
	}
	if (is_new)
		return budget->n_new < WAIT_STACKS_NEW && ++budget->n_new;
	return budget->n_long < WAIT_STACKS_LONG && ++budget->n_long;
}

/*
 * The current thread begins to wait. In a page fault it is at any instruction: compilers describe each, but frame pointers
 * are set up only behind calls.
 */
VERIFIED_ALONE int wait_stack(struct thread_state *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	__u64 ip, sp, place, entry;
	int nr = user_syscall(regs);
	bool is_fault = nr == -1 && ABI_HAS_RULES;

	if (!t || (nr < 0 ? !is_fault : syscall_has(nr, EXECUTES)) || task->flags & PF_EXITING || !task->mm)
		return 0;
	ip = regs_ip(regs);
	sp = regs_sp(regs);
	place = unwind_hash(unwind_hash(ip, sp), t->tgid) & ~WAIT_PLACE_TRIES;
	t->away_place = place;
	entry = READ_ONCE(*wait_place_entry(place));
	if (entry == place)
		return 0;
	/* A wait of several has the stack of the one before. */
	if (t->wait.carried_ns && t->carried_place == place && t->carried_stack)
		return 0;
	if (!wait_stack_may(t->slot, !wait_place_is(entry, place)))
		return 0;
	t->away_stack = stack_take(t, is_fault ? STACK_OF_FAULT : STACK_OF_WAIT, ip, sp, regs_frame_pointer(regs));
	return 0;
}
