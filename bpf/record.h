// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Types shared by the kernel half and the daemon, with the same layout in both: records on the rings, cells of figures,
 * slots of processes, reasons of loss.
 *
 * Fixed-width members, largest first, padding explicit and zero. Times are CLOCK_MONOTONIC nanoseconds unless named.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "ops.h"
#include "python_layout.h"
#include "user_share.h"

#define RECORD_COMM_BYTES 16

/* Where the time of a call went. ON_CPU is never stored: it is the duration minus all other classes. */
enum blame_class {
#define BLAME(id, field, label, phrase, remedy) BLAME_##id,
#include "blame.def"
#undef BLAME
	BLAME_COUNT
};

/* Reasons to write a record; several may apply. */
enum record_reason {
	RECORD_REASON_SLOW = 1,	   /* above its cell's slow_ns */
	RECORD_REASON_ERROR = 2,   /* returned non-zero */
	RECORD_REASON_SYNC = 4,	   /* OP_SYNC */
	RECORD_REASON_ALLOC = 8,   /* OP_MEMORY */
	RECORD_REASON_SAMPLE = 16, /* one in N */
	RECORD_REASON_ALL = 32,	   /* records of every call were requested */
};

enum loss_reason {
#define LOSS(reason, field, kind, one, many) LOSS_##reason,
#include "losses.def"
	LOSS_COUNT
};

/* Counters per CPU: losses by reason, then these. */
enum counter_index {
	COUNTER_BYSTANDER = LOSS_COUNT,
	COUNTER_MEMO_HIT, /* this and the next two only with checks_stacks */
	COUNTER_MEMO_MISS,
	COUNTER_MEMO_WRONG, /* hits whose stack was another one */
	COUNTER_COUNT
};

/*
 * What leases request for a process. There are wishes for single processes, for all processes of a user, and for all
 * processes.
 */
#define WISH_TRACED 0x1u
#define WISH_HOLD 0x2u	     /* stop the process while a new library is attached; only in wishes for one process */
#define WISH_RECORDS 0x4u    /* write records of slow, failed, synchronising and allocating calls */
#define WISH_EVERY_CALL 0x8u /* write records of all calls; with WISH_RECORDS */
#define WISH_STACKS 0x10u    /* with their stacks; with WISH_RECORDS */

struct process_wish {
	__u32 flags;	    /* WISH_*; 0: nothing */
	__u32 sample_every; /* with WISH_RECORDS: also one call in N of each thread; 0: none */
	__u32 hold_uid;	    /* with WISH_HOLD: only processes of this user are stopped; 0: of all users */
	__u32 guardian;	    /* with WISH_HOLD: only descendants of this process are stopped */
};

/* The wish of a lease for a process: map `targets`. */
struct target_entry {
	struct process_wish wish;
	__u32 share; /* index of the share that has the entry (shares.h) */
};

/* Adds a wish: the union of both. If both hold, hold_uid and guardian of the first stay. */
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

/* The header of every record; its members are also members of the record. */
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
		__u64 start_ns; /* of a call: time of its entry */                                                     \
	};                                                                                                             \
	__u32 tgid;                                                                                                    \
	__u32 tid;                                                                                                     \
	__u32 uid;                                                                                                     \
	__u32 exec_gen; /* number of execs of this process seen so far */                                              \
	__u16 slot;	/* 0: the process made no traced call */                                                       \
	__u8 type;	/* enum record_type */                                                                         \
	__u8 flags;	/* LIFE_* */                                                                                   \
	__u32 share;	/* of process life: share that the record takes, 1 + its index (shares.h); otherwise 0 */      \
	char comm[RECORD_COMM_BYTES] /* of a call: of the thread, at its first call; otherwise of the process */

struct record_header {
	RECORD_HEADER_MEMBERS;
};
_Static_assert(sizeof(struct record_header) == 48, "record_header is ABI between both halves");

/* On the ring `calls`: one finished call. */
struct call_record {
	RECORD_HEADER;
	__u64 duration_ns;	     /* without the cost of tracing */
	__u64 raw_ns;		     /* as measured between the two probes */
	__u64 blame_ns[BLAME_COUNT]; /* [BLAME_ON_CPU] is 0: the remainder of raw_ns */
	__u64 stack;		     /* id of its stack (stack_record.h); 0: none */
	__s32 ret;
	__u16 op;
	__u8 reason; /* bits of enum record_reason */
	__u8 depth;  /* 0: outermost traced call of this thread */
	/* As in ops.def. A record on the ring has only OP_ARGS_SHORT of them if the operation keeps no more. */
	__u64 args[OP_ARGS_MAX];
};
#define CALL_RECORD_SHORT (sizeof(struct call_record) - (OP_ARGS_MAX - OP_ARGS_SHORT) * sizeof(__u64))
_Static_assert(sizeof(struct call_record) == 208 && CALL_RECORD_SHORT == 176, "call_record is ABI between both halves");

/* Identity of a file in the kernel. On an overlay: the file in the lower layer, which all users of that layer share. */
struct file_identity {
	__u64 device; /* major << 32 | minor */
	__u64 inode;
	__u64 bytes;
	__s64 change_s; /* change time, wall clock: differs after a write to the file */
	__u32 change_ns;
	__u32 pad;
};

#define CODE_WATCHES 256 /* a power of two: attached probes where interpreters free code objects */

/* The Python interpreter of a process, written by the daemon. */
struct interpreter {
	__u64 start; /* address range of its state */
	__u64 n_bytes;
	/* Noted by the kernel half; 0: not read yet. */
	__u64 main;	    /* address of the state of its main interpreter */
	__u64 slot;	    /* where a thread has the address of its state, from the thread pointer on */
	__u32 is_collected; /* its garbage collections are probed */
	__u32 code_watch;   /* number of the probe where it frees code objects: see code_watches; 0: none */
	struct python_layout layout;
};

/* One executable mapping, written by the iterator `mapped`. */
struct mapped_record {
	__u64 start;
	__u64 end;
	__u64 offset;  /* in the file */
	__u64 exec_vm; /* executable pages of the process: differs from record to record if they changed meanwhile */
	struct file_identity file; /* inode 0: none */
	__u32 flags;		   /* MAPPED_* */
	__u32 pad;
};
_Static_assert(sizeof(struct mapped_record) == 80, "mapped_record is ABI between both halves");
#define MAPPED_VDSO 0x1u /* code of the kernel's own, without a file */

/* Number of executable pages of one process, written by the iterator `executable`. */
struct executable_record {
	__u64 start_boot_ns;
	__u64 pages;
	__u32 tgid;
	__u32 uid; /* UINT32_MAX: the process is guarded */
};
_Static_assert(sizeof(struct executable_record) == 24, "executable_record is ABI between both halves");

struct fork_body {
	__u32 child; /* process id */
};

struct exit_body {
	__u32 code;	  /* encoded as in wait(2) */
	__u8 was_in_call; /* a thread ended inside a call whose return is trapped. With SIGABRT possibly due to a C++
			     exception */
	__u8 pad[3];
};

struct library_body {
	__u64 base;		   /* load address (l_addr) of the new library */
	struct file_identity file; /* the file mapped at `base`; inode 0: not known */
	__u8 is_held;		   /* the process is stopped until SIGCONT */
	__u8 pad[7];
};

struct oom_body {
	__u64 rss_bytes; /* resident memory of the process, as in the kernel's log */
	__u32 by_tgid;	 /* process whose allocation triggered the kill; 0: none, or the victim itself */
	__u32 by_uid;
	char by_comm[RECORD_COMM_BYTES];
	__u8 scope;	    /* enum oom_scope */
	__u8 is_by_guarded; /* its own user may not inspect it */
	__u8 pad[6];
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

#define LIFE_RING_BYTES (512u << 10) /* 8 CPUs that only fork and exit fill it in a quarter of a second */
#define LIFE_RING_HEAD 8u	     /* of each record */
#define LIVES_MAX (LIFE_RING_BYTES / (unsigned int)(sizeof(struct life_record) + LIFE_RING_HEAD))

#define LIFE_GUARDED 0x1u /* as PROCESS_GUARDED */
#define LIFE_NAMED 0x2u	  /* a lease names the process or an ancestor of it */
#define LIFE_UNKNOWN 0x4u /* an old kernel reports only the process id: uid, comm and start are not known */

/*
 * Figures of one operation in one process. Shared by all CPUs and changed only by atomic adds; the count is the sum of
 * the buckets plus `untimed`. 2 KiB, so that two cells fit in a page.
 */
#define HISTOGRAM_SUB_BITS 4	 /* 16 buckets per octave: relative width at most 1/16 */
#define HISTOGRAM_FIRST_OCTAVE 6 /* from 64 ns; shorter times count in bucket 0 */
#define HISTOGRAM_OCTAVES 30	 /* to 68 s; longer times count in the last bucket */
#define HISTOGRAM_BUCKETS (HISTOGRAM_OCTAVES << HISTOGRAM_SUB_BITS)

#define RECORD_LONG_NS 1000000000ull /* a call is slow above this until its operation has many calls (guess) */
struct figure_cell {
	__u64 total_ns; /* sum of corrected durations */
	__u64 raw_ns;	/* as measured */
	__u64 max_ns;	/* corrected */
	__u64 bytes;	/* of successful calls, and of all untimed calls */
	__u64 slow_ns;	/* longer calls are recorded as slow. Written by the daemon; at first RECORD_LONG_NS */
	__u64 blame_ns[BLAME_COUNT - 1]; /* without BLAME_ON_CPU: index class - 1 */
	__u32 errors;
	__u32 abandoned;		  /* entered, never returned: exit, kill, longjmp, cancel, exec */
	__u32 untimed;			  /* counted at entry, return not trapped: see docs/rooms/bpf.md */
	__u16 slot;			  /* of the process; 0: the cell is free */
	__u16 op;			  /* 0: overflow cell of the process */
	__u32 buckets[HISTOGRAM_BUCKETS]; /* may wrap: differences are modulo 2^32 */
};
_Static_assert(sizeof(struct figure_cell) == 2048, "figure_cell is ABI between both halves");

/* One process that made a traced call. Slot 0 is never used. */
#define PROCESS_SLOTS 1024
#define PROCESS_CELLS 4096
#define CELLS_SPARE 128 /* of these: reserved as overflow cells of processes that find no other cell */

/*
 * The cells of the operations that a process called: a hash table with open addressing, whose entries are words so that
 * a BPF program can compare-and-swap them. An entry is operation << 16 | index of its cell; 0: free. It stays in its
 * place as long as the process has its slot. An operation is at one of the SLOT_ROW_TRIES places from its id modulo
 * SLOT_ROW_ENTRIES on; if other operations have all of them, it has no cell of its own. Ids of ops.def are dense, so
 * nearly all are at their first place.
 */
#define SLOT_ROW_ENTRIES 256 /* a power of two */
#define SLOT_ROW_TRIES 16
#define SLOT_ROW_ENTRY(op, cell) ((__u32)(op) << 16 | (cell))
#define SLOT_ROW_OP(entry) ((entry) >> 16)
#define SLOT_ROW_CELL(entry) ((entry)&0xffffu)

struct slot_row {
	__u32 entries[SLOT_ROW_ENTRIES];
	__u32 overflow; /* index of the cell for operations without their own; 0: none */
	__u32 pad;
};
_Static_assert(sizeof(struct slot_row) == 1032, "slot_row is ABI between both halves");
_Static_assert(PROCESS_CELLS <= 1 << 16, "slot_row holds 16 bits of a cell's index");

/* Return: index of the operation's cell, 0 if it has none */
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

struct process_slot {
	__u64 start_boot_ns; /* of the process, CLOCK_BOOTTIME */
	__u64 first_call_ns;
	__u64 gone_ns; /* time of exit or exec */
	__u32 tgid;
	__u32 uid; /* real */
	__u32 exec_gen;
	__u32 state; /* enum process_slot_state */
	__u32 flags;
	__u32 exit_code; /* valid after an exit */
	char comm[RECORD_COMM_BYTES];
};
_Static_assert(sizeof(struct process_slot) == 64, "process_slot is ABI between both halves");

#define PROCESSES_MAX 16384 /* entries of `processes`, and of `targets` */

/* A process that is traced, or named by a lease: map `processes`. */
struct process_entry {
	__u32 slot; /* 0: no traced call since its start or exec */
	__u32 exec_gen;
	__u64 link_tail;      /* last link_map seen in the list of its dynamic loader; 0: none yet */
	__u32 is_link_stale;  /* a library was unloaded: the tail must be found again */
	__u32 was_in_call;    /* a thread ended inside a call */
	__u32 was_oom_told;   /* an OOM kill was reported; the kernel marks every thread */
	__u32 is_guarded;     /* as in process_slot: set at an exec or later, kept until the next exec */
	__u64 held_ns;	      /* when the tracer last stopped it to attach a library; 0: never */
	__u32 loader_changes; /* number of changes that its dynamic loader made to its list of objects, and began */
	__u32 share;	      /* index of the share that has the entry (shares.h) */
};

/* Processes that ran while a thread that makes calls was runnable: map `behind`. */
struct behind_key {
	__u16 slot;
	__u8 is_between; /* 1: the thread was between calls; 0: in a call */
	__u8 is_sum;	 /* of the processes of a user for which there was no room */
	__u32 tgid;	 /* of a sum: the user, by share_user() */
};

struct behind_value {
	__u64 ns;
	__u32 uid;
	__u32 is_guarded; /* its own user may not inspect it */
	__u32 reading;	  /* number of the daemon's next reading, when it last grew */
	__u32 pad;
	char comm[RECORD_COMM_BYTES];
};

/*
 * The tasks that ran last on each CPU, to attribute waits. 512 entries cover 10 ms at 50 000 switches per second.
 * Beside a build with six compilers on two CPUs, the share of ready time without a name was 0.0 % with 512 entries, 0.8
 * % with 256, 5 % with 128 (one run of 35 s, all three at once); missing entries are counted as a loss. All CPUs
 * together use at most RAN_BYTES_MAX: with more than 128 CPUs each has fewer entries.
 */
#define RAN_ENTRIES_MAX 512 /* a power of two; so is RAN_ENTRIES_MIN */
#define RAN_ENTRIES_MIN 128
#define RAN_ENTRY_BYTES 32
#define RAN_BYTES_MAX (2 << 20)

/* A call in progress, written by the iterator `in_flight`. */
#define CALL_DEPTH_MAX 8

struct in_flight_record {
	__u64 start_ns;
	__u64 now_ns;
	__u64 blame_ns[BLAME_COUNT]; /* so far, including the wait in progress; [BLAME_ON_CPU] is 0 */
	__u32 tgid;
	__u32 tid;
	__u16 slot;
	__u16 op;
	__u8 depth;
	__u8 pad[3];
};
_Static_assert(sizeof(struct in_flight_record) == 112, "in_flight_record is ABI between both halves");

/*
 * The account of a thread: where its time went since its first traced call. The remainder, neither in calls (`ops`,
 * `rest`) nor in `away_ns`, is CPU time between calls.
 */
#define ACCOUNT_OPS 16 /* a power of two */
#define ACCOUNT_TRIES 4

/* Calls at depth 0 of one operation that have ended. */
struct account_op {
	__u64 ns;		     /* as measured */
	__u64 blame_ns[BLAME_COUNT]; /* parts of `ns`; [BLAME_ON_CPU] is 0: the remainder */
	__u32 op;		     /* 0: free place; in `rest`: several operations */
	__u32 pad;
};

struct thread_account {
	__u64 since_ns;		    /* start of the account; 0: no account */
	__u64 since_runtime_ns;	    /* CPU time of the thread at since_ns */
	__u64 calls;		    /* number of calls at depth 0 that ended */
	__u64 away_ns[BLAME_COUNT]; /* time off the CPU between calls, of intervals that ended; [BLAME_ON_CPU] is 0 */
	/* An operation is at one of ACCOUNT_TRIES places from its id modulo ACCOUNT_OPS on, otherwise in `rest`. */
	struct account_op ops[ACCOUNT_OPS];
	struct account_op rest;
	__u32 changes; /* sequence counter: grows before and after each change, so that a reader detects an inconsistent
			  copy */
	__u32 pad;
};

/* What a thread waited for, if known. */
enum resource_kind {
#define RESOURCE(kind, field, label) RESOURCE_##kind,
#include "resources.def"
	RESOURCE_COUNT
};

/* What stopped a thread: its own system call or page fault does not wait. */
enum stop_kind {
	STOP_NONE,
	STOP_SIGNAL,
	STOP_DEBUGGER,
	STOP_FREEZER,
	STOP_HOLD, /* by the tracer, while it attached a library */
};

/* Whether the resource is a pipe or FIFO, read or written. */
static inline int resource_is_pipe(enum resource_kind kind)
{
	return kind == RESOURCE_PIPE || kind == RESOURCE_FULL_PIPE;
}

static inline int resource_is_socket(enum resource_kind kind)
{
	return kind == RESOURCE_PEER || kind == RESOURCE_FULL_PEER;
}

#define WAITS_MAX 4096 /* of all processes */
#define RESOURCE_NAME_BYTES 32
/* The name of a connected internet socket: a zero byte, then the address of its peer. */
struct peer_name {
	__u8 zero;
	__u8 family;  /* AF_INET or AF_INET6; 0: another family */
	__u8 port[2]; /* in network byte order; so is the address */
	__u8 address[16];
};
_Static_assert(sizeof(struct peer_name) <= RESOURCE_NAME_BYTES, "a peer fits where names are");
#define WAIT_LEAST_NS 1000000  /* shorter waits are only in the account */
#define WAIT_OPEN_NS 250000000 /* a wait in progress is reported with its resource from this age on; guess */

/* An account, written by the iterator `accounts`, or when the thread ends. */
struct account_record {
	__u64 now_ns;
	__u64 runtime_ns;	    /* CPU time of the thread at now_ns */
	__u64 user_ns, kernel_ns;   /* the same as the kernel's clock tick finds it; 0: not known */
	__u64 unseen_ns[BLAME_COUNT]; /* between seen calls, maybe in calls that were left out; set by the daemon */
	__u64 open_since_ns;	    /* start of the call at depth 0 or of the wait between calls in progress; 0: none */
	__u64 open_ns[BLAME_COUNT]; /* time off the CPU of that so far; [BLAME_ON_CPU] is 0 */
	/* A long wait in progress, in a call or between calls: its resource, as in struct wait_key. */
	__u64 wait_since_ns; /* 0: none, or it ended during the reading */
	__u64 wait_ns;
	__u64 wait_resource;
	__u64 wait_stack; /* between calls: id of the wait's stack (stack_record.h); 0: none was taken */
	__u32 wait_device;
	__u8 wait_class, wait_kind;
	__u8 wait_pad[2];
	char wait_name[RESOURCE_NAME_BYTES];
	__u32 wait_name_hash;
	__u32 share; /* of an ended thread: index of the share that has its entry of `accounts_ended` */
	__u32 tgid;
	__u32 tid;
	__u32 changes; /* account.changes when the members above were written; a different number in `account`:
			  inconsistent */
	__u16 slot;
	__u16 open_op;		      /* 0: between calls */
	char comm[RECORD_COMM_BYTES]; /* name of the thread at its first call */
	struct thread_account account;
};

/* Size and key of the map `accounts_ended`: accounts of threads that ended, until the daemon reads them. */
#define ACCOUNTS_ENDED 2048

struct account_key {
	__u32 tid;
	__u32 slot;
};

/* Maximum length of a chain of wakers: the thread that ended a wait, the thread that ended that one's waits, ... */
#define WAIT_HOPS_MOST 4
#define BEHIND_ROWS_MAX 4096 /* rows of `behind`, of all processes together */
#define WAKERS_MAX 1024	     /* wakers, of all processes together */

/* Bytes of paths that the users of a share have sent in a second, CLOCK_MONOTONIC. */
struct path_budget {
	__u32 second, n_bytes;
};

/* Bytes of a user or of a process on the ring `stacks` or `calls`. */
struct ring_budget {
	__u64 until;	/* where this part of the ring's records begins, by the producer's position */
	__u64 n_bytes;	/* of this part */
	__u64 n_before; /* of the part before */
	__u64 last;	/* where the last record begins */
};

/*
 * Waits of one thread for one resource that one thread ended: map `waits`. With is_meanwhile: what a waker did while a
 * thread of the process waited for it, including ON_CPU and RUNNABLE (chain.h).
 */
struct wait_key {
	__u64 resource; /* address of a futex in its process, inode number, id of a control group, enum stop_kind, ...;
			   0: not known */
	__u32 device;	/* of the inode, or the device itself: major << 20 | minor */
	__u32 tid;	/* the waiting thread */
	__u32 waker_tgid; /* process whose system call ended the wait; 0: an interrupt, or not known */
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
	__u32 last_s; /* second in which the last wait ended, CLOCK_MONOTONIC */
	char waker_comm[RECORD_COMM_BYTES];
	char name[RESOURCE_NAME_BYTES]; /* last component of the file's path; first byte 0: none, or peer_name */
	__u32 name_hash;		/* the kernel's hash of the whole component, for struct file_key */
	__u32 tgid;			/* process of the thread that waited, for struct file_key */
	__u32 is_waker_guarded;		/* its own user may not inspect it */
	__u32 pad;
};

/* A file that a process waited for, under one of its names. The owner of `slot` is told, also if a waker waited. */
struct file_key {
	__u64 inode;
	__u32 device;
	__u32 name_hash;
	__u32 tgid; /* whose path it is: processes may have other roots */
	__u32 slot;
};
_Static_assert(sizeof(struct file_key) == 24, "file_key is ABI between both halves");

#define FILE_PATH_BYTES 4096
#define FILE_NAME_BYTES 256	     /* of one component, with its NUL */
#define FILE_BYTES_PER_S (256 << 10) /* of one user on the ring (shares.h): a quarter of it */

#define FILE_UNLINKED 0x1u /* the name was deleted */
#define FILE_CUT 0x2u	   /* the path is too long: components next to the root are missing */
#define FILE_OUTSIDE 0x4u  /* not below the root of the process: path in its mount namespace */
#define FILE_NAMELESS 0x8u /* never in a directory: memfd, anonymous inode */

/*
 * On the ring `calls`: the path of a file, for each process and name. Of the header time, tgid, slot and, as uid, the
 * user whose share it takes: share_user().
 */
struct file_record {
	RECORD_HEADER;
	struct file_key key;
	__u32 path_flags;	    /* FILE_* */
	__u32 n_bytes;		    /* of the text */
	char text[FILE_PATH_BYTES]; /* components, the file's own name first, each with its NUL */
};
#define FILE_RECORD_HEAD __builtin_offsetof(struct file_record, text)
_Static_assert(FILE_RECORD_HEAD == 80, "file_record is ABI between both halves");
