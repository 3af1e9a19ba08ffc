// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registers and system call numbers: the only place that names them.
 *
 * A uprobe sees the registers as the traced function does at its entry: arguments in
 * place, stack pointer at the return address (x86-64), return value in place at return.
 */
#pragma once

#include "kernel.h"
#include "maps.h"

/*
 * What a blocked system call waits for. FILE: depends on the file of its first argument. POLL_*, EPOLL: several
 * descriptors; POLL_* without a descriptor is a sleep.
 */
enum wait_kind {
	WAIT_OTHER,
	WAIT_LOCK,
	WAIT_FCNTL,
	WAIT_SLEEP,
	WAIT_NETWORK,
	WAIT_POLL_A,
	WAIT_POLL_B,
	WAIT_EPOLL,
	WAIT_FILE,
};

/*
 * What the arguments of a blocked system call refer to. FUTEX, DESCRIPTOR: the first argument. CHILD_A, CHILD_B: a
 * process id in the first, or in the second if the first is P_PID. FUTEX_LIST: an array of futexes in memory.
 * FILE_LOCK: the lock of the file of the descriptor in the first. FCNTL: the same, if fcntl_locks() its command.
 */
enum wait_object {
	OBJECT_NONE,
	OBJECT_FUTEX,
	OBJECT_FUTEX_LIST,
	OBJECT_DESCRIPTOR,
	OBJECT_FILE_LOCK,
	OBJECT_FCNTL,
	OBJECT_CHILD_A,
	OBJECT_CHILD_B,
};

/* Of fcntl: whether it waits until it has the lock. */
static __always_inline bool fcntl_locks(__u64 command)
{
	return command == F_SETLKW || command == F_OFD_SETLKW;
}

#if defined(__TARGET_ARCH_x86)

/* Source: arch/x86/include/asm/ptrace.h; this layout is ABI (PTRACE_GETREGS). */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

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
	return BPF_CORE_READ(task, thread.fsbase);
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

static __always_inline enum wait_kind syscall_waits(int nr)
{
	switch (nr) {
	case 73:  /* flock */
	case 202: /* futex */
	case 449: /* futex_waitv */
	case 455: /* futex_wait */
		return WAIT_LOCK;
	case 72: /* fcntl */
		return WAIT_FCNTL;
	case 35:  /* nanosleep */
	case 230: /* clock_nanosleep */
		return WAIT_SLEEP;
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 288: /* accept4 */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
		return WAIT_NETWORK;
	case 23:  /* select */
	case 270: /* pselect6 */
		return WAIT_POLL_A;
	case 7:	  /* poll */
	case 271: /* ppoll */
		return WAIT_POLL_B;
	case 232: /* epoll_wait */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		return WAIT_EPOLL;
	case 0:	 /* read */
	case 1:	 /* write */
	case 16: /* ioctl */
	case 17: /* pread64 */
	case 18: /* pwrite64 */
	case 19: /* readv */
	case 20: /* writev */
		return WAIT_FILE;
	}
	return WAIT_OTHER;
}

static __always_inline enum wait_object syscall_object(int nr)
{
	switch (nr) {
	case 202: /* futex */
	case 455: /* futex_wait */
		return OBJECT_FUTEX;
	case 449: /* futex_waitv */
		return OBJECT_FUTEX_LIST;
	case 61: /* wait4 */
		return OBJECT_CHILD_A;
	case 247: /* waitid */
		return OBJECT_CHILD_B;
	case 0:	  /* read */
	case 1:	  /* write */
	case 16:  /* ioctl */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 40:  /* sendfile */
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 217: /* getdents64 */
	case 232: /* epoll_wait */
	case 275: /* splice */
	case 276: /* tee */
	case 277: /* sync_file_range */
	case 278: /* vmsplice */
	case 281: /* epoll_pwait */
	case 285: /* fallocate */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
	case 441: /* epoll_pwait2 */
		return OBJECT_DESCRIPTOR;
	case 73: /* flock */
		return OBJECT_FILE_LOCK;
	case 72: /* fcntl */
		return OBJECT_FCNTL;
	}
	return OBJECT_NONE;
}

/* Whether a system call on a descriptor writes to the file, pipe or socket, or syncs it to the disk. */
static __always_inline bool syscall_writes(int nr)
{
	switch (nr) {
	case 1:	  /* write */
	case 18:  /* pwrite64 */
	case 20:  /* writev */
	case 40:  /* sendfile */
	case 44:  /* sendto */
	case 46:  /* sendmsg */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 277: /* sync_file_range */
	case 285: /* fallocate */
	case 296: /* pwritev */
	case 307: /* sendmmsg */
	case 328: /* pwritev2 */
		return true;
	}
	return false;
}

/*
 * Whether a system call may end another thread's wait: it releases a lock, provides data or room for data, sends a
 * signal, continues a thread, or ends its own.
 */
static __always_inline bool syscall_wakes(int nr)
{
	switch (nr) {
	case 0:	  /* read */
	case 1:	  /* write */
	case 3:	  /* close */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 33:  /* dup2: closes */
	case 40:  /* sendfile */
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 48:  /* shutdown */
	case 59:  /* execve */
	case 60:  /* exit */
	case 62:  /* kill */
	case 72:  /* fcntl */
	case 73:  /* flock */
	case 101: /* ptrace */
	case 129: /* rt_sigqueueinfo */
	case 200: /* tkill */
	case 202: /* futex */
	case 231: /* exit_group */
	case 234: /* tgkill */
	case 275: /* splice */
	case 276: /* tee */
	case 278: /* vmsplice */
	case 288: /* accept4 */
	case 292: /* dup3 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 297: /* rt_tgsigqueueinfo */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 322: /* execveat */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
	case 424: /* pidfd_send_signal */
	case 436: /* close_range */
	case 454: /* futex_wake */
	case 456: /* futex_requeue */
		return true;
	}
	return false;
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
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

static __always_inline __u64 user_argument(const struct pt_regs *regs, int index)
{
	return index == 0 ? regs->orig_x0 : regs->regs[1];
}

static __always_inline int user_syscall(const struct pt_regs *regs)
{
	return regs->syscallno; /* -1 outside a system call */
}

/* Source: include/uapi/asm-generic/unistd.h */
static __always_inline enum wait_kind syscall_waits(int nr)
{
	switch (nr) {
	case 32:  /* flock */
	case 98:  /* futex */
	case 449: /* futex_waitv */
	case 455: /* futex_wait */
		return WAIT_LOCK;
	case 25: /* fcntl */
		return WAIT_FCNTL;
	case 101: /* nanosleep */
	case 115: /* clock_nanosleep */
		return WAIT_SLEEP;
	case 202: /* accept */
	case 203: /* connect */
	case 206: /* sendto */
	case 207: /* recvfrom */
	case 211: /* sendmsg */
	case 212: /* recvmsg */
	case 242: /* accept4 */
	case 243: /* recvmmsg */
	case 269: /* sendmmsg */
		return WAIT_NETWORK;
	case 72: /* pselect6 */
		return WAIT_POLL_A;
	case 73: /* ppoll */
		return WAIT_POLL_B;
	case 22:  /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		return WAIT_EPOLL;
	case 29: /* ioctl */
	case 63: /* read */
	case 64: /* write */
	case 65: /* readv */
	case 66: /* writev */
	case 67: /* pread64 */
	case 68: /* pwrite64 */
		return WAIT_FILE;
	}
	return WAIT_OTHER;
}

static __always_inline enum wait_object syscall_object(int nr)
{
	switch (nr) {
	case 98:  /* futex */
	case 455: /* futex_wait */
		return OBJECT_FUTEX;
	case 449: /* futex_waitv */
		return OBJECT_FUTEX_LIST;
	case 260: /* wait4 */
		return OBJECT_CHILD_A;
	case 95: /* waitid */
		return OBJECT_CHILD_B;
	case 22:  /* epoll_pwait */
	case 29:  /* ioctl */
	case 47:  /* fallocate */
	case 61:  /* getdents64 */
	case 63:  /* read */
	case 64:  /* write */
	case 65:  /* readv */
	case 66:  /* writev */
	case 67:  /* pread64 */
	case 68:  /* pwrite64 */
	case 69:  /* preadv */
	case 70:  /* pwritev */
	case 71:  /* sendfile */
	case 75:  /* vmsplice */
	case 76:  /* splice */
	case 77:  /* tee */
	case 82:  /* fsync */
	case 83:  /* fdatasync */
	case 84:  /* sync_file_range */
	case 202: /* accept */
	case 203: /* connect */
	case 206: /* sendto */
	case 207: /* recvfrom */
	case 211: /* sendmsg */
	case 212: /* recvmsg */
	case 242: /* accept4 */
	case 243: /* recvmmsg */
	case 269: /* sendmmsg */
	case 286: /* preadv2 */
	case 287: /* pwritev2 */
	case 441: /* epoll_pwait2 */
		return OBJECT_DESCRIPTOR;
	case 32: /* flock */
		return OBJECT_FILE_LOCK;
	case 25: /* fcntl */
		return OBJECT_FCNTL;
	}
	return OBJECT_NONE;
}

static __always_inline bool syscall_writes(int nr)
{
	switch (nr) {
	case 47:  /* fallocate */
	case 64:  /* write */
	case 66:  /* writev */
	case 68:  /* pwrite64 */
	case 70:  /* pwritev */
	case 71:  /* sendfile */
	case 82:  /* fsync */
	case 83:  /* fdatasync */
	case 84:  /* sync_file_range */
	case 206: /* sendto */
	case 211: /* sendmsg */
	case 269: /* sendmmsg */
	case 287: /* pwritev2 */
		return true;
	}
	return false;
}

static __always_inline bool syscall_wakes(int nr)
{
	switch (nr) {
	case 24:  /* dup3: closes */
	case 25:  /* fcntl */
	case 32:  /* flock */
	case 57:  /* close */
	case 63:  /* read */
	case 64:  /* write */
	case 65:  /* readv */
	case 66:  /* writev */
	case 67:  /* pread64 */
	case 68:  /* pwrite64 */
	case 69:  /* preadv */
	case 70:  /* pwritev */
	case 71:  /* sendfile */
	case 75:  /* vmsplice */
	case 76:  /* splice */
	case 77:  /* tee */
	case 93:  /* exit */
	case 94:  /* exit_group */
	case 98:  /* futex */
	case 117: /* ptrace */
	case 129: /* kill */
	case 130: /* tkill */
	case 131: /* tgkill */
	case 138: /* rt_sigqueueinfo */
	case 202: /* accept */
	case 203: /* connect */
	case 206: /* sendto */
	case 207: /* recvfrom */
	case 210: /* shutdown */
	case 211: /* sendmsg */
	case 212: /* recvmsg */
	case 221: /* execve */
	case 240: /* rt_tgsigqueueinfo */
	case 242: /* accept4 */
	case 243: /* recvmmsg */
	case 269: /* sendmmsg */
	case 281: /* execveat */
	case 286: /* preadv2 */
	case 287: /* pwritev2 */
	case 424: /* pidfd_send_signal */
	case 436: /* close_range */
	case 454: /* futex_wake */
	case 456: /* futex_requeue */
		return true;
	}
	return false;
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
