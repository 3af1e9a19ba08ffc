// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Records of process life: never sampled, on a ring of their own that wakes the daemon.
 */
#pragma once

#include "credentials.h"
#include "frames.h"

/* Callers return at once if it is NULL: the verifier of 6.1 loses track of a record across other conditions. */
static __always_inline struct life_record *life_new(struct task_struct *task, __u32 type)
{
	struct task_struct *leader = task->group_leader;
	const struct cred *cred = task->real_cred;
	struct life_record *r;

	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		counter_add(LOSS_LIFE_FULL, 1);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->time_ns = bpf_ktime_get_ns();
	r->start_boot_ns = leader ? leader->start_boottime : 0;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->uid = cred ? cred->uid.val : 0;
	r->flags = credentials_are_own(task) ? 0 : LIFE_GUARDED;
	r->type = type;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), leader ? leader->comm : task->comm);
	return r;
}
