// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* System calls, by number: what a blocked one waits for, and which ones end the waits of others. */
#pragma once

#include "kernel.h"

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
	case 65:  /* semop */
	case 66:  /* semctl */
	case 69:  /* msgsnd */
	case 70:  /* msgrcv */
	case 72:  /* fcntl */
	case 73:  /* flock */
	case 101: /* ptrace */
	case 129: /* rt_sigqueueinfo */
	case 200: /* tkill */
	case 202: /* futex */
	case 209: /* io_submit */
	case 220: /* semtimedop */
	case 231: /* exit_group */
	case 234: /* tgkill */
	case 242: /* mq_timedsend */
	case 243: /* mq_timedreceive */
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
	case 426: /* io_uring_enter */
	case 436: /* close_range */
	case 454: /* futex_wake */
	case 456: /* futex_requeue */
		return true;
	}
	return false;
}

#elif defined(__TARGET_ARCH_arm64)

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
	case 2:	  /* io_submit */
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
	case 182: /* mq_timedsend */
	case 183: /* mq_timedreceive */
	case 188: /* msgrcv */
	case 189: /* msgsnd */
	case 191: /* semctl */
	case 192: /* semtimedop */
	case 193: /* semop */
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
	case 426: /* io_uring_enter */
	case 436: /* close_range */
	case 454: /* futex_wake */
	case 456: /* futex_requeue */
		return true;
	}
	return false;
}

#else
#error "this machine's system calls are not described yet"
#endif
