// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Life of traced processes: exec, fork, exit. Never sampled; on a ring of its own that wakes the daemon. An event of a
 * process that is not traced costs two or three hash lookups.
 */
#include "away.h"
#include "hold.h"
#include "life.h"
#include "stack_maps.h"

static __always_inline __u32 is_named(__u32 tgid)
{
	return bpf_map_lookup_elem(&targets, &tgid) ? LIFE_NAMED : 0;
}

static __always_inline void slot_end(__u32 slot, __u32 exit_code)
{
	struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);

	if (!slot || !s)
		return;
	s->exit_code = exit_code;
	s->gone_ns = bpf_ktime_get_ns();
	WRITE_ONCE(s->state, PROCESS_SLOT_GONE);
}

/* The thread leaves its process or program: its waits no longer count for the slot. */
static __always_inline void thread_leave(struct thread_state *t, struct task_struct *task)
{
	if (t->away_clock)
		away_end(t, task->sched_info.last_arrival, task->sched_info.run_delay, task->sched_info.pcount);
	wait_settle(t);
	account_end(t, task->se.sum_exec_runtime);
	t->account.since_ns = 0;
	t->slot = 0;
}

/* Ends the hold wish of a process that now runs as another user; so its later children are not stopped either. */
static __always_inline void hold_review(struct task_struct *task, __u32 tgid)
{
	struct target_entry *target = bpf_map_lookup_elem(&targets, &tgid);
	__u32 uid = 0;

	if (target && target->wish.flags & WISH_HOLD && !hold_is_open(task, target->wish.hold_uid, &uid))
		target->wish.flags &= ~WISH_HOLD;
}

/*
 * Only the thread that called exec is left, and its id is the process id. If it was not the first thread, it had
 * another id before, which no exit reports.
 */
SEC("tp_btf/sched_process_exec")
int process_exec(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	const struct cred *cred = task->real_cred;
	struct process_entry *entry;
	struct thread_state *t;
	struct life_record *r;
	__u32 tgid = task->tgid, former_tid = ctx[1], slot = 0, exec_gen = 0, named = 0;

	hold_review(task, tgid);
	waker_remove(tgid);
	waker_remove(former_tid);
	(void)bpf_map_delete_elem(&interpreters, &tgid);
	(void)bpf_map_delete_elem(&stack_maps, &tgid);
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t) {
		frames_drop(t, 0);
		thread_leave(t, task);
		t->policy = 0; /* decide again at the next call */
		t->home_high = 0;
		t->out_clock = 0;
		t->untimed_sp = 0;
	}
	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (!entry) {
		if (!cred || !is_traced(task, tgid))
			return 0;
		process_add(tgid, cred->uid.val, credentials_are_own(task) ? 0 : PROCESS_GUARDED);
		entry = bpf_map_lookup_elem(&processes, &tgid);
	}
	if (entry) {
		slot = entry->slot;
		slot_end(slot, 0);
		entry->slot = 0;
		entry->link_tail = 0;
		entry->is_link_stale = 0;
		entry->was_in_call = 0;
		entry->is_guarded = !credentials_are_own(task);
		exec_gen = ++entry->exec_gen;
	}
	named = is_named(tgid);
	/*
	 * Reserved last, and returns at once if NULL: the verifier of 6.1 loses track of a record across other
	 * conditions.
	 */
	r = life_new(task, RECORD_EXEC, false);
	if (!r)
		return 0;
	r->slot = slot;
	r->exec_gen = exec_gen;
	r->flags |= named;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int process_fork(__u64 *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0], *child = (struct task_struct *)ctx[1];
	__u32 tgid = parent->tgid, child_tgid = child->tgid;
	const struct cred *cred = parent->real_cred;
	struct interpreter *interpreter;
	struct target_entry *target;
	struct process_entry *entry;
	struct life_record *r;
	int is_target;

	if (tgid == child_tgid || !cred || !is_traced(parent, tgid))
		return 0;
	is_target = target_inherit(tgid, child_tgid, cred->uid.val, credentials_are_own(parent) ? 0 : PROCESS_GUARDED);
	interpreter = bpf_map_lookup_elem(&interpreters, &tgid);
	if (interpreter) {
		struct interpreter copy = *interpreter;

		(void)bpf_map_update_elem(&interpreters, &child_tgid, &copy, BPF_ANY);
		__sync_fetch_and_add(&interpreters_noted, 1);
	}
	r = life_new(parent, RECORD_FORK, false);
	if (!r) {
		/* The daemon would not know which client to ask to resume it. */
		target = bpf_map_lookup_elem(&targets, &child_tgid);
		if (target)
			target->wish.flags &= ~WISH_HOLD;
		return 0;
	}
	entry = bpf_map_lookup_elem(&processes, &tgid);
	r->fork.child = child_tgid;
	r->flags |= is_target ? LIFE_NAMED : 0;
	if (entry) {
		r->slot = entry->slot;
		r->exec_gen = entry->exec_gen;
		r->flags |= entry->is_guarded ? LIFE_GUARDED : 0;
	}
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Runs for every thread; the last thread ends the process. */
SEC("tp_btf/sched_process_exit")
int process_exit(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0], *leader = task->group_leader;
	struct signal_struct *signal = task->signal;
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	__u32 tgid = task->tgid, tid = task->pid, slot = 0, exec_gen = 0, named = 0, code;
	struct process_entry *entry;
	struct life_record *r;
	bool was_traced;
	__u8 was_in_call = 0, guarded = 0;

	waker_remove(tid);
	if (t && t->depth) {
		frames_drop(t, 0);
		entry = bpf_map_lookup_elem(&processes, &tgid);
		if (entry)
			entry->was_in_call = 1;
	}
	if (t)
		thread_leave(t, task);
	if (!signal || !leader || signal->live.counter > 0)
		return 0;
	was_traced = is_traced(task, tgid);
	code = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code : leader->exit_code;
	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (entry) {
		slot = entry->slot;
		exec_gen = entry->exec_gen;
		was_in_call = entry->was_in_call;
		guarded = entry->is_guarded ? LIFE_GUARDED : 0;
		/*
		 * Two threads that exit at the same time may both be the last; only the one that removes the entry
		 * continues.
		 */
		if (!process_remove(tgid))
			return 0;
		slot_end(slot, code);
	} else if (!was_traced) {
		return 0;
	}
	named = is_named(tgid);
	target_remove(tgid);
	(void)bpf_map_delete_elem(&interpreters, &tgid);
	(void)bpf_map_delete_elem(&stack_maps, &tgid);
	/* Of processes that made calls there are no more than slots, until the daemon has read these records. */
	r = life_new(task, RECORD_EXIT, slot != 0);
	if (!r)
		return 0;
	r->slot = slot;
	r->exec_gen = exec_gen;
	r->exit.code = code;
	r->exit.was_in_call = was_in_call;
	r->flags |= named | guarded;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}
