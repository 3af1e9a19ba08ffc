// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decides which processes are traced; no other file does.
 */
#pragma once

#include "credentials.h"
#include "maps.h"

static __always_inline bool is_tracer(__u32 tgid)
{
	return bpf_map_lookup_elem(&tracers, &tgid) != NULL;
}

/* The wish for all processes of a user; these are the processes that ptrace(2) would let that user inspect. */
static __always_inline const struct process_wish *user_wish(struct task_struct *task)
{
	const struct cred *cred = n_users ? task->real_cred : NULL;
	const struct process_wish *wish;
	__u32 uid;

	if (!cred)
		return NULL;
	uid = cred->uid.val;
	wish = bpf_map_lookup_elem(&users, &uid);
	return wish && credentials_are_own(task) ? wish : NULL;
}

/* Costs one hash lookup (35 ns) for a process without a wish of its own. */
static __always_inline bool is_traced(struct task_struct *task, __u32 tgid)
{
	bool wanted = everyone.flags || bpf_map_lookup_elem(&targets, &tgid) || user_wish(task);

	return wanted && !is_tracer(tgid);
}

/* The union of all wishes for a traced process. */
static __always_inline void wish_of(struct task_struct *task, __u32 tgid, struct process_wish *ret_wish)
{
	const struct target_entry *target;
	const struct process_wish *more;

	*ret_wish = everyone;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (target)
		process_wish_add(ret_wish, &target->wish);
	more = user_wish(task);
	if (more)
		process_wish_add(ret_wish, more);
}
