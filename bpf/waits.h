// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Waits of threads that make calls, by resource and waker: map `waits`.
 *
 * A wait is noted when the thread leaves the CPU. The hook of the wake-up (wake.bpf.c) finds resource and waker if the
 * wait was long enough: the thread is still in its system call, so its registers and descriptors belong to the wait.
 * The wait is counted when its time is settled. The number of the thread's arrivals on a CPU (pcount) identifies the
 * wait: it does not change while the thread is off the CPU.
 */
#pragma once

#include "call_ring.h"
#include "maps.h"
#include "off.h"
#include "shares.h"
#include "stack_record.h"
#include "thread_header.h"

#define CFS_NO_QUOTA (~0ull) /* kernel/sched/sched.h: RUNTIME_INF */
#define GROUP_DEPTH_MAX 8

/* Id of the nearest control group with a CPU quota; 0: not known. */
static __always_inline __u64 quota_group(struct task_struct *task)
{
	struct task_group *group = NULL;

	if (!bpf_core_field_exists(((struct task_struct *)0)->sched_task_group) ||
	    !bpf_core_field_exists(((struct task_group *)0)->cfs_bandwidth.quota))
		return 0;
	group = BPF_CORE_READ(task, sched_task_group);
	for (int i = 0; i < GROUP_DEPTH_MAX && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != CFS_NO_QUOTA)
			return BPF_CORE_READ(group, css.cgroup, kn, id);
		group = BPF_CORE_READ(group, parent);
	}
	return 0;
}

static const struct wait_value wait_none = {};

/*
 * Row for a key; NULL: its user's share of the map is full, which is counted as a loss, or the slot belongs to another
 * process by now. @tgid: of the process in the slot
 */
static __always_inline struct wait_value *wait_row(const struct wait_key *key, __u32 tgid)
{
	struct wait_value *value = bpf_map_lookup_elem(&waits, key);

	if (value)
		return value;
	if (!share_take_wait(key->slot, tgid))
		return NULL;
	(void)bpf_map_update_elem(&waits, key, &wait_none, BPF_NOEXIST);
	value = bpf_map_lookup_elem(&waits, key);
	if (!value)
		counter_add(LOSS_WAITS, 1);
	return value;
}

/*
 * Only the waiting thread, which is part of the key, writes the row. Names are written first: the daemon skips rows
 * without a count.
 */
static __always_inline void wait_row_add(struct wait_value *value, __u64 ns)
{
	value->last_s = bpf_ktime_get_ns() / NS_IN_SECOND;
	if (ns > value->max_ns)
		value->max_ns = ns;
	__sync_fetch_and_add(&value->ns, ns);
	__sync_fetch_and_add(&value->count, 1);
}

/* Resource and waker of a wait, into the key of its row. */
static __always_inline void wait_key_cause(struct wait_key *key, const struct thread_wait *cause)
{
	key->resource = cause->resource;
	key->device = cause->device;
	key->kind = cause->kind;
	key->waker_tgid = cause->waker_tgid;
	key->waker_tid = cause->waker_tid;
}

/* @comm: aligned to 8 bytes, as in struct thread_wait */
static __always_inline void wait_row_waker(struct wait_value *value, __u32 uid, const char comm[RECORD_COMM_BYTES])
{
	value->waker_uid = uid;
	__builtin_memcpy(value->waker_comm, __builtin_assume_aligned(comm, 8), sizeof(value->waker_comm));
}

/* Names of resource and waker, into the row. @tgid: process of the thread that waited */
static __always_inline void wait_row_cause(struct wait_value *value, const struct thread_wait *cause, __u32 tgid)
{
	wait_row_waker(value, cause->waker_uid, cause->waker_comm);
	value->is_waker_guarded = cause->is_waker_guarded;
	__builtin_memcpy(value->name, cause->name, sizeof(value->name));
	value->name_hash = cause->name_hash;
	value->tgid = tgid;
}

/* Sends a wait between calls whose stack was taken. */
VERIFIED_ALONE int wait_tell(const struct thread_state *t, const struct wait_key *key, __u64 stack, __u64 ns)
{
	struct wait_record *r;
	__u64 unread;

	if (!t || !key)
		return 0;
	unread = calls_unread();
	if (!calls_have_room(unread, t->slot, sizeof(*r)))
		return calls_lost(t->slot);
	r = bpf_ringbuf_reserve(&calls, sizeof(*r), 0);
	if (!r)
		return calls_lost(t->slot);
	r->time_ns = bpf_ktime_get_ns();
	thread_header_fill(&r->header, t, RECORD_WAIT);
	r->stack = stack;
	r->ns = ns;
	r->key = *key;
	bpf_ringbuf_submit(r, calls_wake_flags(unread));
	return 0;
}

/*
 * Counts waits that were kept back. They had no waker: the thread that held the GIL meanwhile, if known, is named
 * instead.
 */
static __always_inline void carried_count(struct thread_state *t, struct wait_key *key)
{
	struct thread_wait *w = &t->wait;
	struct wait_value *value;

	key->tid = t->tid;
	key->slot = t->slot;
	key->kind = RESOURCE_GIL;
	key->op = w->carried_op;
	key->class = w->carried_class;
	key->resource = w->carried_resource;
	key->waker_tid = w->carried_holder;
	key->waker_tgid = w->carried_holder ? t->tgid : 0;
	value = wait_row(key, t->tgid);
	if (value && w->carried_holder)
		wait_row_waker(value, t->uid, w->carried_comm);
	if (value)
		wait_row_add(value, w->carried_ns);
	if (value && t->carried_stack && !key->op)
		wait_tell(t, key, t->carried_stack, w->carried_ns);
	__builtin_memset(key, 0, sizeof(*key));
	w->carried_ns = 0;
	t->carried_stack = 0;
}

/* wait_settle() - the thread leaves its process: count waits that were kept back */
VERIFIED_ALONE int wait_settle(struct thread_state *t)
{
	struct wait_key key = {};

	if (t && t->wait.carried_ns && t->slot && t->slot != CALIBRATION_SLOT)
		carried_count(t, &key);
	return 0;
}

/*
 * A thread that wants the GIL wakes up every few milliseconds to request it; only the last of these waits is ended by
 * the thread that releases it. So waits without a waker are kept back, to be counted with the last one. @key: zero
 * before and after. Return: whether this wait was kept back
 */
static __always_inline bool wait_carry(struct thread_state *t, struct wait_key *key, __u32 op, __u32 class, __u64 *ns,
				       bool is_told)
{
	struct thread_wait *w = &t->wait;
	bool is_gil = is_told && w->kind == RESOURCE_GIL, is_first = !w->carried_ns;

	if (!is_first && !(is_gil && w->carried_op == op && w->carried_class == class &&
			   w->carried_resource == w->resource && w->carried_calls == t->account.calls)) {
		carried_count(t, key);
		is_first = true;
	}
	if (!is_first) {
		*ns += w->carried_ns;
		w->carried_ns = 0;
		if (!t->away_stack)
			t->away_stack = t->carried_stack;
		t->carried_stack = 0;
	}
	if (!is_gil || w->waker_tid)
		return false;
	w->carried_ns = *ns;
	w->carried_resource = w->resource;
	w->carried_calls = t->account.calls;
	w->carried_class = class;
	w->carried_op = op;
	t->carried_place = t->away_place;
	t->carried_stack = t->away_stack;
	w->carried_holder = is_first || w->carried_holder == w->holder_tid ? w->holder_tid : 0;
	__builtin_memcpy(w->carried_comm, w->waker_comm, sizeof(w->carried_comm));
	return true;
}

/*
 * wait_end_long() - count a wait that ended, or waits before it that were kept back; runs for the thread itself
 * @op: operation of the enclosing call at depth 0; 0: between calls
 * @class: enum blame_class
 * @ns: time blocked; for BLAME_QUOTA: time throttled
 */
VERIFIED_ALONE int wait_end_long(struct thread_state *t, __u32 op, __u32 class, __u64 ns)
{
	struct wait_key key = {};
	struct wait_value *value;
	bool is_told;

	if (!t || class == BLAME_RUNNABLE || !t->slot || t->slot == CALIBRATION_SLOT)
		return 0;
	is_told = class != BLAME_QUOTA && t->wait.woken_pcount == t->wait.pcount;
	if (wait_carry(t, &key, op, class, &ns, is_told) || ns < WAIT_LEAST_NS)
		return 0;
	key.tid = t->tid;
	key.slot = t->slot;
	key.op = op;
	key.class = class;
	if (class == BLAME_QUOTA) {
		key.resource = quota_group(bpf_get_current_task_btf());
		key.kind = key.resource ? RESOURCE_CGROUP : RESOURCE_NONE;
	}
	if (is_told)
		wait_key_cause(&key, &t->wait);
	value = wait_row(&key, t->tgid);
	if (value && is_told)
		wait_row_cause(value, &t->wait, t->tgid);
	if (value)
		wait_row_add(value, ns);
	if (value && t->away_stack && !op)
		wait_tell(t, &key, t->away_stack, ns);
	return 0;
}

/* The same, of any wait: most are short, and ended by one comparison. */
static __always_inline void wait_end(struct thread_state *t, __u32 op, __u32 class, __u64 ns)
{
	if (ns >= WAIT_LEAST_NS || t->wait.carried_ns)
		wait_end_long(t, op, class, ns);
}

/* The part of an interval to pass to wait_end(). */
static __always_inline __u64 wait_ns(const struct off_parts *parts, __u32 class)
{
	return class == BLAME_QUOTA ? parts->runnable_ns : parts->blocked_ns;
}
