// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memory of a stack: read in long pieces into a buffer, since a read costs the same for 8 bytes as for a page.
 * Return addresses that probes have replaced are put back.
 */
#pragma once

#include "abi.h"
#include "stack_scratch.h"

#define STACK_TRAPS_FOLLOWED 64 /* return traps of a thread: the kernel's limit (include/linux/uprobes.h) */

/* The address that a return trap has replaced. @slot: where it was. Return: 0 if none was replaced there */
VERIFIED_ALONE __u64 trap_address(__u64 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *trap;
	__u32 i;

	if (!utask)
		return 0;
	trap = utask->return_instances;
	for (i = 0; i < STACK_TRAPS_FOLLOWED && trap; i++) {
		if (trap_is_at(trap->stack, slot))
			return trap->orig_ret_vaddr;
		trap = trap->next;
	}
	return 0;
}

/* Puts return addresses back that traps have replaced in `memory`, from byte `from` on. */
VERIFIED_ALONE int stack_mend(struct stack_scratch *s, __u32 from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;
	struct return_instance *trap;
	__u64 at, *word;
	__u32 i;

	if (!s || !utask)
		return 0;
	trap = utask->return_instances;
	for (i = 0; i < STACK_TRAPS_FOLLOWED && trap; i++) {
		at = trap->stack - s->record.sp;
		if (at >= from && at < s->walk.n_filled) {
			keep(at);
			word = (__u64 *)stack_word_at(s, at);
			if (*word == s->walk.trampoline)
				*word = trap->orig_ret_vaddr;
		}
		trap = trap->next;
	}
	return 0;
}

/* Reads on in the stack, n bytes behind those that were read. Return: 0 or -errno */
static __always_inline long stack_read(struct stack_scratch *s, __u64 n)
{
	__u64 from = s->walk.n_filled, address = s->record.sp + from;
	long r;

	keep(n);
	keep(from);
	if (!from) {
		if (n > STACK_COPY_MAX)
			return -1;
		r = bpf_probe_read_user(s->memory, n, (void *)address);
	} else {
		if (from > STACK_COPY_MAX || n > STACK_READ_MAX || n > STACK_COPY_MAX - from)
			return -1;
		from &= 2 * STACK_COPY_MAX - 1;
		r = bpf_probe_read_user(&s->memory[from], n, (void *)address);
	}
	if (!r)
		s->walk.n_filled += n;
	return r;
}

/* Bytes from the end of what was read to the end of a page, `pages` pages further on, and of the stack at most. */
static __always_inline __u64 stack_piece(const struct stack_scratch *s, __u64 pages)
{
	__u64 n = s->walk.n_filled, end = s->record.sp + n;
	__u64 piece = ((end >> UNWIND_PAGE_SHIFT) + 1 + pages) * UNWIND_PAGE - end;

	return piece < s->walk.n_most - n ? piece : s->walk.n_most - n;
}

/* Reads the stack up to byte `n` from the stack pointer, nothing having been read yet. */
static __always_inline void stack_fill_first(struct stack_scratch *s, __u64 n)
{
	if (!stack_read(s, n) && s->walk.trampoline)
		stack_mend(s, 0);
}

/* Reads the stack up to byte `n` from the stack pointer and a few pages more, or as far as it can be read. */
VERIFIED_ALONE int stack_read_on(struct stack_scratch *s, __u64 n)
{
	__u64 pages;
	__u32 i;

	if (!s)
		return 0;
	if (n > s->walk.n_most)
		n = s->walk.n_most;
	pages = s->walk.n_filled ? STACK_READ_MAX / UNWIND_PAGE - 1 : n / UNWIND_PAGE + 1;
	for (i = 0; i < STACK_COPY_MAX / UNWIND_PAGE + 1 && s->walk.n_filled < n; i++) {
		if (stack_read(s, stack_piece(s, pages)) && stack_read(s, stack_piece(s, 0)))
			break;
		pages = STACK_READ_MAX / UNWIND_PAGE - 1;
	}
	return 0;
}

/* The same, with the return addresses that traps have replaced. */
static __always_inline void stack_fill(struct stack_scratch *s, __u64 n)
{
	__u32 from = s->walk.n_filled;

	stack_read_on(s, n);
	if (s->walk.trampoline)
		stack_mend(s, from);
}

/*
 * Reads a word of the stack that is not in the memory yet: from there on it is, or, if it lies elsewhere, in walk.word.
 * Return: 0 in the memory, 1 in walk.word, negative: it cannot be read
 */
VERIFIED_ALONE int stack_reach(struct stack_scratch *s, __u64 address)
{
	__u64 at, word = 0;

	if (!s)
		return -1;
	at = address - s->record.sp;
	if (at % sizeof(word))
		return -1;
	if (at < s->walk.n_most)
		stack_fill(s, at + sizeof(word));
	if (at < s->walk.n_filled)
		return 0;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
		return -1;
	if (s->walk.trampoline && word == s->walk.trampoline)
		word = trap_address(address);
	s->walk.word = word;
	return 1;
}
