// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Everything that both sides of the kernel boundary must lay out alike: records
 * on the rings, cells of figures, slots of processes, reasons of loss.
 *
 * Fixed-width members, largest first, padding explicit and zero. All times are
 * CLOCK_MONOTONIC nanoseconds unless the name says otherwise.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "ops.h"

#define RECORD_COMM_BYTES 16

/*
 * Where the time of a call went. ON_CPU is never stored: it is the duration minus all others.
 */
enum blame_class {
#define BLAME(id, field, label, phrase, remedy) BLAME_##id,
#include "blame.def"
#undef BLAME
	BLAME_COUNT
};

/* Why a record was made; several may hold. */
enum record_reason {
	RECORD_REASON_SLOW = 1,	   /* above its cell's slow_ns */
	RECORD_REASON_ERROR = 2,   /* returned non-zero */
	RECORD_REASON_SYNC = 4,	   /* OP_SYNC */
	RECORD_REASON_ALLOC = 8,   /* OP_MEMORY */
	RECORD_REASON_SAMPLE = 16, /* one in N */
	RECORD_REASON_ALL = 32,	   /* every call was asked for */
};

enum loss_reason {
#define LOSS(reason, field, kind, one, many) LOSS_##reason,
#include "losses.def"
	LOSS_COUNT
};

/* What is wanted of a process: by process, by user, and of everybody. */
#define WISH_TRACED 0x1u
#define WISH_HOLD 0x2u	     /* stop it while a CUDA library that it just loaded is being attached; by process alone */
#define WISH_RECORDS 0x4u    /* single calls: slow ones, failed ones, those that synchronise or allocate */
#define WISH_EVERY_CALL 0x8u /* all of them; with WISH_RECORDS */

struct process_wish {
	__u32 flags;	    /* WISH_*; 0: nothing */
	__u32 sample_every; /* with WISH_RECORDS: besides, one call in N of each thread; 0: none */
	__u32 hold_uid;	    /* with WISH_HOLD: user whose processes alone are stopped; root's wish: everybody's */
	__u32 guardian;	    /* with WISH_HOLD: process of that user, below which alone processes are stopped */
};

/* Both are to be met; of two that hold, the first. */
static inline void process_wish_add(struct process_wish *wish, const struct process_wish *more)
{
	if (more->flags & WISH_HOLD && !(wish->flags & WISH_HOLD)) {
		wish->hold_uid = more->hold_uid;
		wish->guardian = more->guardian;
	}
	wish->flags |= more->flags;
	if (more->sample_every && (!wish->sample_every || more->sample_every < wish->sample_every))
		wish->sample_every = more->sample_every;
}

enum record_type {
	RECORD_NONE,
#define KIND(kind, ring, event) RECORD_##kind,
#include "kinds.def"
#undef KIND
	RECORD_TYPE_COUNT
};

/* What every record begins with: its members, which are those of `header`. */
#define RECORD_HEADER                                                                                                  \
	union {                                                                                                        \
		struct record_header header;                                                                           \
		struct {                                                                                               \
			RECORD_HEADER_MEMBERS;                                                                         \
		};                                                                                                     \
	}

#define RECORD_HEADER_MEMBERS                                                                                          \
	union {                                                                                                        \
		__u64 time_ns;                                                                                         \
		__u64 start_ns; /* of a call: its entry, as the program would have seen it */                          \
	};                                                                                                             \
	__u32 tgid;                                                                                                    \
	__u32 tid;                                                                                                     \
	__u32 uid;                                                                                                     \
	__u32 exec_gen; /* execs of this process seen so far */                                                        \
	__u16 slot;	/* 0 when the process made no traced call */                                                   \
	__u8 type;	/* enum record_type */                                                                         \
	__u8 flags;	/* LIFE_* */                                                                                   \
	__u32 header_pad;                                                                                              \
	char comm[RECORD_COMM_BYTES] /* of a call: of the thread, when it first called; else of the process */

struct record_header {
	RECORD_HEADER_MEMBERS;
};
_Static_assert(sizeof(struct record_header) == 48, "record_header is ABI between both halves");

/* On the ring `calls`: one finished call. */
struct call_record {
	RECORD_HEADER;
	__u64 duration_ns;	     /* the program's own: the tracer's share is taken out */
	__u64 raw_ns;		     /* as measured between the two probes */
	__u64 blame_ns[BLAME_COUNT]; /* [BLAME_ON_CPU] is 0: the remainder of raw_ns */
	__s32 ret;
	__u16 op;
	__u8 reason; /* bits of enum record_reason */
	__u8 depth;  /* 0: outermost traced call of this thread */
	/* As ops.def says. On the ring there are OP_ARGS_SHORT where the operation keeps no more. */
	__u64 args[OP_ARGS_MAX];
};
#define CALL_RECORD_SHORT (sizeof(struct call_record) - (OP_ARGS_MAX - OP_ARGS_SHORT) * sizeof(__u64))
_Static_assert(sizeof(struct call_record) == 200 && CALL_RECORD_SHORT == 168, "call_record is ABI between both halves");

/* What the kernel knows a file by. On an overlay: the file below, which is one for all who are on that layer. */
struct file_identity {
	__u64 device; /* major << 32 | minor */
	__u64 inode;
	__u64 bytes;
	__s64 change_s; /* wall clock: tells a file that was written to from what it was */
	__u32 change_ns;
	__u32 pad;
};

/* The Python interpreter of a process, as the daemon gives it to the programs. */
struct interpreter {
	__u64 start; /* addresses of its state */
	__u64 n_bytes;
	__u32 is_collected; /* probes tell of its garbage collections */
	__u32 pad;
};

/* One executable mapping of a file, as the iterator over a process writes it. */
struct mapped_record {
	__u64 start;
	struct file_identity file;
};
_Static_assert(sizeof(struct mapped_record) == 48, "mapped_record is ABI between both halves");

/* How much one process maps executable, as the iterator over processes writes it. */
struct executable_record {
	__u64 start_boot_ns;
	__u64 pages;
	__u32 tgid;
	__u32 uid; /* UINT32_MAX: nobody's by its owner */
};
_Static_assert(sizeof(struct executable_record) == 24, "executable_record is ABI between both halves");

struct fork_body {
	__u32 child; /* process id */
};

struct exit_body {
	__u32 code;	  /* as wait(2) encodes it */
	__u8 was_in_call; /* a thread was inside a call whose return is trapped. With SIGABRT: a C++ exception? */
	__u8 pad[3];
};

struct library_body {
	__u64 base;		   /* load address (l_addr) of the new library */
	struct file_identity file; /* what is mapped there; inode 0: not known */
	__u8 is_held;		   /* the process was stopped and waits for SIGCONT */
	__u8 pad[7];
};

struct oom_body {
	__u64 rss_bytes; /* memory that the process had, as the kernel's log says */
	__u32 by_tgid;	 /* whose demand for memory set it off; 0: nobody's, or the victim's own */
	__u32 by_uid;
	char by_comm[RECORD_COMM_BYTES];
	__u8 scope; /* enum oom_scope */
	__u8 pad[7];
};

/* On the ring `life`: never sampled, wakes the daemon at once. An exec has no body. */
struct life_record {
	RECORD_HEADER;
	__u64 start_boot_ns; /* start of the process, CLOCK_BOOTTIME */
	union {
		struct fork_body fork;
		struct exit_body exit;
		struct library_body library;
		struct oom_body oom;
	};
};
_Static_assert(sizeof(struct life_record) == 112, "life_record is ABI between both halves");

#define LIFE_GUARDED 0x1u /* as PROCESS_GUARDED */
#define LIFE_NAMED 0x2u	  /* named by a lease itself, or descends from such a process */
#define LIFE_UNKNOWN 0x4u /* an old kernel names the process by id alone: uid, comm and start are not known */

/*
 * Figures of one operation in one process. Shared by all CPUs, changed by atomic
 * adds alone; the count is the sum of the buckets plus `untimed`. 2 KiB, so that
 * two fit a page.
 */
#define HISTOGRAM_SUB_BITS 4	 /* 16 buckets an octave: each at most 1/16 wide */
#define HISTOGRAM_FIRST_OCTAVE 6 /* from 64 ns; below clamps into bucket 0 */
#define HISTOGRAM_OCTAVES 30	 /* to 68 s; above clamps into the last */
#define HISTOGRAM_BUCKETS (HISTOGRAM_OCTAVES << HISTOGRAM_SUB_BITS)

struct figure_cell {
	__u64 total_ns;			 /* corrected durations */
	__u64 raw_ns;			 /* as measured */
	__u64 max_ns;			 /* corrected */
	__u64 bytes;			 /* of calls that succeeded, and of all untimed ones */
	__u64 slow_ns;			 /* written by the daemon: longer calls are recorded; 0: none is slow */
	__u64 blame_ns[BLAME_COUNT - 1]; /* without BLAME_ON_CPU: index class - 1 */
	__u32 errors;
	__u32 abandoned;		  /* entered, never returned: exit, kill, longjmp, cancel, exec */
	__u32 untimed;			  /* entered, counted, return not trapped: see docs/rooms/bpf.md */
	__u16 slot;			  /* owner; 0 while free */
	__u16 op;			  /* 0 in a process's overflow cell */
	__u32 buckets[HISTOGRAM_BUCKETS]; /* wrap: read modulo 2^32 */
};
_Static_assert(sizeof(struct figure_cell) == 2048, "figure_cell is ABI between both halves");

/* One process that made a traced call. Slot 0 is never used. */
#define PROCESS_SLOTS 1024
#define PROCESS_CELLS 4096

/*
 * The cells of the operations that a process used: a hash table with open addressing, since words are what the kernel
 * half can exchange. An entry is operation << 16 | index of its cell, 0 while free, and stays where it is as long as
 * the process has its slot. An operation is at one of the SLOT_ROW_TRIES places from its id modulo SLOT_ROW_ENTRIES on;
 * where all are others', it goes without a cell of its own. Fixed ids are dense, so nearly all are at their first
 * place.
 */
#define SLOT_ROW_ENTRIES 256 /* a power of two */
#define SLOT_ROW_TRIES 16
#define SLOT_ROW_ENTRY(op, cell) ((__u32)(op) << 16 | (cell))
#define SLOT_ROW_OP(entry) ((entry) >> 16)
#define SLOT_ROW_CELL(entry) ((entry)&0xffffu)

struct slot_row {
	__u32 entries[SLOT_ROW_ENTRIES];
	__u32 overflow; /* index of the cell of operations without one, 0 while there is none */
	__u32 pad;
};
_Static_assert(sizeof(struct slot_row) == 1032, "slot_row is ABI between both halves");
_Static_assert(PROCESS_CELLS <= 1 << 16, "slot_row holds 16 bits of a cell's index");

/* Return: index of the operation's cell, 0 where it has none */
static inline __u32 slot_row_find(const struct slot_row *row, __u32 op)
{
	__u32 entry, i;

	for (i = 0; i < SLOT_ROW_TRIES; i++) {
		entry = *(const volatile __u32 *)&row->entries[(op + i) & (SLOT_ROW_ENTRIES - 1)];
		if (SLOT_ROW_OP(entry) == op)
			return SLOT_ROW_CELL(entry);
		if (!entry)
			break;
	}
	return 0;
}

enum process_slot_state { PROCESS_SLOT_FREE, PROCESS_SLOT_LIVE, PROCESS_SLOT_GONE };

/*
 * It is root's to look into and not its user's, as ptrace(2) has it: another's ids or capabilities, or undumpable. Once
 * it is, it stays so until its next exec.
 */
#define PROCESS_GUARDED 0x1u

struct process_slot {
	__u64 start_boot_ns; /* of the process, CLOCK_BOOTTIME */
	__u64 first_call_ns;
	__u64 gone_ns; /* exit or exec */
	__u32 tgid;
	__u32 uid; /* real */
	__u32 exec_gen;
	__u32 state; /* enum process_slot_state */
	__u32 flags;
	__u32 exit_code; /* valid once gone by exit */
	char comm[RECORD_COMM_BYTES];
};
_Static_assert(sizeof(struct process_slot) == 64, "process_slot is ABI between both halves");

/* Who ran while threads of a process that make calls were runnable: map `behind`. */
struct behind_key {
	__u16 slot;
	__u8 is_between; /* 1: the process was between calls, 0: in one */
	__u8 pad;
	__u32 tgid;
};

struct behind_value {
	__u64 ns;
	__u32 uid;
	__u32 pad;
	char comm[RECORD_COMM_BYTES];
};

/*
 * Who ran last on each CPU, so that a wait can be blamed. 512 entries are enough for 10 ms at 50 000 switches a
 * second. Beside a build of six compilers on two CPUs, of the time that calls were ready 512 leave nobody's name
 * for 0.0 %, 256 for 0.8 %, 128 for 5 % (one run of 35 s, the three at once); what is lost is counted. All CPUs
 * together take no more than RAN_BYTES_MAX: beyond 128 CPUs each has fewer.
 */
#define RAN_ENTRIES_MAX 512 /* a power of two, as is the next */
#define RAN_ENTRIES_MIN 128
#define RAN_ENTRY_BYTES 32
#define RAN_BYTES_MAX (2 << 20)

/* A call in progress, as the task iterator writes it. */
#define CALL_DEPTH_MAX 8

struct in_flight_record {
	__u64 start_ns;
	__u64 now_ns;
	__u64 blame_ns[BLAME_COUNT]; /* so far, the wait that is going on included; ON_CPU 0 */
	__u32 tgid;
	__u32 tid;
	__u16 slot;
	__u16 op;
	__u8 depth;
	__u8 pad[3];
};
_Static_assert(sizeof(struct in_flight_record) == 112, "in_flight_record is ABI between both halves");

/*
 * The account of a thread: where its time went since its first traced call. What is neither in calls (`ops`, `rest`)
 * nor away (`away_ns`) it was on the CPU between calls.
 */
#define ACCOUNT_OPS 16 /* a power of two */
#define ACCOUNT_TRIES 4

/* Calls at depth 0 of one operation, as far as they have ended. */
struct account_op {
	__u64 ns;		     /* as measured */
	__u64 blame_ns[BLAME_COUNT]; /* of it; [BLAME_ON_CPU] is 0: the remainder */
	__u32 op;		     /* 0: a free place; in `rest`: several */
	__u32 pad;
};

struct thread_account {
	__u64 since_ns;		    /* it begins here; 0: there is none */
	__u64 since_runtime_ns;	    /* CPU time of the thread by then */
	__u64 calls;		    /* at depth 0, that ended */
	__u64 away_ns[BLAME_COUNT]; /* between calls, off the CPU, intervals that ended; [BLAME_ON_CPU] is 0 */
	/* An operation is at one of ACCOUNT_TRIES places from its id modulo ACCOUNT_OPS on, else in `rest`. */
	struct account_op ops[ACCOUNT_OPS];
	struct account_op rest;
	__u32 changes; /* grows with each change: tells a copy that was made meanwhile */
	__u32 pad;
};

/* What a thread waited for, where it is known. */
enum resource_kind {
#define RESOURCE(kind, field, label) RESOURCE_##kind,
#include "resources.def"
	RESOURCE_COUNT
};

#define WAITS_MAX 4096 /* of all processes */
#define RESOURCE_NAME_BYTES 32
/* In the name of a connected socket of the internet: 0, then this. */
struct peer_name {
	__u8 zero;
	__u8 family;  /* AF_INET, AF_INET6; 0: another one */
	__u8 port[2]; /* as on the wire, as is the next */
	__u8 address[16];
};
_Static_assert(sizeof(struct peer_name) <= RESOURCE_NAME_BYTES, "a peer fits where names are");
#define WAIT_LEAST_NS 1000000  /* shorter waits are in the account alone */
#define WAIT_OPEN_NS 250000000 /* a wait that goes on is told with its resource from then on; guess */

/* As the task iterator writes it, or when its thread ends. */
struct account_record {
	__u64 now_ns;
	__u64 runtime_ns;	    /* CPU time of the thread by now */
	__u64 open_since_ns;	    /* what goes on: a call at depth 0, or a wait between calls; 0: nothing */
	__u64 open_ns[BLAME_COUNT]; /* its time off the CPU so far; [BLAME_ON_CPU] is 0 */
	/* A wait that goes on and is long, also one in a call: its resource, as struct wait_key has it. */
	__u64 wait_since_ns; /* 0: there is none, or it ended while it was looked at */
	__u64 wait_ns;
	__u64 wait_resource;
	__u32 wait_device;
	__u8 wait_class;
	__u8 wait_kind;
	__u8 wait_pad[2];
	char wait_name[RESOURCE_NAME_BYTES];
	__u32 wait_name_hash;
	__u32 wait_more_pad;
	__u32 tgid;
	__u32 tid;
	__u32 changes; /* of `account` when the members above were written: another number there, another state */
	__u16 slot;
	__u16 open_op;		      /* 0: between calls */
	char comm[RECORD_COMM_BYTES]; /* of the thread, when it first called */
	struct thread_account account;
};

/* Of threads that ended, until their accounts were read: map `accounts_ended`. */
#define ACCOUNTS_ENDED 2048

struct account_key {
	__u32 tid;
	__u32 slot;
};

/* A chain of wakers: who ended a wait, who ended the waits of that one meanwhile, ... */
#define WAIT_HOPS_MOST 4
#define WAKERS_MAX 1024 /* threads whose own waits are noted, of all processes */

/*
 * Waits of one thread for one thing that one thread ended: map `waits`. is_meanwhile: what a waker did while another
 * thread of the process waited for it, ON_CPU and RUNNABLE too (chain.h).
 */
struct wait_key {
	__u64 resource;	  /* address of a futex in its process, inode number, control group; 0: not known */
	__u32 device;	  /* of an inode, or a block device: major << 20 | minor */
	__u32 tid;	  /* who waited */
	__u32 waker_tgid; /* whose own system call ended it; 0: an interrupt, or not known */
	__u32 waker_tid;
	__u16 slot;
	__u16 op;   /* of the call at depth 0; 0: between calls */
	__u8 class; /* enum blame_class */
	__u8 kind;  /* enum resource_kind */
	__u8 is_meanwhile;
	__u8 pad;
};
_Static_assert(sizeof(struct wait_key) == 32, "wait_key is ABI between both halves");

struct wait_value {
	__u64 ns;
	__u64 max_ns;
	__u64 count;
	__u32 waker_uid;
	__u32 last_s; /* second in which the last one ended, CLOCK_MONOTONIC */
	char waker_comm[RECORD_COMM_BYTES];
	char name[RESOURCE_NAME_BYTES]; /* last component of an inode's path; "": none, or struct peer_name */
	__u32 name_hash;		/* of the whole component, as the kernel hashes it: for struct file_key */
	__u32 pad;
};

/* A file that a process waited for, by one of its names. */
struct file_key {
	__u64 inode;
	__u32 device;
	__u32 name_hash;
	__u32 tgid;
	__u32 slot;
};
_Static_assert(sizeof(struct file_key) == 24, "file_key is ABI between both halves");

#define FILE_PATH_BYTES 4096
#define FILE_NAME_BYTES 256 /* of one component, with its end */

#define FILE_UNLINKED 0x1u /* the name is no more */
#define FILE_CUT 0x2u	   /* the components next to the root are missing: there are too many */
#define FILE_OUTSIDE 0x4u  /* not below the root of the process: as its mount namespace has it */
#define FILE_NAMELESS 0x8u /* in no directory ever: memfd, anonymous inode */

/* On the ring `calls`: the path of a file, once for each process and name. */
struct file_record {
	RECORD_HEADER;
	struct file_key key;
	__u32 path_flags;	    /* FILE_* */
	__u32 n_bytes;		    /* of the text */
	char text[FILE_PATH_BYTES]; /* components, that of the file first, each ends with NUL */
};
#define FILE_RECORD_HEAD __builtin_offsetof(struct file_record, text)
_Static_assert(FILE_RECORD_HEAD == 80, "file_record is ABI between both halves");
