// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which process is traced: decided here and nowhere else.
 */
#pragma once

#include "credentials.h"
#include "maps.h"

static __always_inline bool is_tracer(__u32 tgid)
{
	return bpf_map_lookup_elem(&tracers, &tgid) != NULL;
}

/* A user's processes are those that ptrace(2) would grant that user. */
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

/* Costs one hash lookup (35 ns) for a process that is nobody's target. */
static __always_inline bool is_traced(struct task_struct *task, __u32 tgid)
{
	bool wanted = everyone.flags || bpf_map_lookup_elem(&targets, &tgid) || user_wish(task);

	return wanted && !is_tracer(tgid);
}

/* What all who may want something of a traced process want of it. */
static __always_inline void wish_of(struct task_struct *task, __u32 tgid, struct process_wish *ret_wish)
{
	const struct process_wish *more;

	*ret_wish = everyone;
	more = bpf_map_lookup_elem(&targets, &tgid);
	if (more)
		process_wish_add(ret_wish, more);
	more = user_wish(task);
	if (more)
		process_wish_add(ret_wish, more);
}
