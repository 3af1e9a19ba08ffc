// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether an entry is a call of its own, and whether its return may be trapped.
 */
#pragma once

#include "abi.h"
#include "frames.h"

/* Bytes. A traced function that calls another one uses less stack than any stack is large. */
#define STACK_NEAR 4096
/* The kernel leaves at least this much below a process's first stack to that stack alone (mmap_base). */
#define STACK_MAIN_BYTES (128ull << 20)

/* Larger than the code of any CUDA library, smaller than what lies between it and a program that is placed where it
 * links. */
#define LIBRARY_NEAR (32ull << 20)

/* What an entry brings, for those who are not on the fast path. */
struct entry {
	__u64 sp, ip, link;
	__u64 args[CALL_ARGUMENTS];
	__u32 op;
	__u32 no_arguments;
};

struct home_search {
	__u64 at, low;
};

static long home_found(struct task_struct *task, struct vm_area_struct *vma, struct home_search *search)
{
	(void)task;
	search->low = vma->vm_start;
	return 0;
}

/*
 * The stack that a thread was started on. A process's first thread: below start_stack.
 * Others: the C libraries put the thread's own block, which the thread pointer shows,
 * at the top of its stack, and an unreadable page, hence another mapping, below.
 */
static __always_inline void home_find(struct thread_state *t, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct home_search search = {};

	if (!mm)
		return;
	if (t->tid == t->tgid) {
		__u64 top = mm->start_stack;

		keep(top);
		t->home_low = top - STACK_MAIN_BYTES;
		t->home_high = top;
		return;
	}
	search.at = thread_pointer(task);
	/* Without it the stack stays unknown, and calls that may be on another one are counted without their time. */
	if (!has_find_vma || bpf_find_vma(task, search.at, home_found, &search, 0) || !search.low)
		return; /* busy: asked again when it matters again */
	t->home_low = search.low;
	t->home_high = search.at;
}

static __always_inline bool is_home(const struct thread_state *t, __u64 sp)
{
	return sp >= t->home_low && sp < t->home_high;
}

static __always_inline __u64 trampoline_address(struct task_struct *task)
{
	struct xol_area *area;

	if (!task->mm)
		return 0;
	area = task->mm->uprobes_state.xol_area;
	return area ? area->vaddr : 0;
}

/* What an entry is, given the calls that are open. */
enum entry_kind {
	ENTRY_CALL,	 /* a call of its own */
	ENTRY_SAME,	 /* the open call, forwarded from one export of its operation to another: counted once, at the
			    outermost */
	ENTRY_ELSEWHERE, /* on another stack than the open calls: counted, its return must not be trapped */
	ENTRY_AFTER,	 /* the open call is over, it was left by a jump */
};

/*
 * Whether a frame is an open call of this operation through another export, 0 or 1.
 * Without branches: eight frames of three make more paths than older verifiers follow.
 */
static __always_inline __u64 frame_forwards(const struct call_frame *f, __u32 i, __u32 depth, __u32 op, __u64 ip)
{
	__u64 is_open = (__u64)i - depth, op_differs = f->op ^ op, ip_differs = f->ip ^ ip;

	keep(is_open);
	keep(op_differs);
	keep(ip_differs);
	op_differs -= 1;
	ip_differs |= -ip_differs;
	keep(op_differs);
	keep(ip_differs);
	return (is_open >> 63) & (op_differs >> 63) & (ip_differs >> 63);
}

/* An entry against the innermost open frame that is left. */
VERIFIED_ALONE int entry_compare(struct thread_state *t, const struct call_frame *f, __u64 sp, __u64 link)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 trampoline, word = 0, alt_low, alt_bytes;
	bool is_on_alt, is_frame_on_alt, is_same_stack;

	if (!t || !f)
		return ENTRY_CALL;
	if (sp < f->sp && f->sp - sp < STACK_NEAR)
		return ENTRY_CALL;
	if (!t->home_high)
		home_find(t, task);
	trampoline = trampoline_address(task);
	alt_low = task->sas_ss_sp;
	alt_bytes = task->sas_ss_size;
	is_on_alt = sp - alt_low < alt_bytes;
	is_frame_on_alt = f->sp - alt_low < alt_bytes;
	if (is_on_alt && !is_frame_on_alt)
		return ENTRY_ELSEWHERE; /* a signal handler on its own stack; the call it interrupted goes on */
	is_same_stack = is_on_alt == is_frame_on_alt && (is_on_alt || (is_home(t, sp) && is_home(t, f->sp)));
	if (is_same_stack && sp < f->sp)
		return ENTRY_CALL;
	if (sp == f->sp && trampoline && entry_return_address(sp, link, &word) == 0 && word == trampoline)
		return ENTRY_SAME;
	/* Left: what was entered lies where it lay, or its return address is overwritten. */
	if (sp == f->sp || is_same_stack || is_frame_on_alt || !frame_returns_to(f->sp, trampoline))
		return ENTRY_AFTER;
	return ENTRY_ELSEWHERE;
}

/*
 * The kernel keeps return traps in one stack per thread, ordered by stack pointer. A
 * trap set on another stack than those that are open breaks that order, and the
 * program dies when the wrong one returns (kernel/events/uprobes.c:
 * cleanup_return_instances() at entry, uprobe_handle_trampoline() at return). So an
 * entry that is not known to be on the same stack is counted without a return trap.
 *
 * On the same stack, an entry above an open frame shows that the frame was left by a
 * jump. At the very same height it is either a jump from one traced export to another,
 * then the return address is the kernel's trampoline, or a new call.
 */
VERIFIED_ALONE int entry_resolve(struct thread_state *t, __u64 sp, __u64 ip, __u64 link, __u32 op)
{
	int kind = ENTRY_CALL;
	__u64 is_forwarded = 0;
	__u32 depth, i;

	if (!t)
		return ENTRY_CALL;
	depth = t->depth;
	for (i = 0; i < CALL_DEPTH_MAX; i++) {
		if (!depth)
			return ENTRY_CALL;
		kind = entry_compare(t, &t->frames[(depth - 1) & (CALL_DEPTH_MAX - 1)], sp, link);
		if (kind != ENTRY_AFTER)
			break;
		depth--;
		frames_drop(t, depth);
	}
	/* A runtime call that jumps into the driver shares its return address with a call of its own. */
	if (kind == ENTRY_SAME && t->frames[(depth - 1) & (CALL_DEPTH_MAX - 1)].op != op)
		kind = ENTRY_CALL;
	if (kind != ENTRY_CALL)
		return kind;
	for (i = 0; i < CALL_DEPTH_MAX; i++)
		is_forwarded |= frame_forwards(&t->frames[i], i, depth, op, ip);
	return is_forwarded ? ENTRY_SAME : ENTRY_CALL;
}

struct mapping_search {
	__u64 low, high;
};

static long mapping_found(struct task_struct *task, struct vm_area_struct *vma, struct mapping_search *search)
{
	(void)task;
	search->low = vma->vm_start;
	search->high = vma->vm_end;
	return 0;
}

/* Whether two addresses lie in one mapping. Not to know, as when the mappings change just now, is yes. */
static __always_inline bool is_one_mapping(__u64 a, __u64 b)
{
	struct mapping_search search = {};

	if (!has_find_vma)
		return a - b + LIBRARY_NEAR < 2 * LIBRARY_NEAR;
	if (bpf_find_vma(bpf_get_current_task_btf(), a, mapping_found, &search, 0) || !search.high)
		return true;
	return b >= search.low && b < search.high;
}

/*
 * Whether an entry continues the last call whose return is not trapped: of one operation,
 * through another export. An export that jumps to the other shows the same return address
 * at the same height. (Calls of one place through a pointer look alike, but do not
 * alternate between two exports of one operation.) One that calls the other is still
 * there below, its return address where it was, and what calls is in its own library: a
 * function of the program's that was called from the same place is not. The address may
 * be the kernel's trampoline, when somebody else traps this return.
 */
VERIFIED_ALONE int entry_continues(struct thread_state *t, __u64 sp, __u64 ip, __u64 link, __u32 op)
{
	__u64 address = 0, trampoline;

	if (!t || t->untimed_op != op || t->untimed_ip == ip)
		return 0;
	if (sp > t->untimed_sp || t->untimed_sp - sp >= STACK_NEAR)
		return 0;
	(void)entry_return_address(sp, link, &address);
	trampoline = trampoline_address(bpf_get_current_task_btf());
	if (sp == t->untimed_sp)
		return address == t->untimed_return || (trampoline && address == trampoline);
	if (!frame_returns_to(t->untimed_sp, t->untimed_return) && !frame_returns_to(t->untimed_sp, trampoline)) {
		t->untimed_op = 0; /* it is over */
		return 0;
	}
	return is_one_mapping(t->untimed_ip, address);
}
