// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether a process may be stopped while its library is attached: only where somebody is sure to let it go on,
 * whatever it has become since that was wished for, and whatever becomes of the daemon and of its client.
 */
#pragma once

#include "credentials.h"
#include "record.h"

#define ANCESTORS_MAX 64

/* Whether a process is one that the wish is about. Root's wish is about everybody's. */
static __always_inline bool hold_is_open(struct task_struct *task, __u32 hold_uid, __u32 *ret_uid)
{
	const struct cred *cred = task->real_cred;
	__u32 uid;

	if (!cred)
		return false;
	uid = cred->uid.val;
	*ret_uid = uid;
	return (!hold_uid || uid == hold_uid) && credentials_open_to(task, uid, credentials_capabilities(uid));
}

/*
 * Whether an ancestor can let its descendants go on: it is of their user, it runs, and inherits their orphans. What it
 * asks to be sent at its parent's end is its word: SIGCONT as long as it guards.
 */
static __always_inline bool is_ready_guardian(struct task_struct *task, __u32 uid)
{
	struct task_struct *leader = task->group_leader;
	struct signal_struct *signal = task->signal;
	const struct cred *cred = task->real_cred;

	if (!leader || !signal || !cred || cred->uid.val != uid || cred->euid.val != uid)
		return false;
	return BPF_CORE_READ_BITFIELD(signal, is_child_subreaper) && leader->pdeath_signal == SIGCONT &&
	       !(leader->__state & TASK_STOPPED_OR_TRACED);
}

/*
 * hold_is_guarded() - whether the current process may be stopped: there are a guardian and, as its parent, a second one
 * Processes between it and its guardian are open to their user, too: the guardian finds the way up from it in /proc.
 * A process leaves the tree below the guardian only when that ends.
 */
VERIFIED_ALONE int hold_is_guarded(__u32 hold_uid, __u32 guardian)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 uid = 0;

	if (!hold_is_open(task, hold_uid, &uid))
		return 0;
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		task = task->real_parent;
		if (!task)
			return 0;
		if ((__u32)task->tgid == guardian) {
			struct task_struct *second = task->real_parent;

			return second && is_ready_guardian(task, uid) && is_ready_guardian(second, uid);
		}
		if (!credentials_open_to(task, uid, credentials_capabilities(uid)))
			return 0;
	}
	return 0;
}
