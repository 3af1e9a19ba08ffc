// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decides whether an entry is a call of its own, and whether its return may be trapped.
 */
#pragma once

#include "abi.h"
#include "frames.h"

/* Bytes. An entry less than this below an open frame is on the same stack: every stack is larger. */
#define STACK_NEAR 4096
/* The kernel reserves at least this much address space for the stack of a process's first thread (mmap_base). */
#define STACK_MAIN_BYTES (128ull << 20)

/* Larger than the code of any CUDA library, smaller than the gap between a library and a program at a fixed address. */
#define LIBRARY_NEAR (32ull << 20)

/* Values of an entry, for functions off the fast path. */
struct entry {
	__u64 sp, ip, link;
	__u64 args[CALL_ARGUMENTS];
	__u32 op;
	__u32 no_arguments;
};

/*
 * Of each block of sample_every calls one is sampled, at random: a loop may make the same calls again and again, and
 * every N-th would always be the same one. Calls around the one that begins a block are of the block before.
 */
VERIFIED_ALONE int sample_block(struct thread_state *t)
{
	if (!t || !t->sample_every)
		return 0;
	t->sample_at = bpf_get_prandom_u32() % t->sample_every + 1;
	t->sample = 0;
	return 0;
}

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
 * Finds the stack that a thread was started on. First thread of a process: below start_stack. Other threads: the C
 * libraries place the thread control block, at the thread pointer, at the top of the stack, and a guard page, hence
 * another mapping, below it.
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
	/*
	 * Without bpf_find_vma() the stack stays unknown; calls that may be on another stack are counted without their
	 * time.
	 */
	if (!has_find_vma || bpf_find_vma(task, search.at, home_found, &search, 0) || !search.low)
		return; /* mappings are locked: tried again when the stack is needed again */
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

/* Kinds of entries, given the open calls. */
enum entry_kind {
	ENTRY_CALL,	 /* a call of its own */
	ENTRY_SAME,	 /* the open call, forwarded from one export of its operation to another: counted once, at the
			    outermost */
	ENTRY_ELSEWHERE, /* on another stack than the open calls: counted; the return must not be trapped */
	ENTRY_AFTER,	 /* the open call is over: it was left by a jump */
};

/*
 * Return: 1 if a frame is an open call of this operation through another export, else 0. Written without branches:
 * three branches for each of eight frames are more paths than older verifiers follow.
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

/* Compares an entry with the innermost open frame. */
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
	/*
	 * The frame was left: the new entry is at or above its place on the stack, or its return address is
	 * overwritten.
	 */
	if (sp == f->sp || is_same_stack || is_frame_on_alt || !frame_returns_to(f->sp, trampoline))
		return ENTRY_AFTER;
	return ENTRY_ELSEWHERE;
}

/*
 * The kernel keeps the return traps of a thread in one list, ordered by stack pointer. A trap on another stack than the
 * open ones breaks this order, and the program dies when the wrong one returns (kernel/events/uprobes.c:
 * cleanup_return_instances() at entry, uprobe_handle_trampoline() at return). So an entry that is not known to be on
 * the same stack is counted without a return trap.
 *
 * On the same stack, an entry above an open frame shows that the frame was left by a jump. At the same height the entry
 * is either a jump from one traced export to another (the return address is then the kernel's trampoline), or a new
 * call.
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
	/* A runtime call that jumps into the driver: same return address, but another operation, so a new call. */
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

/* Whether two addresses lie in one mapping. Also true if unknown, for example while the mappings change. */
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
 * Whether an entry continues the last call whose return is not trapped: the same operation through another export.
 * After a jump from one export to the other, the return address and the stack pointer are the same. (Calls from one
 * place through a pointer look alike, but do not alternate between two exports of one operation.) After a call from one
 * export to the other, the first one's return address is still on the stack, and the caller is in the same library; a
 * function of the program called from the same place is not. The address may be the kernel's trampoline if another
 * tracer traps this return.
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
		t->untimed_op = 0; /* that call is over */
		return 0;
	}
	return is_one_mapping(t->untimed_ip, address);
}
