// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Waits of threads that make calls, by what they were for and by who ended them: map `waits`.
 *
 * A wait is noted when the thread leaves the CPU. Its cause is looked up by the waker (wake.bpf.c), only when the wait
 * was long enough: the thread is still in its system call then, so its registers and descriptors are those of the wait.
 * The wait is counted when it is settled, like its time. The number of the thread's arrivals on a CPU tells one wait
 * from another: it does not change while the thread is away.
 */
#pragma once

#include "maps.h"
#include "off.h"

#define CFS_NO_QUOTA (~0ull) /* kernel/sched/sched.h: RUNTIME_INF */
#define GROUP_DEPTH_MAX 8
#define NS_IN_SECOND 1000000000ull

/* The nearest control group with a quota of CPU time; its id, 0: not known. */
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

/* Names first: without a count it is not read. */
static __always_inline void wait_count(const struct thread_wait *wait, const struct wait_key *key, bool is_told,
				       __u64 ns)
{
	struct wait_value *value = bpf_map_lookup_elem(&waits, key);

	if (!value) {
		(void)bpf_map_update_elem(&waits, key, &wait_none, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&waits, key);
	}
	if (!value) {
		counter_add(LOSS_WAITS, 1);
		return;
	}
	if (is_told) {
		value->waker_uid = wait->waker_uid;
		__builtin_memcpy(value->waker_comm, wait->waker_comm, sizeof(value->waker_comm));
		__builtin_memcpy(value->name, wait->name, sizeof(value->name));
	}
	value->last_s = bpf_ktime_get_ns() / NS_IN_SECOND;
	/* By the waiting thread alone, which is part of the key. */
	if (ns > value->max_ns)
		value->max_ns = ns;
	__sync_fetch_and_add(&value->ns, ns);
	__sync_fetch_and_add(&value->count, 1);
}

/*
 * wait_end() - count a wait that is over, if it was long; on behalf of the thread itself
 * @op:    of the call at depth 0 that it was in; 0: between calls
 * @class: enum blame_class
 * @ns:    blocked; of BLAME_QUOTA: ready and throttled
 */
VERIFIED_ALONE int wait_end(struct thread_state *t, __u32 op, __u32 class, __u64 ns)
{
	struct wait_key key = {};
	bool is_told;

	if (!t || ns < WAIT_LEAST_NS || class == BLAME_RUNNABLE || !t->slot || t->slot == CALIBRATION_SLOT)
		return 0;
	is_told = class != BLAME_QUOTA && t->wait.woken_pcount == t->wait.pcount;
	key.tid = t->tid;
	key.slot = t->slot;
	key.op = op;
	key.class = class;
	if (class == BLAME_QUOTA) {
		key.resource = quota_group(bpf_get_current_task_btf());
		key.kind = key.resource ? RESOURCE_CGROUP : RESOURCE_NONE;
	}
	if (is_told) {
		key.resource = t->wait.resource;
		key.device = t->wait.device;
		key.kind = t->wait.kind;
		key.waker_tgid = t->wait.waker_tgid;
		key.waker_tid = t->wait.waker_tid;
	}
	wait_count(&t->wait, &key, is_told, ns);
	return 0;
}

/* The part of an interval that wait_end() counts. */
static __always_inline __u64 wait_ns(const struct off_parts *parts, __u32 class)
{
	return class == BLAME_QUOTA ? parts->runnable_ns : parts->blocked_ns;
}
