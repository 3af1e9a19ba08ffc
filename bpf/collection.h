// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Garbage collections of Python in threads that make calls: rows of the map `waits` with class ON_CPU.
 *
 * The time of a collection is the growth of its thread's CPU time in the account, at the place where it began: between
 * calls, or in the call at depth 0. So it never exceeds that part of the account. Time off the CPU keeps its class, and
 * calls made by a finalizer count as calls.
 */
#pragma once

#include "away.h"

/*
 * Bytes by which the stack may grow within a collection's own frame; an entry deeper than that is inside the
 * collection.
 */
#define COLLECTION_FRAME_BYTES 32
#define COLLECTION_TRIES 4

/* A collection in progress. `clock` is collection_clock() + 1; the program that advances it counts the time. */
struct collection {
	__u64 clock; /* counted up to here; 0: no collection in progress */
	__u64 begin; /* `clock` at the begin */
	__u64 sp;
	__u64 since_ns;	  /* of the thread's account; another value: another program was executed */
	__u32 collectors; /* value at the begin; another value now: the end may have been missed */
	__u32 op;	  /* of the call at depth 0; 0: between calls; so is `seq` */
	__u32 seq;
	__u32 pad;
};

SHARED struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct collection);
} collections SEC(".maps");

/* Sequence number of the open call at depth 0; 0: none is open. */
static __always_inline __u32 collection_seq(struct thread_state *t)
{
	return t->depth ? t->frames[0].seq : 0;
}

/*
 * CPU time so far in the call at depth 0, or, outside of calls, the sum of CPU time between calls.
 * @off_ns: time off the CPU in that call; between calls: of a wait that is not in the account yet
 */
VERIFIED_ALONE __u64 collection_clock(struct thread_state *t, __u64 now, __u64 off_ns)
{
	__u64 ns;
	__u32 i;

	if (!t)
		return 0;
	if (t->depth) {
		ns = READ_ONCE(t->frames[0].start_ns);
		return ns ? now - ns - off_ns : 0; /* 0: its library was detached */
	}
	ns = now - t->account.since_ns - t->account.rest.ns - off_ns;
	for (i = 0; i < ACCOUNT_OPS; i++)
		ns -= t->account.ops[i].ns;
	for (i = 0; i < BLAME_COUNT; i++)
		ns -= t->account.away_ns[i];
	return ns;
}

/*
 * collection_clock() of the current thread, now. The last wait is settled first. If the thread leaves the CPU between
 * settling and reading the clock, the reading is repeated.
 */
VERIFIED_ALONE __u64 collection_clock_own(struct thread_state *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 clock = 0, off_ns, pcount;
	__u32 i, k;

	if (!t)
		return 0;
	for (i = 0; i < COLLECTION_TRIES; i++) {
		pcount = task->sched_info.pcount;
		barrier();
		if (t->depth)
			settle(t, task->sched_info.last_arrival, task->sched_info.run_delay, 0);
		else if (t->away_clock)
			away_end(t, task->sched_info.last_arrival, task->sched_info.run_delay, task->sched_info.pcount);
		off_ns = 0;
		for (k = 0; k < BLAME_COUNT; k++)
			off_ns += t->depth ? READ_ONCE(t->frames[0].blame_ns[k]) : 0;
		clock = collection_clock(t, bpf_ktime_get_ns(), off_ns);
		barrier();
		if (READ_ONCE(task->sched_info.pcount) == pcount)
			break;
	}
	return clock;
}

/* @n: number of collections that begin; @longest_ns: duration of one that ended */
VERIFIED_ALONE int collection_count(struct thread_state *t, struct collection *c, __u64 ns, __u64 longest_ns, __u32 n)
{
	struct wait_key key = {};
	struct wait_value *value;

	if (!t || !c)
		return 0;
	key.tid = t->tid;
	key.slot = t->slot;
	key.op = c->op;
	key.class = BLAME_ON_CPU;
	key.kind = RESOURCE_GC;
	value = wait_row(&key, t->tgid);
	if (!value)
		return 0;
	value->last_s = bpf_ktime_get_ns() / NS_IN_SECOND;
	if (longest_ns > value->max_ns)
		value->max_ns = longest_ns;
	__sync_fetch_and_add(&value->ns, ns);
	__sync_fetch_and_add(&value->count, n);
	return 0;
}

/* Whether the collection is still in progress, as far as known. */
static __always_inline bool collection_is_open(const struct collection *c, const struct thread_state *t)
{
	return c->clock && c->since_ns == t->account.since_ns && c->collectors == collectors;
}

/* Count the time of a collection since it was last counted. @is_over: the collection ends now */
static __always_inline void collection_move(struct thread_state *t, struct collection *c, __u64 clock, bool is_over)
{
	__u64 from, i;

	for (i = 0; i < COLLECTION_TRIES; i++) {
		from = READ_ONCE(c->clock);
		if (!from || (!is_over && clock <= from))
			return;
		if (__sync_val_compare_and_swap(&c->clock, from, is_over ? 0 : clock) == from)
			break;
	}
	if (i < COLLECTION_TRIES && clock)
		collection_count(t, c, clock > from ? clock - from : 0,
				 is_over && clock > c->begin ? clock - c->begin : 0, 0);
}
