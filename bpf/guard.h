// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Marks a process that no longer belongs to its user while its threads wait: it may make no further call, at which the
 * change would be noticed (process_guard()).
 */
#pragma once

#include "credentials.h"
#include "maps.h"

VERIFIED_ALONE int guard_mark(__u32 tgid, __u32 slot)
{
	struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);
	struct process_slot *s;

	if (!entry || !slot || entry->slot != slot)
		return 0;
	s = bpf_map_lookup_elem(&slots, &slot);
	if (!s)
		return 0;
	entry->is_guarded = 1;
	WRITE_ONCE(s->flags, PROCESS_GUARDED);
	return 0;
}

/*
 * guard_review() - mark the process of a thread if its credentials have changed; call before a wait is told
 *
 * A thread that exits has no memory to dump, which is no change. Its memory is read last: it may exit meanwhile.
 */
static __always_inline void guard_review(const struct thread_state *t, struct task_struct *task)
{
	if (!t->is_settled && credentials_have_changed(task, t->uid) && READ_ONCE(task->mm))
		(void)guard_mark(t->tgid, t->slot);
}
