// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether a process may be stopped while its library is attached: only if another process is certain to resume it,
 * whatever the process has executed since the request, and whatever happens to the daemon and its client.
 */
#pragma once

#include "credentials.h"
#include "record.h"

#define ANCESTORS_MAX 64

/* Whether the wish covers a process. A wish of root covers the processes of all users. */
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
 * Whether an ancestor can resume its descendants: it belongs to their user, runs, and inherits orphans. It announces
 * that it guards by its parent-death signal (PR_SET_PDEATHSIG): SIGCONT.
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
 * hold_is_guarded() - whether the current process may be stopped: it has a guardian, whose parent is the second
 * guardian. The user may also inspect all processes between it and the guardian: the guardian finds its descendants in
 * /proc. A process leaves the tree below the guardian only when the guardian ends.
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
