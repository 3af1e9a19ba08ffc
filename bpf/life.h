// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Records of process life: never sampled, on a ring of their own that wakes the daemon.
 */
#pragma once

#include "credentials.h"
#include "frames.h"
#include "shares.h"

/*
 * Callers return at once if it is NULL: the verifier of 6.1 loses track of a record across other conditions.
 * @is_kept: has room whatever its user's share: what comes seldom, however many processes the user has
 */
static __always_inline struct life_record *life_new(struct task_struct *task, __u32 type, bool is_kept)
{
	struct task_struct *leader = task->group_leader;
	const struct cred *cred = task->real_cred;
	__u32 uid = cred ? cred->uid.val : 0, flags = credentials_are_own(task) ? 0 : LIFE_GUARDED, share;
	__u64 start_boot_ns = leader ? leader->start_boottime : 0;
	struct life_record *r;

	share = share_take_life(uid, flags, is_kept);
	if (!share)
		return NULL;
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		share_lose_life(uid, share);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->time_ns = bpf_ktime_get_ns();
	r->start_boot_ns = start_boot_ns;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->uid = uid;
	r->flags = flags;
	r->share = share;
	r->type = type;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), leader ? leader->comm : task->comm);
	return r;
}
