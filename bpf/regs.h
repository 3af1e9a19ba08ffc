// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Registers of a thread, as the kernel saves them, and the arguments of its system call. */
#pragma once

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* What decides whether a system call has the numbers of 32-bit programs. */
struct thread_info___compat {
	__u32 status;	     /* x86-64 */
	unsigned long flags; /* arm64 */
};

struct task_struct___compat {
	struct thread_info___compat thread_info;
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)

/* Source: arch/x86/include/asm/ptrace.h; this layout is ABI (PTRACE_GETREGS). */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

#define TS_COMPAT 0x2u /* arch/x86/include/asm/thread_info.h */
#define SYSCALL_NUMBER(x86, arm64) (x86)

/* @index: 0 to 5, a constant or not */
static __always_inline __u64 syscall_argument(const struct pt_regs *regs, __u32 index)
{
	switch (index) {
	case 0:
		return regs->di;
	case 1:
		return regs->si;
	case 2:
		return regs->dx;
	case 3:
		return regs->r10;
	case 4:
		return regs->r8;
	default:
		return regs->r9;
	}
}

/* Number of a system call at its exit: programs may change it meanwhile (ptrace(2)), and the kernel on a restart. */
static __always_inline __u64 syscall_number(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

/* Whether the system call that a thread is in has the number of another ABI. */
static __always_inline bool syscall_is_compat(struct task_struct *task)
{
	struct task_struct___compat *compat = (struct task_struct___compat *)task;

	return compat->thread_info.status & TS_COMPAT;
}

#elif defined(__TARGET_ARCH_arm64)

/* Source: arch/arm64/include/uapi/asm/ptrace.h (user_pt_regs, ABI); syscallno follows in the kernel's own. */
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno;
	__u32 pad;
};

#define TIF_32BIT 22 /* arch/arm64/include/asm/thread_info.h */
#define SYSCALL_NUMBER(x86, arm64) (arm64)

static __always_inline __u64 syscall_argument(const struct pt_regs *regs, __u32 index)
{
	switch (index) {
	case 0:
		return regs->orig_x0;
	case 1:
		return regs->regs[1];
	case 2:
		return regs->regs[2];
	case 3:
		return regs->regs[3];
	case 4:
		return regs->regs[4];
	default:
		return regs->regs[5];
	}
}

static __always_inline __u64 syscall_number(const struct pt_regs *regs)
{
	return (__u32)regs->syscallno;
}

static __always_inline bool syscall_is_compat(struct task_struct *task)
{
	struct task_struct___compat *compat = (struct task_struct___compat *)task;

	return compat->thread_info.flags & (1ul << TIF_32BIT);
}

#else
#error "this machine's registers are not described yet"
#endif
