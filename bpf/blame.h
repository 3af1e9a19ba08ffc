// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where a thread's time off the CPU went, settled late: at its next switch-out, or when
 * the call returns. `off` = last arrival - switch-out; what the scheduler added to
 * run_delay meanwhile was spent ready, the rest blocked. Switch-in events are not
 * needed, so that a lost one costs nothing.
 */
#pragma once

#include "abi.h"
#include "account.h"
#include "off.h"
#include "repeat.h"
#include "waits.h"

#define BEHIND_FLOOR_NS 10000 /* shorter waits name nobody: a wake-up alone takes that long */
#define SETTLE_TRIES 4

static __always_inline __u64 rq_clock(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	struct rq *rq;

	if (!cfs_rq)
		return 0;
	rq = cfs_rq->rq;
	return rq ? rq->clock : 0;
}

struct behind_walk {
	__u64 next;  /* entry to look at, counted from the ring's beginning */
	__u64 until; /* what came later is attributed already */
	__u64 from;  /* the wait began here */
	__u32 slot;
	__u32 is_between; /* calls: 1, else 0 */
};

static const struct behind_value behind_none = {};

/* Return: 1 when the wait is attributed as far as the ring goes. */
VERIFIED_ALONE int behind_charge(struct behind_walk *walk)
{
	struct behind_value *value;
	struct behind_key key = {};
	struct ran_entry *entry;
	__u64 begin, ns;
	__u32 at;

	if (!walk || !walk->next)
		return 1;
	walk->next--;
	at = walk->next & (ran_entries - 1);
	entry = bpf_map_lookup_elem(&ran, &at);
	if (!entry)
		return 1;
	begin = entry->clock;
	if (begin >= walk->until)
		return 0; /* the thread's own arrival */
	if (begin < walk->from)
		begin = walk->from;
	ns = walk->until - begin;
	walk->until = begin;
	key.slot = walk->slot;
	key.is_between = walk->is_between;
	key.tgid = entry->tgid;
	if (key.tgid && !bpf_map_lookup_elem(&tracers, &key.tgid)) {
		value = bpf_map_lookup_elem(&behind, &key);
		if (!value) {
			(void)bpf_map_update_elem(&behind, &key, &behind_none, BPF_NOEXIST);
			value = bpf_map_lookup_elem(&behind, &key);
		}
		if (value) {
			__sync_fetch_and_add(&value->ns, ns);
			/* Who it was last: before exec(2) it had its parent's name, and a process before it may have
			 * had its number. The one never without the other: whose it is says who is told its name. */
			value->uid = entry->uid;
			__builtin_memcpy(value->comm, entry->comm, sizeof(value->comm));
		}
	}
	return begin <= walk->from;
}

static long behind_step(__u32 i, struct behind_walk *walk)
{
	(void)i;
	return behind_charge(walk) ? 1 : 0;
}

/* The ring is complete: nothing else is switched in on a CPU while the thread runs on it. */
VERIFIED_ALONE int behind_add(__u32 slot, __u64 from, __u64 until, __u32 is_between)
{
	struct behind_walk walk = { .until = until, .from = from, .slot = slot, .is_between = is_between };
	__u32 zero = 0;
	const struct ran_head *head;

	head = bpf_map_lookup_elem(&ran_head, &zero);
	if (!head)
		return 0;
	walk.next = head->n;
	repeat(ran_entries, RAN_ENTRIES_MAX, behind_step, &walk);
	/* Of a ring that was never full nothing is gone: who ran before the hook was there is nobody's wait. */
	if (walk.until > walk.from && head->n > ran_entries)
		counter_add(LOSS_BEHIND, 1);
	return 0;
}

/* A finished interval off the CPU. */
struct off_interval {
	__u64 out_ns; /* when it began */
	__u64 ready_ns, blocked_ns;
	__u32 ready; /* enum blame_class of the two */
	__u32 blocked;
};

VERIFIED_ALONE int frame_blame(struct call_frame *f, const struct off_interval *off)
{
	__u32 ready, blocked;

	if (!f || !off)
		return 0;
	ready = READ_ONCE(off->ready);
	blocked = READ_ONCE(off->blocked);
	barrier(); /* what is checked is what is used */
	if (ready >= BLAME_COUNT || blocked >= BLAME_COUNT)
		return 0;
	/* Begun before the call, or while it was being set up: not its own. */
	if (!f->start_ns || f->start_ns > off->out_ns)
		return 0;
	if (off->ready_ns)
		__sync_fetch_and_add(&f->blame_ns[ready], off->ready_ns);
	if (off->blocked_ns)
		__sync_fetch_and_add(&f->blame_ns[blocked], off->blocked_ns);
	f->is_dirty = 1;
	return 0;
}

/*
 * settle() - give the open frames the parts of the interval noted at the last switch-out
 * @arrival, @delay: of the thread's sched_info, now
 * @end_ns: of the innermost call when it is just returning, else 0: intervals begun later are not its own
 */
VERIFIED_ALONE int settle(struct thread_state *t, __u64 arrival, __u64 delay, __u64 end_ns)
{
	__u64 out = 0, run_delay = 0;
	struct off_interval off = {};
	struct off_parts parts;
	__u32 class = 0, depth, i;
	bool is_between;

	if (!t)
		return 0;
	depth = t->depth;
	for (i = 0; i < SETTLE_TRIES; i++) {
		out = READ_ONCE(t->out_clock);
		if (!out)
			return 0;
		run_delay = READ_ONCE(t->out_run_delay);
		off.out_ns = READ_ONCE(t->out_ns);
		class = READ_ONCE(t->out_class);
		account_change(t);
		/* Whoever takes the clock settles; the hook may have been here since. */
		if (__sync_val_compare_and_swap(&t->out_clock, out, 0) == out)
			break;
		account_change(t);
	}
	if (i == SETTLE_TRIES)
		return 0;
	if (arrival <= out) {
		account_change(t);
		return 0; /* it never left: switched to itself */
	}
	parts = off_split(arrival - out, delay - run_delay, class);
	off.ready_ns = parts.runnable_ns;
	off.blocked_ns = parts.blocked_ns;
	off.ready = class == BLAME_QUOTA ? BLAME_QUOTA : BLAME_RUNNABLE;
	off.blocked = class;
	if (end_ns && off.out_ns > end_ns)
		depth--;
	for (i = 0; i < CALL_DEPTH_MAX; i++)
		if (i < depth)
			frame_blame(&t->frames[i], &off);
	/* Before the outermost has begun, or when it is just over: between calls. */
	is_between = !depth || READ_ONCE(t->frames[0].start_ns) - 1 >= off.out_ns;
	if (is_between) {
		account_away(t, off.ready, off.ready_ns);
		account_away(t, off.blocked, off.blocked_ns);
	}
	account_change(t);
	if (off.ready == BLAME_RUNNABLE && off.ready_ns >= BEHIND_FLOOR_NS)
		behind_add(t->slot, arrival - off.ready_ns, arrival, is_between);
	wait_end(t, is_between ? 0 : t->frames[0].op, off.blocked,
		 off.blocked == BLAME_QUOTA ? off.ready_ns : off.blocked_ns);
	return 0;
}
