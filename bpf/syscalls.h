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
#define SYSCALL(name, x86, arm64, waits, object, traits) ROW(x86, waits, object, traits)
#define SYSCALL_X86(name, x86, waits, object, traits) ROW(x86, waits, object, traits)
#elif defined(__TARGET_ARCH_arm64)
#define SYSCALL(name, x86, arm64, waits, object, traits) ROW(arm64, waits, object, traits)
#define SYSCALL_X86(name, x86, waits, object, traits)
#else
#error "this machine's system calls are not described yet"
#endif

enum syscall_trait {
	WRITES = 1,
	WAKES = 2,
};

static __always_inline enum wait_kind syscall_waits(int nr)
{
	switch (nr) {
#define ROW(nr, waits, object, traits)                                                                                 \
	case nr:                                                                                                       \
		return waits;
#include "syscalls.def"
#undef ROW
	}
	return WAIT_OTHER;
}

static __always_inline enum wait_object syscall_object(int nr)
{
	switch (nr) {
#define ROW(nr, waits, object, traits)                                                                                 \
	case nr:                                                                                                       \
		return object;
#include "syscalls.def"
#undef ROW
	}
	return OBJECT_NONE;
}

static __always_inline bool syscall_has(int nr, enum syscall_trait trait)
{
	switch (nr) {
#define ROW(nr, waits, object, traits)                                                                                 \
	case nr:                                                                                                       \
		return (traits)&trait;
#include "syscalls.def"
#undef ROW
	}
	return false;
}
