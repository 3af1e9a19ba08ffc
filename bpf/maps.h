// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Data that the programs share: state of threads and processes, figures, rings, counters, settings. Every object file
 * that includes this header has weak definitions; the linker keeps one.
 */
#pragma once

#include "kernel.h"
#include "path_walk.h"
#include "record.h"

#define SHARED __weak

/* Settings that are fixed before loading; the verifier removes code that they disable. */
SHARED const volatile bool has_task_throttled = false; /* task_struct.throttled, 6.18 */
SHARED const volatile bool has_throttle_count = false; /* cfs_rq.throttle_count, with CFS_BANDWIDTH */
SHARED const volatile bool has_switch_state = false;   /* sched_switch carries prev_state, 5.18 */
SHARED const volatile bool has_loop = false;	       /* bpf_loop(), 5.17 */
SHARED const volatile bool has_percpu_lookup = false;  /* bpf_map_lookup_percpu_elem(), 5.19 */
SHARED const volatile bool has_find_vma = false;       /* bpf_find_vma(), 5.17 */
SHARED const volatile bool has_vma_iterator = false;   /* bpf_iter_task_vma_new(), 6.7 */
SHARED const volatile bool checks_stacks = false;      /* each hit of the memo of stacks is walked, too, and counted */
SHARED const volatile __u32 page_shift = 12;
SHARED const volatile __u32 ran_entries = RAN_ENTRIES_MAX; /* a power of two */
SHARED const volatile __u64 ring_wake_bytes = 0;	   /* a quarter of the ring `calls` (call_ring.h) */

/* Settings that the daemon changes while we run. */
SHARED __u32 policy = 1;			  /* incremented when targets, users or everyone change */
SHARED __u32 is_inert = 0;			  /* set before slow detaching: programs return at once */
SHARED __u8 attach_off[COOKIE_ATTACH_COUNT] = {}; /* enum attach_state of each attach, by its number */
SHARED __u32 records_thinned =
	0; /* to keep the budget: records have no stacks, and there is no sample of other calls */
SHARED struct process_wish everyone = {};
SHARED __u32 n_users = 0;
SHARED __u32 calibrating_tgid = 0;     /* its calls go to CALIBRATION_SLOT */
SHARED __u64 attached_boot_ns = ~0ull; /* end of the last attach, CLOCK_BOOTTIME */
SHARED __u32 collectors = 0;	       /* incremented when probes of garbage collections are attached or detached */
/* Cost of tracing in nanoseconds (calibrate.c), by enum call_head; one entry is unused. */
SHARED __u64 share_ns[4] = {};	    /* within the duration of the call itself */
SHARED __u64 nested_ns[4] = {};	    /* of a traced call, within the duration of the enclosing call */
SHARED __u64 nested_refused_ns = 0; /* the same, of a call whose return is not trapped */

/*
 * Always 0, but unknown to the verifier. Before 6.7 the verifier follows a callback of bpf_loop() for one round only:
 * with known initial values it takes states that need several rounds for impossible, and removes their code. Values
 * that accumulate over rounds start with this one.
 */
SHARED __u64 zero_unknown = 0;

/*
 * What CLOCK_MONOTONIC is ahead of the clock that counts the CPU time of tasks, by CPU (modulo CPU_LEADS), with the
 * latter's value when it was measured (run_time.h).
 */
#define CPU_LEADS 256 /* a power of two */
SHARED __u64 cpu_leads[CPU_LEADS] = {}, cpu_leads_at[CPU_LEADS] = {};

/* Written by the programs. */
SHARED __u32 cells_high = 0; /* highest index of a cell ever used */
/*
 * Number of entries in `waits`, `behind`, `wakers` and `accounts_ended`, and of unread records on the ring `life`: in
 * all, and by user (shares.h). The daemon corrects those of `waits` and `behind`, and subtracts the accounts and
 * records that it has read.
 */
SHARED __u32 n_behind = 0, behind_of[USER_SHARES] = {};
SHARED __u32 behind_reading = 0; /* number of the daemon's next reading of `behind` */
SHARED __u32 n_waits = 0, n_wakers = 0, n_accounts_ended = 0, n_lives = 0;
SHARED __u32 waits_of[USER_SHARES] = {}, wakers_of[USER_SHARES] = {}, accounts_ended_of[USER_SHARES] = {};
SHARED __u32 lives_of[USER_SHARES] = {};
/* The same of slots, of cells, and of spare cells that are taken; the daemon subtracts those that it frees. */
SHARED __u32 n_slots = 0, n_cells = 0, n_spares = 0;
SHARED __u32 slots_of[USER_SHARES] = {}, cells_of[USER_SHARES] = {}, spares_of[USER_SHARES] = {};
/* The same of entries in `processes` and in `targets`; the daemon counts those of `targets` that it adds or removes. */
SHARED __u32 n_processes = 0, n_targets = 0;
SHARED __u32 processes_of[USER_SHARES] = {}, targets_of[USER_SHARES] = {};
SHARED __u16 slot_takers[PROCESS_SLOTS] = {}, cell_takers[PROCESS_CELLS] = {}; /* the share that each one takes */
SHARED struct path_budget path_budgets[USER_SHARES] = {};
SHARED struct share_losses losses_of[USER_SHARES] = {};
SHARED __u32 slot_shares[PROCESS_SLOTS] = {}; /* of the losses of the user of each slot */
/*
 * Share of the losses of the only user whose processes make calls; SHARE_REST: none, or several, or not known to be
 * one. Set by the daemon each second, cleared by the first call of another user's process.
 */
SHARED __u32 lone_share = SHARE_REST;
SHARED struct share_range subordinate = {}; /* set by the daemon */
SHARED __u32 n_shares_subordinate = 0;	    /* the daemon corrects it */

#define NS_IN_SECOND 1000000000ull

#define CALIBRATION_SLOT (PROCESS_SLOTS - 1) /* never given to a process */

#define ABI_ARGUMENTS 6	      /* arguments in registers, on all supported machines */
#define CALL_ARGUMENTS_MORE 3 /* arguments after these that some operations keep */
#define CALL_ARGUMENTS (ABI_ARGUMENTS + CALL_ARGUMENTS_MORE)

struct call_frame {
	__u64 start_ns;		     /* 0 until the entry program has finished, and after the call was given up */
	__u64 sp;		     /* at entry */
	__u64 ip;		     /* address of the probe: distinguishes exports of one operation */
	__u64 args[CALL_ARGUMENTS];  /* arguments after the registers only if the operation keeps one */
	__u64 kids_ns;		     /* cost of tracing the calls inside this one */
	__u64 pcount;		     /* of the task, at entry */
	__u64 run_delay;	     /* likewise */
	__u64 unrun;		     /* likewise: exec_start - sum_exec_runtime; grows by the time off the CPU */
	__u64 migrations;	     /* likewise */
	__u64 blame_ns[BLAME_COUNT]; /* zero in every frame that is not open */
	__u32 switches;		     /* of the thread state, at entry */
	__u32 seq;		     /* number of the call in the thread: distinguishes uses of this frame */
	__u16 op;
	__u8 head;	   /* enum call_head */
	__u8 is_dirty;	   /* blame_ns is not all zero */
	__u8 attach;	   /* number of the attach of its probe */
	__u8 no_arguments; /* no arguments are kept */
	__u8 pad[2];
};

/*
 * The wait that began at the last switch-out (waits.h). The thread writes `pcount`, `stop`, `disk` and carried_*, its
 * waker the other members, before the thread runs.
 */
struct thread_wait {
	__u64 pcount;	    /* of the task, when it left the CPU */
	__u64 disk_pcount;  /* of the task at its next wait after its last disk request; 0: it has made none */
	__u64 woken_pcount; /* as `pcount` of the wait that the members from `resource` on belong to */
	__u64 carried_ns;   /* time of waits that a timer ended, not counted yet: see wait_carry() */
	__u64 carried_resource;
	__u64 carried_calls; /* number of calls of the thread at that time */
	__u16 carried_class;
	__u16 stop; /* enum stop_kind, of the wait that began at `pcount` */
	__u32 carried_op;
	__u32 carried_holder; /* thread that ran at the end of all these waits; 0: several threads */
	__u32 disk;	      /* block device of that request: major << 20 | minor */
	char carried_comm[RECORD_COMM_BYTES];
	__u64 resource; /* resource and device: as in struct wait_key */
	__u32 device;
	__u32 waker_tgid;
	__u32 waker_tid;
	__u32 waker_uid;
	__u32 kind;
	__u32 holder_tid; /* without a waker: the thread that ran then, its name in waker_comm; 0: none, or several */
	char waker_comm[RECORD_COMM_BYTES];
	char name[RESOURCE_NAME_BYTES]; /* as in struct wait_value */
	__u32 name_hash;
	__u32 is_waker_guarded;
};

/* Waits of a waker with the same cause, since it last ended a long wait. */
#define WAKER_WAITS 4 /* a power of two */
#define WAKER_QUIET_S 60
struct waker_wait {
	__u64 ns;
	__u64 from_ns; /* start of the first, CLOCK_MONOTONIC */
	__u64 to_ns;   /* end of the last */
	__u32 class;
	__u32 pad;
	struct thread_wait cause;
};

/*
 * State of a waker: a thread that ended long waits of threads that make calls, and makes no calls itself (chain.h).
 * Written by the thread itself, and by the thread that wakes it before it can run.
 */
struct waker_state {
	__u64 pcount;		     /* of the task, when it left the CPU to wait; 0: it does not wait */
	__u64 out_ns;		     /* that moment, CLOCK_MONOTONIC */
	__u64 since_ns;		     /* start of the notes below */
	__u64 run_delay;	     /* of the task, at that moment */
	__u64 short_ns[BLAME_COUNT]; /* time off the CPU in waits whose cause is not kept, by class */
	__u32 class;		     /* enum blame_class, of the wait that began at out_ns */
	__u32 slot;		     /* of the process whose wait it ended last */
	__u32 tgid;		     /* of that process */
	__u32 hop;		     /* distance; 1: it ends waits of threads that make calls */
	__u32 last_s;		     /* second in which it last ended a long wait, CLOCK_MONOTONIC */
	__u32 share;		     /* index of the share that has the entry (shares.h) */
	struct thread_wait now;	     /* cause of the wait that just ended */
	struct waker_wait waits[WAKER_WAITS];
};

/*
 * State of a thread. Written by the thread itself, in its probe programs and in the switch hook that runs for it; the
 * hook may interrupt a program, a program never interrupts the hook. So the hook touches only frames below `depth`, a
 * program takes the interval noted at switch-out by compare-and-swap on out_clock, and blame grows by atomic adds. The
 * iterator over calls in progress runs on another CPU and counts calls of detached libraries as never returned: it
 * gives up a frame by compare-and-swap on start_ns.
 */
struct thread_state {
	__u32 policy; /* the policy under which `wants` was decided */
	__u32 depth;  /* open frames */
	__u32 slot;   /* of the process; 0: none yet */
	__u32 tgid;
	__u32 tid;
	__u32 uid;
	__u32 exec_gen;
	__u32 wants; /* WISH_*; 0: not traced */
	__u32 seq;
	__u32 switches;	 /* switch-outs noted inside calls */
	__u32 sample;	 /* calls of the current block */
	__u32 out_class; /* enum blame_class of the wait that began at out_clock */
	__u64 out_clock; /* run-queue clock at the last switch-out inside a call; 0: nothing to settle */
	__u64 out_ns;	 /* the same moment, CLOCK_MONOTONIC */
	__u64 out_run_delay;
	__u64 home_low, home_high;		      /* the thread's own stack; home_high 0: not known yet */
	__u64 untimed_sp, untimed_ip, untimed_return; /* last call whose return is not trapped */
	__u16 untimed_op;
	__u16 is_reclaiming; /* the kernel reclaims memory on its behalf */
	__u32 sample_every;  /* of the wish, with WISH_RECORDS */
	/* Waits between calls (away.h). */
	__u64 away_clock; /* run-queue clock at the switch-out; 0: nothing to count */
	__u64 away_run_delay;
	__u64 away_pcount; /* of the task; the next arrival adds one */
	__u64 away_out_ns; /* time of the switch-out, CLOCK_MONOTONIC */
	__u64 clock_read;  /* run-queue clock at which clock_lead was measured */
	__u64 clock_lead;  /* what CLOCK_MONOTONIC was ahead of it */
	/* The same wait's stack (wait_stack.h). */
	__u64 away_place;    /* what tells its place from others; 0: not known */
	__u64 away_stack;    /* id; 0: none */
	__u64 carried_place; /* likewise of waits that are kept back: thread_wait.carried_ns */
	__u64 carried_stack;
	__u32 sample_at;  /* which call of the block is sampled, from 1 on; 0: there is no block */
	__u16 away_class; /* enum blame_class */
	__u16 is_settled; /* the process is guarded or not captured: its credentials need no further check */
	struct thread_wait wait;
	char comm[RECORD_COMM_BYTES];
	struct thread_account account; /* account.h */
	struct call_frame frames[CALL_DEPTH_MAX];
};
_Static_assert(sizeof(struct thread_state) < 4000, "what the kernel keeps beside it fits a page, too");

/* The last memory reclaim of a thread. */
struct reclaim_entry {
	__u64 start_ns; /* 0: over */
	__u32 scope;	/* enum oom_scope: whose memory was full */
	__u32 pad;
};

/* A task that was switched in on a CPU. */
struct ran_entry {
	__u64 clock; /* run-queue clock when it was switched in */
	__u32 tgid : 31;
	__u32 is_guarded : 1; /* its own user may not inspect it */
	__u32 uid;
	char comm[RECORD_COMM_BYTES];
};
/* Head of the ring of one CPU. */
struct ran_head {
	__u64 n;	 /* entries written so far */
	__u32 tgid, tid; /* the running task */
};
_Static_assert(sizeof(struct ran_entry) == RAN_ENTRY_BYTES, "the daemon knows its size");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* For hooks that run for every task of the machine: most have no state, which is seen without a look-up. */
static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->bpf_storage) && !task->bpf_storage)
		return NULL;
	return bpf_task_storage_get(&threads, task, 0, 0);
}

/* Entries of both are removed when their process ends. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct process_entry);
} processes SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct target_entry);
} targets SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* uid */
	__type(value, struct process_wish);
} users SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);   /* tgid */
	__type(value, __u64); /* nanoseconds that other threads were behind it, which no row of `behind` has */
} tracers SEC(".maps");

/* Guardians below which processes may be stopped now: one entry ends the holds of all that a lease's processes start.
 */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, __u32);
} guardians SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_QUEUE); /* first in, first out: a freed slot is reused as late as possible */
	__uint(max_entries, PROCESS_SLOTS);
	__type(value, __u32);
} free_slots SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_STACK); /* last in, first out: used cells keep low indices */
	__uint(max_entries, PROCESS_CELLS);
	__type(value, __u32);
} free_cells SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_STACK); /* reserved for overflow cells */
	__uint(max_entries, PROCESS_CELLS);
	__type(value, __u32);
} spare_cells SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROCESS_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct process_slot);
} slots SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROCESS_SLOTS);
	__type(key, __u32);
	__type(value, struct slot_row);
} slot_rows SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROCESS_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct figure_cell);
} cells SEC(".maps");

/* Preallocated: hooks that must not allocate add rows. The daemon removes old rows (probe_behind.c). */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BEHIND_ROWS_MAX);
	__type(key, struct behind_key);
	__type(value, struct behind_value);
} behind SEC(".maps");

/* Accounts of threads that ended, until the daemon reads them. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACCOUNTS_ENDED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct account_key);
	__type(value, struct account_record);
} accounts_ended SEC(".maps");

/* Index of the share of a user. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, USER_SHARES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* uid */
	__type(value, __u32);
} user_shares SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_QUEUE); /* first in, first out: a share is reused as late as possible */
	__uint(max_entries, USER_SHARES);
	__type(value, __u32);
} free_shares SEC(".maps");

/* Preallocated: hooks that must not allocate add rows. The daemon removes old rows (probe_waits.c). */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITS_MAX);
	__type(key, struct wait_key);
	__type(value, struct wait_value);
} waits SEC(".maps");

/*
 * An entry is removed when its thread ends or executes another program, when it waits after ending no long wait for
 * WAKER_QUIET_S, and at the end of a wait in which it may not be a waker (may_be_waker()).
 */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAKERS_MAX);
	__type(key, __u32); /* tid */
	__type(value, struct waker_state);
} wakers SEC(".maps");

/*
 * Number of wakers by thread id modulo WAKER_MARKS: where it is 0, the hooks that run for every task of the machine
 * need no look-up. A waker is marked before it next waits.
 */
#define WAKER_MARKS 1024 /* a power of two */
SHARED __u32 waker_marks[WAKER_MARKS] = {};

static __always_inline __u32 *waker_mark(__u32 tid)
{
	return &waker_marks[tid & (WAKER_MARKS - 1)];
}

static __always_inline struct waker_state *waker_of(__u32 tid)
{
	return *waker_mark(tid) ? bpf_map_lookup_elem(&wakers, &tid) : NULL;
}

/*
 * The Python interpreter of a process: written by the daemon, copied at fork, removed at exec and exit. A full map
 * evicts the entry not used for longest; waits for the GIL of that process then appear as waits for a lock.
 */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PROCESS_SLOTS);
	__type(key, __u32); /* tgid */
	__type(value, struct interpreter);
} interpreters SEC(".maps");

SHARED __u32 interpreters_noted = 0; /* incremented after each entry that is written there */

/* Files whose paths were sent, with the second of the last time, CLOCK_MONOTONIC. The path of an evicted file is sent
 * again. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct file_key);
	__type(value, __u32);
} files_sent SEC(".maps");

/*
 * Buffers in which paths are built (path.h): one for the wake-up hook, one for the iterator over accounts, which the
 * hook may interrupt.
 */
enum path_place { PATH_PLACE_WAKE, PATH_PLACE_ACCOUNT, PATH_PLACE_COUNT };

SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PATH_PLACE_COUNT);
	__type(key, __u32);
	__type(value, struct path_walk);
} path_walks SEC(".maps");

/* Preallocated: entries are added while memory is short. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* tid */
	__type(value, struct reclaim_entry);
} reclaims SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RAN_ENTRIES_MAX); /* set to ran_entries at load; a ring per CPU */
	__type(key, __u32);
	__type(value, struct ran_entry);
} ran SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ran_head);
} ran_head SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LIFE_RING_BYTES);
} life SEC(".maps");

/* Atomic: on preemptible kernels another program may interrupt this one on the same CPU. */
static __always_inline void counter_add(__u32 index, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &index);

	if (value)
		__sync_fetch_and_add(value, n);
}
