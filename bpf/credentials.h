// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether a user may inspect a process and signal it: the rule of ptrace(2) for a user without CAP_SYS_PTRACE. All
 * values are read at the time of the check.
 *
 * Group ids are not compared: a set-group-ID program is not dumpable. Where the kernel's type
 * information lacks a field, the answer is no.
 */
#pragma once

#include "kernel.h"

#define DUMPABLE_MASK 0x3ul /* MMF_DUMPABLE_MASK; include/linux/mm_types.h */
#define DUMPABLE_USER 1ul   /* SUID_DUMP_USER */
#define CAPABILITIES_NONE 0ull
#define CAPABILITIES_ALL (~0ull)
#define USER_NAMESPACE_DEPTH_MAX 33 /* kernel/user_namespace.c: levels above 32 are refused */

static __always_inline bool credentials_are_dumpable(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	unsigned long flags = 0;

	if (!mm)
		return false;
	if (bpf_core_field_exists(((struct mm_struct___bitmap *)0)->flags.__mm_flags))
		flags = ((struct mm_struct___bitmap *)mm)->flags.__mm_flags[0];
	else if (bpf_core_field_exists(((struct mm_struct___word *)0)->flags))
		flags = ((struct mm_struct___word *)mm)->flags;
	return (flags & DUMPABLE_MASK) == DUMPABLE_USER;
}

/*
 * credentials_are_within() - whether a process has no capability that its user lacks
 * @space: its user namespace, or the outermost one above it but for the initial one
 *
 * In the initial user namespace its capabilities are compared. In any other one they count there alone, and the user
 * who made the outermost of these namespaces has them all.
 */
static __always_inline bool credentials_are_within(const struct cred *cred, const struct user_namespace *space,
						   __u32 uid, __u64 capabilities)
{
	const struct cred___words *words = (const struct cred___words *)cred;
	__u64 permitted = CAPABILITIES_ALL;

	if (space->level)
		return space->level == 1 && (!uid || space->owner.val == uid);
	/* Direct reads: a helper's would double the cost of a task switch. */
	if (bpf_core_field_exists(cred->cap_permitted.val))
		permitted = cred->cap_permitted.val;
	else if (bpf_core_field_exists(words->cap_permitted.cap))
		permitted = words->cap_permitted.cap[0] | (__u64)words->cap_permitted.cap[1] << 32;
	return !(permitted & ~capabilities);
}

static __always_inline bool credentials_are_no_more(const struct cred *cred, __u32 uid, __u64 capabilities)
{
	struct user_namespace *space = cred->user_ns;

	for (int i = 0; i < USER_NAMESPACE_DEPTH_MAX && space && space->level > 1; i++)
		space = space->parent;
	return space && credentials_are_within(cred, space, uid, capabilities);
}

static __always_inline bool credentials_are_of(const struct cred *cred, __u32 uid)
{
	return cred->uid.val == uid && cred->euid.val == uid && cred->suid.val == uid;
}

/*
 * credentials_open_to() - whether the process of a task is open to a user
 * @uid:          the user; real, effective and saved uid of the task have to be this one
 * @capabilities: the user's own, CAPABILITIES_NONE for an ordinary one
 */
static __always_inline bool credentials_open_to(struct task_struct *task, __u32 uid, __u64 capabilities)
{
	const struct cred *cred = task->real_cred;

	return cred && credentials_are_of(cred, uid) && credentials_are_dumpable(task) &&
	       credentials_are_no_more(cred, uid, capabilities);
}

/* Root counts as having all capabilities: its bounding set also limits every program that it starts. */
static __always_inline __u64 credentials_capabilities(__u32 uid)
{
	return uid ? CAPABILITIES_NONE : CAPABILITIES_ALL;
}

/*
 * Without memory, as a process that exits: what the kernel itself goes by, older ones by the ids and capabilities
 * alone.
 */
static __always_inline bool credentials_are_dumpable_yet(struct task_struct *task)
{
	if (task->mm)
		return credentials_are_dumpable(task);
	return !bpf_core_field_exists(task->user_dumpable) || BPF_CORE_READ_BITFIELD(task, user_dumpable);
}

/* credentials_are_own() - whether a process may be inspected by its own user */
static __always_inline bool credentials_are_own(struct task_struct *task)
{
	const struct cred *cred = task->real_cred;
	__u32 uid;

	if (!cred)
		return false;
	uid = cred->uid.val;
	return credentials_are_of(cred, uid) && credentials_are_dumpable_yet(task) &&
	       credentials_are_no_more(cred, uid, credentials_capabilities(uid));
}

/*
 * Whether a process is hidden from its own user where /proc hides other users' processes (hidepid). Nothing of root's
 * is told by its user id to anybody else, so it is not looked at.
 */
static __always_inline bool credentials_are_guarded(struct task_struct *task, __u32 uid)
{
	return uid && !credentials_are_own(task);
}

/*
 * Checked at each call and after each long wait of a process that belonged to its user. Capabilities need no check:
 * they never grow without a change of ids or dumpability.
 */
static __always_inline bool credentials_have_changed(struct task_struct *task, __u32 uid)
{
	const struct cred *cred = task->real_cred;

	return !cred || !credentials_are_of(cred, uid) || !credentials_are_dumpable(task);
}
