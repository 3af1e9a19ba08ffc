// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registers: this file and regs.h are the only places that name them.
 *
 * A uprobe sees the registers as the traced function does at its entry: arguments in
 * place, stack pointer at the return address (x86-64), return value in place at return.
 */
#pragma once

#include "kernel.h"
#include "maps.h"
#include "regs.h"

#if defined(__TARGET_ARCH_x86)

#define ABI_RETURN_ADDRESS_BYTES 8 /* popped when a return probe runs */

static __always_inline __u64 regs_sp(const struct pt_regs *ctx)
{
	return ctx->sp;
}

static __always_inline __u64 regs_ip(const struct pt_regs *ctx)
{
	return ctx->ip;
}

static __always_inline __u64 regs_return_value(const struct pt_regs *ctx)
{
	return ctx->ax;
}

static __always_inline __u64 regs_frame_pointer(const struct pt_regs *ctx)
{
	return ctx->bp;
}

#define ABI_HAS_RULES 1 /* rules of unwinding (stack_record.h); 0: frame pointers alone */

/* A return address, as it is on the stack. */
static __always_inline __u64 code_address(__u64 word)
{
	return word;
}

/* Whether a return trap has replaced the return address at `slot`. @sp: the stack pointer when its function was entered
 */
static __always_inline bool trap_is_at(__u64 sp, __u64 slot)
{
	return sp == slot;
}

/* Stores all arguments: selecting costs more than storing. */
static __always_inline void regs_arguments(const struct pt_regs *ctx, __u64 args[ABI_ARGUMENTS])
{
	args[0] = ctx->di;
	args[1] = ctx->si;
	args[2] = ctx->dx;
	args[3] = ctx->cx;
	args[4] = ctx->r8;
	args[5] = ctx->r9;
}

/* The further arguments: on the stack, above the return address. */
static __always_inline void stack_arguments(const struct pt_regs *ctx, __u64 more[CALL_ARGUMENTS_MORE])
{
	if (bpf_probe_read_user(more, CALL_ARGUMENTS_MORE * sizeof(*more),
				(void *)(ctx->sp + ABI_RETURN_ADDRESS_BYTES)))
		more[0] = more[1] = more[2] = 0;
}

static __always_inline __u64 regs_link(const struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}

/* Return address of the function just entered; @link: its regs_link(). Return: 0 or -errno */
static __always_inline int entry_return_address(__u64 sp, __u64 link, __u64 *ret_address)
{
	(void)link;
	return bpf_probe_read_user(ret_address, sizeof(*ret_address), (void *)sp);
}

/* Whether a frame still has `address` as its return address; true if unknown. */
static __always_inline bool frame_returns_to(__u64 sp, __u64 address)
{
	__u64 word;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)sp))
		return true;
	return word == address;
}

static __always_inline __u64 thread_pointer(struct task_struct *task)
{
	return task->thread.fsbase;
}

/* User registers of a thread that is in the kernel. */
static __always_inline __u64 user_argument(const struct pt_regs *regs, int index)
{
	return index == 0 ? regs->di : regs->si;
}

/*
 * Number of the system call that a thread is in, or -1 for an exception (page fault).
 * An exception leaves orig_ax at -1; `syscall` leaves ip in cx and flags in r11.
 */
static __always_inline int user_syscall(const struct pt_regs *regs)
{
	long nr = regs->orig_ax;

	if (nr == -1 && (regs->cx != regs->ip || regs->r11 != regs->flags))
		return -1;
	return nr < 0 ? -2 : (int)nr;
}

#elif defined(__TARGET_ARCH_arm64)

#define ABI_RETURN_ADDRESS_BYTES 0 /* the return address is in a register */

static __always_inline __u64 regs_sp(const struct pt_regs *ctx)
{
	return ctx->sp;
}

static __always_inline __u64 regs_ip(const struct pt_regs *ctx)
{
	return ctx->pc;
}

static __always_inline __u64 regs_return_value(const struct pt_regs *ctx)
{
	return ctx->regs[0];
}

static __always_inline __u64 regs_frame_pointer(const struct pt_regs *ctx)
{
	return ctx->regs[29];
}

#define ABI_HAS_RULES 0
#define ABI_CODE_BITS 48 /* addresses; a signature may be above */

static __always_inline __u64 code_address(__u64 word)
{
	return word & ((1ull << ABI_CODE_BITS) - 1);
}

/* The function has saved its return address somewhere below; traps are looked at from the innermost one on. */
static __always_inline bool trap_is_at(__u64 sp, __u64 slot)
{
	return sp > slot;
}

static __always_inline void regs_arguments(const struct pt_regs *ctx, __u64 args[ABI_ARGUMENTS])
{
	args[0] = ctx->regs[0];
	args[1] = ctx->regs[1];
	args[2] = ctx->regs[2];
	args[3] = ctx->regs[3];
	args[4] = ctx->regs[4];
	args[5] = ctx->regs[5];
}

/* The further arguments: two more registers, then the stack. */
static __always_inline void stack_arguments(const struct pt_regs *ctx, __u64 more[CALL_ARGUMENTS_MORE])
{
	more[0] = ctx->regs[6];
	more[1] = ctx->regs[7];
	if (bpf_probe_read_user(&more[2], sizeof(*more), (void *)ctx->sp))
		more[2] = 0;
}

static __always_inline __u64 regs_link(const struct pt_regs *ctx)
{
	return ctx->regs[30];
}

static __always_inline int entry_return_address(__u64 sp, __u64 link, __u64 *ret_address)
{
	(void)sp;
	*ret_address = link;
	return 0;
}

static __always_inline bool frame_returns_to(__u64 sp, __u64 address)
{
	(void)sp;
	(void)address;
	return true; /* unknown: the function may save the link register anywhere */
}

static __always_inline __u64 thread_pointer(struct task_struct *task)
{
	return task->thread.uw.tp_value;
}

static __always_inline __u64 user_argument(const struct pt_regs *regs, int index)
{
	return index == 0 ? regs->orig_x0 : regs->regs[1];
}

static __always_inline int user_syscall(const struct pt_regs *regs)
{
	return regs->syscallno; /* -1 outside a system call */
}

#else
#error "this machine's registers are not described yet"
#endif

/*
 * Whether a program runs where the current task itself came, not in an interrupt on top of it. Interrupts of the
 * kernel, soft ones too, have stacks of their own: the context of a program is on the stack that is in use, registers
 * of a thread are at the top of its own.
 */
static __always_inline bool is_on_own_stack(struct task_struct *task, const void *ctx)
{
	if (task->flags & PF_KTHREAD || !task->pid)
		return false;
	return (__u64)bpf_task_pt_regs(task) - (__u64)ctx < THREAD_STACK_BYTES;
}
