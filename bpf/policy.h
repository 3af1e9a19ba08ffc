// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which process is traced: decided here and nowhere else.
 */
#pragma once

#include "maps.h"

static __always_inline bool is_tracer(__u32 tgid)
{
	return bpf_map_lookup_elem(&tracers, &tgid) != NULL;
}

/*
 * A user's processes are those that ptrace(2) would grant him: all three ids are his.
 * Costs one hash lookup (35 ns) for a process that is nobody's target.
 */
static __always_inline bool is_traced(struct task_struct *task, __u32 tgid)
{
	const struct cred *cred;
	bool wanted = trace_all || bpf_map_lookup_elem(&targets, &tgid);

	if (!wanted && n_users) {
		cred = task->cred;
		if (cred) {
			__u32 uid = cred->uid.val;

			wanted = uid == cred->euid.val && uid == cred->suid.val && bpf_map_lookup_elem(&users, &uid);
		}
	}
	return wanted && !is_tracer(tgid);
}
