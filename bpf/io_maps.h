// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Data of io.bpf.c: threads, processes, what callers want, figures, the ring. */
#pragma once

#include "io_record.h"
#include "kernel.h"
#include "path_walk.h"
#include "regs.h"

#define IO_NUMBERS 512 /* of system calls: a power of two above all */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___generation {
	__u32 i_generation;
};

struct fs_struct___pwd {
	struct path pwd;
};

struct task_struct___exec {
	__u64 self_exec_id; /* number of execs, inherited by children */
};

#pragma clang attribute pop

static __always_inline __u64 io_exec_id(struct task_struct *task)
{
	return ((struct task_struct___exec *)task)->self_exec_id;
}

/* From 6.2. Source: kernel/bpf/helpers.c */
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __weak __ksym;
#define bpf_ksym_exists_(symbol) (!!(symbol))

static const __u8 io_call_of[IO_NUMBERS] = {
#if defined(__TARGET_ARCH_arm64)
#define IO_CALL_X86(...)
#endif
#define IO_CALL(name, x86, arm64, ...) [SYSCALL_NUMBER(x86, arm64)] = IO_CALL_##name,
#include "io_calls.def"
};

const volatile __u64 io_key[2] = {}; /* of the hash of paths: another one each time */

/* Written by the daemon, which increments the epoch after each change. */
__u32 io_epoch = 0;		  /* 0: of nobody */
__u32 io_everyone = 0;		  /* bits of leases on all processes */
__u32 io_with_events = 0;	  /* bits of leases with IO_LEASE_EVENTS */
__u32 io_has_filters = 0;	  /* whether a lease leaves calls out */
__u32 io_daemon = 0;		  /* its own process, which is never traced */
__u8 io_wanted[IO_CALL_IDS] = {}; /* calls that any lease counts */
__u32 io_which = 0;		  /* rows that are being filled: a or b */
struct io_lease io_leases[IO_LEASES] = {};
__u8 io_pid_marks[IO_PID_MARKS] = {}; /* of entries in io_pids, also of those that went */
__u8 io_uid_marks[IO_UID_MARKS] = {};

/* Written by the programs. */
__u32 io_last_process = 0;
__u64 io_losses[IO_LOSS_COUNT] = {};

static __always_inline void io_lose(enum io_loss loss)
{
	__sync_fetch_and_add(&io_losses[loss], 1);
}

/* State of a thread that a lease names. */
struct io_thread {
	__u64 enter_ns;
	__u64 last_ns; /* end of the previous call; 0: none */
	__u64 gap_ns;
	__u64 file;	 /* of the open call */
	__u64 last_file; /* whose path is known to be sent */
	__u64 exec_id;
	__u32 call; /* enum io_call of the open call */
	__s32 fd;
	__u32 process;
	__u32 leases; /* 0: not traced */
	__u32 epoch;
	__u32 uid;
	__u32 is_guarded;
	__u32 accepting; /* leases that count the call that ended */
	__u64 path; /* argument of a call whose path could not be read yet, or is needed only if it fails; 0: none */
	__s32 directory; /* that it begins at */
	__u32 pad;
	__u64 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct io_thread);
} io_threads SEC(".maps");

struct io_process {
	__u64 start_boot_ns;
	__u64 exec_id;
	__u32 uid;
	__u32 is_guarded;
	__u32 id;
	__u32 leases;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, __u32); /* tgid */
	__type(value, struct io_process);
} io_processes SEC(".maps");

/* Bits of the leases that name a process, or an ancestor of it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, __u32); /* tgid */
	__type(value, __u32);
} io_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, __u32); /* uid */
	__type(value, __u32);
} io_uids SEC(".maps");

/* Files whose paths were sent, with the second of the last time, CLOCK_MONOTONIC. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u32);
} io_seen SEC(".maps");

/* Buffers of paths: entry and exit may interrupt each other on a preemptible kernel. */
enum io_place { IO_PLACE_ENTER, IO_PLACE_EXIT, IO_PLACE_COUNT };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IO_PLACE_COUNT);
	__type(key, __u32);
	__type(value, struct path_walk);
} io_walks SEC(".maps");

/* Buffers of paths that calls name; room behind the text, since the verifier does not know where it ends. */
struct io_name_room {
	struct io_name_record record;
	char spare[8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IO_PLACE_COUNT);
	__type(key, __u32);
	__type(value, struct io_name_room);
} io_names SEC(".maps");

/* A row with nothing in it: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_cell);
} io_empty SEC(".maps");

/*
 * Rows of figures, twice: while the programs fill one, the daemon reads and empties the other. Preallocated, so that no
 * row is lost to another.
 */
struct io_cells {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_CELLS);
	__type(key, struct io_key);
	__type(value, struct io_cell);
};

struct io_rests {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_RESTS);
	__type(key, struct io_key);
	__type(value, struct io_cell);
};

struct io_cells io_cells_a SEC(".maps"), io_cells_b SEC(".maps");
struct io_rests io_rests_a SEC(".maps"), io_rests_b SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, IO_RING_BYTES);
} io_ring SEC(".maps");
