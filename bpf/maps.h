// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the programs share: state of threads and processes, figures, rings, counters,
 * settings. Every object that includes this defines them weakly; linking keeps one.
 */
#pragma once

#include "kernel.h"
#include "record.h"

#define SHARED __weak

/* Settings that are fixed before loading: the verifier removes what is off. */
SHARED const volatile bool has_task_throttled = false; /* task_struct.throttled, 6.18 */
SHARED const volatile bool has_throttle_count = false; /* cfs_rq.throttle_count, with CFS_BANDWIDTH */
SHARED const volatile bool has_switch_state = false;   /* sched_switch carries prev_state, 5.18 */
SHARED const volatile bool has_loop = false;	       /* bpf_loop(), 5.17 */
SHARED const volatile bool has_percpu_lookup = false;  /* bpf_map_lookup_percpu_elem(), 5.19 */
SHARED const volatile bool has_find_vma = false;       /* bpf_find_vma(), 5.17 */
SHARED const volatile __u32 page_shift = 12;
SHARED const volatile __u32 ran_entries = RAN_ENTRIES_MAX; /* a power of two */
SHARED const volatile __u64 ring_wake_bytes = 0;	   /* wake the daemon once when this much waits in `calls` */

/* Settings that the daemon changes while we run. */
SHARED __u32 policy = 1;			  /* moves on whenever targets, users or everyone change */
SHARED __u32 is_inert = 0;			  /* set before slow detaching: programs return at once */
SHARED __u8 attach_off[COOKIE_ATTACH_COUNT] = {}; /* likewise, by number of the attach */
SHARED struct process_wish everyone = {};
SHARED __u32 n_users = 0;
SHARED __u32 calibrating_tgid = 0;     /* its calls go to CALIBRATION_SLOT */
SHARED __u64 attached_boot_ns = ~0ull; /* end of the last attach, CLOCK_BOOTTIME */
SHARED __u32 collectors = 0;	       /* moves on when probes of garbage collections are attached or detached */
/* The tracer's share, nanoseconds (calibrate.c). By enum call_head, one unused. */
SHARED __u64 share_ns[4] = {};	    /* inside a call's own duration */
SHARED __u64 nested_ns[4] = {};	    /* of a traced call, inside the duration of the call around it */
SHARED __u64 nested_refused_ns = 0; /* of a call whose return is not trapped */

/*
 * Always 0, and the verifier does not know it. Before 6.7 it follows a callback of bpf_loop()
 * once: what one round cannot bring about from known beginnings, and several can, it takes
 * for impossible, and removes the code for it. What rounds add up begins with this.
 */
SHARED __u64 zero_unknown = 0;

/* Written by us. */
SHARED __u32 cells_high = 0;  /* highest cell ever given out */
SHARED __u32 calls_woken = 0; /* the daemon was woken for the fill that is going on */

#define CALIBRATION_SLOT (PROCESS_SLOTS - 1) /* never given to a process */

#define ABI_ARGUMENTS 6	      /* in registers, on every machine we know */
#define CALL_ARGUMENTS_MORE 3 /* of those behind them, what some operations keep */
#define CALL_ARGUMENTS (ABI_ARGUMENTS + CALL_ARGUMENTS_MORE)

struct call_frame {
	__u64 start_ns; /* 0 until the entry program is through, and again once it is counted as never returned */
	__u64 sp;	/* at entry */
	__u64 ip;	/* of the probe: tells exports of one operation apart */
	__u64 args[CALL_ARGUMENTS];  /* those behind the registers only if the operation keeps one of them */
	__u64 kids_ns;		     /* the tracer's cost of traced calls inside this one */
	__u64 pcount;		     /* of the task, at entry */
	__u64 run_delay;	     /* likewise */
	__u64 unrun;		     /* likewise: exec_start - sum_exec_runtime; grows by the time off the CPU */
	__u64 migrations;	     /* likewise */
	__u64 blame_ns[BLAME_COUNT]; /* zero in every frame that is not open */
	__u32 switches;		     /* of the thread state, at entry */
	__u32 seq;		     /* of the thread's calls: tells uses of this frame apart */
	__u16 op;
	__u8 head;	   /* enum call_head */
	__u8 is_dirty;	   /* blame_ns is not all zero */
	__u8 attach;	   /* number of the attach that its probe belongs to */
	__u8 no_arguments; /* none is kept */
	__u8 pad[2];
};

/* The wait that began at the last switch-out: waits.h. All but `pcount` is written by the waker, before it wakes. */
struct thread_wait {
	__u64 pcount;	    /* of the task, when it left the CPU */
	__u64 woken_pcount; /* as `pcount` of the wait that the members below `carried_op` belong to */
	__u64 carried_ns;   /* of waits that a timer ended, not counted yet: see waits.h */
	__u64 carried_resource;
	__u64 carried_calls; /* that the thread had made */
	__u32 carried_class;
	__u32 carried_op;
	__u32 carried_holder; /* thread that ran at the end of each of them; 0: not always the same */
	char carried_comm[RECORD_COMM_BYTES];
	__u64 resource; /* this and the next: as struct wait_key has them */
	__u32 device;
	__u32 waker_tgid;
	__u32 waker_tid;
	__u32 waker_uid;
	__u32 kind;
	__u32 holder_tid; /* no waker: the thread that ran then, whose name is below; 0: none, or several */
	char waker_comm[RECORD_COMM_BYTES];
	char name[RESOURCE_NAME_BYTES]; /* as struct wait_value has it */
	__u32 name_hash;
	__u32 pad;
};

/* Waits of a waker of one cause, since it last ended a long wait. */
#define WAKER_WAITS 4 /* a power of two */
#define WAKER_QUIET_S 60
struct waker_wait {
	__u64 ns;
	__u64 from_ns; /* the first began, CLOCK_MONOTONIC */
	__u64 to_ns;   /* the last ended */
	__u32 class;
	__u32 pad;
	struct thread_wait cause;
};

/*
 * A thread that ended long waits of threads that make calls, and makes none itself (chain.h). Changed by the thread
 * itself, and by who wakes it, before it can run.
 */
struct waker_state {
	__u64 pcount;		     /* of the task, when it left the CPU to wait; 0: it does not */
	__u64 out_ns;		     /* that moment, CLOCK_MONOTONIC */
	__u64 since_ns;		     /* what is below was noted since */
	__u64 run_delay;	     /* of the task, at that moment */
	__u64 short_ns[BLAME_COUNT]; /* off the CPU, waits of which the cause is not kept */
	__u32 class;		     /* enum blame_class, of the wait that began at out_ns */
	__u32 slot;		     /* of the process that it served last */
	__u32 tgid;		     /* likewise, its id */
	__u32 hop;		     /* 1: it ends waits of threads that make calls */
	__u32 last_s;		     /* second in which it last did, CLOCK_MONOTONIC */
	__u32 pad;
	struct thread_wait now; /* cause of the wait that just ended */
	struct waker_wait waits[WAKER_WAITS];
};

/*
 * State of a thread. Changed by the thread itself, in its probe programs and in the
 * switch hook that runs on its behalf; the hook may interrupt a program, never the
 * other way round. So: the hook touches frames below `depth` only, a program takes
 * what was noted at switch-out by compare-and-swap on out_clock, and blame grows by
 * atomic adds. Whoever reads the calls in progress counts those of detached libraries
 * as never returned, from another CPU: a frame is given up by compare-and-swap on its
 * start_ns.
 */
struct thread_state {
	__u32 policy; /* decision below was made under this one */
	__u32 depth;  /* open frames */
	__u32 slot;   /* of the process; 0: none yet */
	__u32 tgid;
	__u32 tid;
	__u32 uid;
	__u32 exec_gen;
	__u32 wants; /* WISH_*; 0: it is not traced */
	__u32 seq;
	__u32 switches;	 /* switch-outs noted inside calls */
	__u32 sample;	 /* calls since the last sampled one */
	__u32 out_class; /* enum blame_class of the wait that began at out_clock */
	__u64 out_clock; /* run-queue clock at the last switch-out inside a call; 0: nothing to settle */
	__u64 out_ns;	 /* the same moment, CLOCK_MONOTONIC */
	__u64 out_run_delay;
	__u64 home_low, home_high;		      /* the thread's own stack; high 0: not looked up */
	__u64 untimed_sp, untimed_ip, untimed_return; /* last call whose return is not trapped */
	__u16 untimed_op;
	__u16 is_reclaiming; /* the kernel frees memory for it before it goes on */
	__u32 sample_every;  /* as wanted, with WISH_RECORDS */
	/* Off the CPU outside of any call (away.h). */
	__u64 away_clock; /* run-queue clock when it left; 0: nothing to count */
	__u64 away_run_delay;
	__u64 away_pcount; /* of the task: the next arrival is one more */
	__u64 away_out_ns; /* the moment it left, CLOCK_MONOTONIC */
	__u32 away_class;  /* enum blame_class */
	__u32 is_settled;  /* the process is guarded, or not captured: its credentials are not looked at again */
	struct thread_wait wait;
	char comm[RECORD_COMM_BYTES];
	struct thread_account account; /* account.h */
	struct call_frame frames[CALL_DEPTH_MAX];
};
_Static_assert(sizeof(struct thread_state) < 4000, "what the kernel keeps beside it fits a page, too");

/* A process that is traced or targeted. */
struct process_entry {
	__u32 slot; /* 0: made no traced call in this incarnation */
	__u32 exec_gen;
	__u64 link_tail;     /* last link_map seen in its dynamic loader's list; 0: none yet */
	__u32 is_link_stale; /* a library was unloaded: find the tail again */
	__u32 was_in_call;   /* a thread ended inside a call */
	__u32 was_oom_told;  /* its threads are marked one by one, its end is told once */
	__u32 is_guarded;    /* as process_slot has it: from its exec, or later, until the next */
};

/* A thread that reclaims memory, or last did. */
struct reclaim_entry {
	__u64 start_ns; /* 0: over */
	__u32 scope;	/* enum oom_scope: whose memory was full */
	__u32 pad;
};

/* Who got the CPU. */
struct ran_entry {
	__u64 clock; /* run-queue clock when it was switched in */
	__u32 tgid;
	__u32 uid;
	char comm[RECORD_COMM_BYTES];
};
/* Of a CPU's ring. */
struct ran_head {
	__u64 n;	 /* entries written so far */
	__u32 tgid, tid; /* who runs now */
};
_Static_assert(sizeof(struct ran_entry) == RAN_ENTRY_BYTES, "the daemon knows its size");

/* Counters of each CPU: losses by reason, then these. */
enum counter_index { COUNTER_BYSTANDER = LOSS_COUNT, COUNTER_COUNT };

SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct process_entry);
} processes SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct process_wish);
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
	__type(key, __u32); /* tgid */
	__type(value, __u32);
} tracers SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_QUEUE); /* first in, first out: a slot rests before it is used again */
	__uint(max_entries, PROCESS_SLOTS);
	__type(value, __u32);
} free_slots SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_STACK); /* last in, first out: used cells stay at the low end */
	__uint(max_entries, PROCESS_CELLS);
	__type(value, __u32);
} free_cells SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_STACK); /* kept for overflow cells */
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

SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct behind_key);
	__type(value, struct behind_value);
} behind SEC(".maps");

/* Accounts of threads that ended, until the daemon has read them. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACCOUNTS_ENDED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct account_key);
	__type(value, struct account_record);
} accounts_ended SEC(".maps");

/* The daemon makes room (probe_waits.c). Filled by hooks that must not allocate. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITS_MAX);
	__type(key, struct wait_key);
	__type(value, struct wait_value);
} waits SEC(".maps");

/* A thread that ends is removed, and one that ended no long wait for WAKER_QUIET_S when it next waits itself. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAKERS_MAX);
	__type(key, __u32); /* tid */
	__type(value, struct waker_state);
} wakers SEC(".maps");

/*
 * The state of the Python interpreter of a process: written by the daemon, copied at fork, removed at exec and exit.
 * When full, the one not used for longest goes, and waits for its GIL are waits for a lock.
 */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PROCESS_SLOTS);
	__type(key, __u32); /* tgid */
	__type(value, struct interpreter);
} interpreters SEC(".maps");

/* Files whose paths were sent. One that is forgotten is sent again. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct file_key);
	__type(value, __u32);
} files_sent SEC(".maps");

/* Where paths are put together (path.h): for the waking hook, and for the reader of accounts, which it may interrupt.
 */
enum path_place { PATH_PLACE_WAKE, PATH_PLACE_ACCOUNT, PATH_PLACE_COUNT };

struct path_walk {
	__u64 task;			   /* addresses in the kernel */
	__u64 dentry, mnt;		   /* where it is */
	__u64 root_dentry, root_mnt;	   /* of the process */
	__u64 file, file_dentry, file_mnt; /* where it began */
	struct file_record record;
	char spare[FILE_NAME_BYTES]; /* behind the text: the verifier knows no end of it */
};

SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PATH_PLACE_COUNT);
	__type(key, __u32);
	__type(value, struct path_walk);
} path_walks SEC(".maps");

/* Memory is what is short here, so all of it is there from the beginning. */
SHARED struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* tid */
	__type(value, struct reclaim_entry);
} reclaims SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RAN_ENTRIES_MAX); /* ran_entries, when loaded: a ring of each CPU */
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
	__uint(max_entries, 1 << 20);
} calls SEC(".maps");

SHARED struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries,
	       512 << 10); /* 5 000 records: a quarter of a second of nothing but fork and exit on 8 CPUs */
} life SEC(".maps");

/* Atomic: on kernels that preempt, a program may be interrupted by another on the same CPU. */
static __always_inline void counter_add(__u32 index, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &index);

	if (value)
		__sync_fetch_and_add(value, n);
}
