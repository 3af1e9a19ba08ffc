// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether a process may be stopped while its library is attached: only if another process is certain to resume it,
 * whatever the process has executed since the request, and whatever happens to the daemon and its client.
 */
#pragma once

#include "credentials.h"
#include "record.h"
#include "repeat.h"

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

struct ancestry {
	struct task_struct *task; /* the next ancestor */
	const struct cred *own;	  /* of the current process, which is open to its user */
	__u32 uid;
	__u32 guardian;
	bool is_guarded;
};

/*
 * Whether an ancestor is open to the user as the current process is. It is usually in the same user namespace, in the
 * initial one or in one directly below that. Others count as closed: nobody nests them so deep.
 */
static __always_inline bool is_open_ancestor(const struct ancestry *a)
{
	const struct cred *cred = a->task->real_cred;
	const struct user_namespace *space;

	if (!cred || !credentials_are_of(cred, a->uid) || !credentials_are_dumpable(a->task))
		return false;
	space = cred->user_ns;
	return space && ((space->level && space == a->own->user_ns) ||
			 credentials_are_within(cred, space, a->uid, credentials_capabilities(a->uid)));
}

static long ancestor_step(__u32 i, struct ancestry *a)
{
	struct task_struct *task = a->task;

	(void)i;
	if (!task)
		return 1;
	if ((__u32)task->tgid == a->guardian) {
		struct task_struct *second = task->real_parent;

		a->is_guarded = second && is_ready_guardian(task, a->uid) && is_ready_guardian(second, a->uid);
		return 1;
	}
	if (!is_open_ancestor(a))
		return 1;
	a->task = task->real_parent;
	return 0;
}

/*
 * hold_is_guarded() - whether the current process may be stopped: it has a guardian, whose parent is the second
 * guardian. The user may also inspect all processes between it and the guardian: the guardian finds its descendants in
 * /proc. A process leaves the tree below the guardian only when the guardian ends.
 */
VERIFIED_ALONE int hold_is_guarded(__u32 hold_uid, __u32 guardian)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ancestry a = { .task = task->real_parent, .own = task->real_cred, .guardian = guardian };

	if (!a.own || !hold_is_open(task, hold_uid, &a.uid))
		return 0;
	repeat(ANCESTORS_MAX, ANCESTORS_MAX, ancestor_step, &a);
	return a.is_guarded;
}
