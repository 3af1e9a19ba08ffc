// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The entry and return programs of all traced calls; the attach cookie identifies the operation (ops.h).
 *
 * The two programs cost about 0.2 times as much as two empty programs, on top of these (docs/measurements/cost.md). Per
 * call: one lookup of the thread's state at each end, two clock reads, four atomic adds. A call of a process that is
 * not traced costs a failed lookup in two maps.
 *
 * The code has two forms: a session (one program for both ends; the entry decides whether the return is trapped), and a
 * plain pair for uprobe_multi and for perf events, where every return is trapped and matched to its entry by stack
 * pointer.
 */
#include "away.h"
#include "blame.h"
#include "call_record.h"
#include "entry.h"
#include "optable.h"
#include "stack.h"
#include "thinning.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* First traced call of a process. Return: its slot, 0 without room for it */
VERIFIED_ALONE __u32 slot_claim(__u32 tgid)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader = task->group_leader;
	const struct cred *cred = task->cred;
	struct process_entry *entry;
	struct process_slot *s;
	__u32 slot, flags, before;

	if (!leader || !cred)
		return 0;
	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (entry && entry->slot)
		return entry->slot;
	flags = (entry && entry->is_guarded) || !credentials_are_own(task) ? PROCESS_GUARDED : 0;
	slot = slot_take(cred->uid.val, flags);
	if (!slot)
		return 0;
	s = bpf_map_lookup_elem(&slots, &slot);
	if (!s)
		return 0;
	if (!entry) {
		/* Another thread may have added the entry meanwhile; then this lookup finds it. */
		process_add(tgid, cred->uid.val, flags);
		entry = bpf_map_lookup_elem(&processes, &tgid);
		if (!entry) {
			slot_give(slot);
			return 0;
		}
	}
	s->start_boot_ns = leader->start_boottime;
	s->first_call_ns = bpf_ktime_get_ns();
	s->gone_ns = 0;
	s->tgid = tgid;
	s->uid = cred->uid.val;
	s->exec_gen = entry->exec_gen;
	s->flags = flags;
	s->exit_code = 0;
	bpf_probe_read_kernel(s->comm, sizeof(s->comm), leader->comm);
	before = __sync_val_compare_and_swap(&entry->slot, 0, slot);
	if (before) {
		slot_give(slot);
		return before;
	}
	WRITE_ONCE(s->state, PROCESS_SLOT_LIVE);
	return slot;
}

/*
 * Checks whether the process still belongs to its user; if not, marks its slot before anything else is counted there.
 * Return: whether the process is guarded
 */
VERIFIED_ALONE int process_guard(__u32 tgid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);
	const struct cred *cred = task->real_cred;
	struct process_slot *s;
	__u32 slot;

	if (!entry || !cred)
		return 1;
	slot = entry->slot;
	s = bpf_map_lookup_elem(&slots, &slot);
	if (!slot || !s)
		return 1;
	if (!entry->is_guarded && s->uid == cred->uid.val && credentials_are_own(task))
		return 0;
	entry->is_guarded = 1;
	WRITE_ONCE(s->flags, PROCESS_GUARDED);
	return 1;
}

/*
 * Decides about a thread that has no state yet, a decision under an older policy, or changed ids. Return: whether it is
 * traced and has state
 */
VERIFIED_ALONE int thread_claim(__u32 op)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid, slot;
	__u32 decided = READ_ONCE(policy); /* read first: a later change is noticed at the next call */
	bool is_calibrating = tgid == calibrating_tgid;
	struct process_wish wish = { .flags = WISH_TRACED };
	const struct cred *cred = task->cred;
	struct thread_state *t;

	/* A calibration call of another tracer that runs the same file: not a call of a program. */
	if (op >= OP_CALIBRATION && op < OP_ID_MAX && !is_calibrating)
		return 0;
	if (!is_calibrating && !is_traced(task, tgid)) {
		t = bpf_task_storage_get(&threads, task, 0, 0);
		if (t) {
			(void)process_guard(tgid);
			t->policy = decided;
			t->wants = 0;
			t->is_settled = 1;
		}
		counter_add(COUNTER_BYSTANDER, 1);
		return 0;
	}
	slot = is_calibrating ? CALIBRATION_SLOT : slot_claim(tgid);
	if (!slot) {
		(void)slot_lose((__u32)bpf_get_current_uid_gid());
		return 0;
	}
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t || !cred) {
		struct figure_cell *cell = cell_of(slot, op);

		/*
		 * No memory. Or, on a preemptible kernel, another task was preempted on this CPU while it allocated a
		 * state, and until it resumes no allocation succeeds here. A function that forwards to another export
		 * of its operation is counted twice if the second entry gets a state.
		 */
		counter_add(LOSS_THREAD_STATE, 1);
		if (cell)
			__sync_fetch_and_add(&cell->untimed, 1);
		return 0;
	}
	if (t->slot != slot) {
		struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);

		account_end(t, task->se.sum_exec_runtime);
		t->wait.carried_ns = 0; /* its slot may belong to another process by now */
		t->slot = slot;
		t->tgid = tgid;
		t->tid = task->pid;
		t->uid = cred->uid.val;
		t->exec_gen = entry ? entry->exec_gen : 0;
		bpf_probe_read_kernel(t->comm, sizeof(t->comm), task->comm);
		account_begin(t, task->se.sum_exec_runtime);
	}
	t->is_settled = is_calibrating || process_guard(tgid);
	if (!is_calibrating)
		wish_of(task, tgid, &wish);
	if (records_thinned) {
		wish.flags &= ~WISH_STACKS;
		wish.sample_every = 0;
	}
	if (t->sample_every != wish.sample_every)
		t->sample_at = 0;
	t->sample_every = wish.sample_every;
	t->wants = wish.flags | WISH_TRACED; /* a wish that was just withdrawn still holds for this call */
	t->policy = decided;
	return 1;
}

/* An entry whose return is not trapped also adds to the duration of the enclosing call. */
static __always_inline void kids_refused(struct thread_state *t)
{
	__u32 depth = t->depth;

	if (depth && depth <= CALL_DEPTH_MAX)
		t->frames[(depth - 1) & (CALL_DEPTH_MAX - 1)].kids_ns += nested_refused_ns;
}

/* Counts a call whose return is not trapped. Whether it fails stays unknown; its bytes are those requested. */
VERIFIED_ALONE int call_untimed(struct thread_state *t, const struct entry *entry)
{
	struct figure_cell *cell;
	__u64 address = 0;

	if (!t || !entry)
		return 0;
	kids_refused(t);
	if (entry_continues(t, entry->sp, entry->ip, entry->link, entry->op))
		return 0;
	if (t->depth >= CALL_DEPTH_MAX)
		counter_add(LOSS_DEPTH, 1);
	(void)entry_return_address(entry->sp, entry->link, &address);
	t->untimed_sp = entry->sp;
	t->untimed_ip = entry->ip;
	t->untimed_op = entry->op;
	t->untimed_return = address;

	cell = cell_of(t->slot, entry->op);
	if (!cell)
		return 0;
	__sync_fetch_and_add(&cell->untimed, 1);
	if (!entry->no_arguments)
		__sync_fetch_and_add(&cell->bytes, op_bytes(entry->op, entry->args));
	return 0;
}

#define TOKEN(t, f, index) ((__u64)(t)->tid << 32 | ((f)->seq & 0xffffff) << 8 | (index))

/*
 * call_enter() - a traced function was entered
 * @ret_token: token of the opened frame, never 0; unchanged if none was opened
 * Return: whether to trap the return
 */
static __always_inline bool call_enter(struct pt_regs *ctx, __u64 cookie, __u64 *ret_token)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 sp = regs_sp(ctx), ip = regs_ip(ctx), at;
	__u32 op = COOKIE_OP(cookie), depth;
	int kind = ENTRY_CALL;
	struct call_frame *f;

	if (is_inert)
		return false;
	if (!t || t->policy != policy || (!t->is_settled && credentials_have_changed(task, t->uid))) {
		if (!thread_claim(op))
			return false;
		t = bpf_task_storage_get(&threads, task, 0, 0);
		if (!t)
			return false;
	}
	if (!t->wants) {
		counter_add(COUNTER_BYSTANDER, 1);
		return false;
	}
	if (t->sample_every && (!t->sample_at || t->sample >= t->sample_every))
		sample_block(t);

	if (t->depth) {
		kind = entry_resolve(t, sp, ip, regs_link(ctx), op);
		if (kind == ENTRY_SAME) {
			kids_refused(t);
			return false;
		}
	}
	depth = t->depth;
	if (kind == ENTRY_ELSEWHERE || depth >= CALL_DEPTH_MAX || (cookie & COOKIE_ENTRY_ONLY)) {
		struct entry entry = { .sp = sp, .ip = ip, .link = regs_link(ctx), .op = op };

		entry.no_arguments = !!(cookie & COOKIE_NO_ARGUMENTS);
		regs_arguments(ctx, entry.args);
		if (cookie & COOKIE_STACK)
			stack_arguments(ctx, &entry.args[ABI_ARGUMENTS]);
		call_untimed(t, &entry);
		return false;
	}
	if (t->untimed_op == op && entry_continues(t, sp, ip, regs_link(ctx), op)) {
		kids_refused(t);
		return false;
	}

	at = depth;
	keep(at); /* else the verifier bounds its lower 32 bits only, which Linux 6.1 refuses */
	f = &t->frames[at & (CALL_DEPTH_MAX - 1)];
	f->start_ns = 0;
	f->op = op;
	f->head = COOKIE_HEAD(cookie);
	f->attach = COOKIE_ATTACH_NUMBER(cookie);
	f->sp = sp;
	f->ip = ip;
	f->kids_ns = 0;
	f->seq = ++t->seq;
	f->no_arguments = !!(cookie & COOKIE_NO_ARGUMENTS);
	regs_arguments(ctx, f->args);
	if (cookie & COOKIE_STACK)
		stack_arguments(ctx, &f->args[ABI_ARGUMENTS]);
	*ret_token = TOKEN(t, f, depth);
	if (!depth) {
		WRITE_ONCE(t->out_clock, 0);
		/* Else a reader during the call would miss the wait before it. */
		if (t->away_clock)
			away_end(t, task->sched_info.last_arrival, task->sched_info.run_delay, task->sched_info.pcount);
	}
	WRITE_ONCE(t->depth, depth + 1);
	barrier();
	/* Read before pcount: a switch between the two must not look like an unseen one. */
	f->switches = READ_ONCE(t->switches);
	barrier();
	f->pcount = task->sched_info.pcount;
	f->run_delay = task->sched_info.run_delay;
	f->unrun = task->se.exec_start - task->se.sum_exec_runtime;
	f->migrations = task->se.nr_migrations;
	barrier();
	f->start_ns = bpf_ktime_get_ns();
	return true;
}

static __always_inline void frame_blame_more(struct call_frame *f, __u32 class, __u64 ns)
{
	__sync_fetch_and_add(&f->blame_ns[class], ns);
	f->is_dirty = 1;
}

/*
 * Repairs the blame after a task switch that no hook saw, from the scheduler's own counters: run_delay is the time
 * spent ready; the growth of the task clock beyond the run time is the time off the CPU. Clocks of CPUs differ, so the
 * latter needs a thread that did not migrate.
 */
VERIFIED_ALONE int frame_repair(struct call_frame *f, __u64 raw_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 delay, known = 0, off;
	__u32 i;

	if (!f)
		return 0;
	delay = task->sched_info.run_delay - f->run_delay;
	known = f->blame_ns[BLAME_RUNNABLE] + f->blame_ns[BLAME_QUOTA];
	if (delay > known && delay - known < raw_ns)
		frame_blame_more(f, BLAME_RUNNABLE, delay - known);
	if (task->se.nr_migrations != f->migrations)
		return 0;
	off = task->se.exec_start - task->se.sum_exec_runtime - f->unrun;
	known = 0;
	for (i = 0; i < BLAME_COUNT; i++)
		known += f->blame_ns[i];
	if (off > known && off <= raw_ns)
		frame_blame_more(f, BLAME_OTHER, off - known);
	return 0;
}

/* Slow path of a return: the call left the CPU. */
VERIFIED_ALONE int call_settle(struct thread_state *t, __u64 end_ns, __u32 index)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 passed, noted;
	struct call_frame *f;

	if (!t || index >= CALL_DEPTH_MAX)
		return 0;
	f = &t->frames[index];
	settle(t, task->sched_info.last_arrival, task->sched_info.run_delay, end_ns);
	passed = task->sched_info.pcount - f->pcount;
	noted = (__u32)(t->switches - f->switches);
	if (passed <= noted)
		return 0;
	/* Counted once, for the outermost call: inner calls missed the same switches. */
	if (index == 0)
		counter_add(LOSS_SWITCH_UNSEEN, passed - noted);
	frame_repair(f, end_ns - f->start_ns);
	return 0;
}

VERIFIED_ALONE int cell_blame(struct figure_cell *cell, const struct call_frame *f)
{
	__u32 i;

	if (!cell || !f)
		return 0;
	for (i = 1; i < BLAME_COUNT; i++)
		if (f->blame_ns[i])
			__sync_fetch_and_add(&cell->blame_ns[i - 1], f->blame_ns[i]);
	return 0;
}

/* The call of frame `index` returned at end_ns; deeper frames will never return. */
static __always_inline int call_finish(struct pt_regs *ctx, struct task_struct *task, struct thread_state *t,
				       __u32 index, __u64 end_ns)
{
	struct call_end end = { .ret = (__s32)regs_return_value(ctx) };
	const volatile struct op_row *row;
	struct figure_cell *cell;
	struct call_frame *f;
	__u64 share, kids, record_ns = 0, pcount = 0;
	__u32 op;

	if (index >= CALL_DEPTH_MAX)
		return 0;
	f = &t->frames[index];
	if (t->depth != index + 1)
		frames_drop(t, index + 1);
	if (!index)
		account_calls_change(t);
	if (task->sched_info.pcount != f->pcount || t->out_clock)
		call_settle(t, end_ns, index);
	WRITE_ONCE(t->depth, index);
	barrier();

	op = f->op;
	row = op_row_of(op);
	kids = f->kids_ns;
	end.raw_ns = end_ns - f->start_ns;
	if (!index) {
		account_call(t, f, op, end.raw_ns);
		account_calls_change(t);
	}
	share = share_ns[f->head & 3] + kids;
	end.duration_ns = end.raw_ns > share ? end.raw_ns - share : 0;
	if (end.ret && op >= OP_ID_MAX)
		end.ret = 0; /* may be an error, a number or a pointer: unknown without a row */
	cell = cell_of(t->slot, op);
	if (cell) {
		cell_add(cell, end.duration_ns, end.raw_ns);
		if (end.ret)
			__sync_fetch_and_add(&cell->errors, 1);
		else if (row->args[0].meaning == OP_MEANING_BYTES && !f->no_arguments)
			__sync_fetch_and_add(&cell->bytes, op_bytes(op, f->args));
		if (f->is_dirty)
			cell_blame(cell, f);
	}
	kids += nested_ns[f->head & 3];
	if (t->wants & WISH_RECORDS) {
		end.reason = reason_of(t, cell, row->traits, &end);
		if (end.reason && is_thinning && !call_is_kept(t->slot, end.reason))
			end.reason = 0;
		if (end.reason && index) {
			pcount = task->sched_info.pcount;
			record_ns = bpf_ktime_get_ns();
		}
		if (end.reason && t->wants & WISH_STACKS) {
			end.stack = stack_take(t, f->ip, regs_ip(ctx), regs_sp(ctx), regs_frame_pointer(ctx));
			if (!end.stack)
				__sync_fetch_and_add(&share_losses_of(t->slot)->stacks, 1);
		}
		if (end.reason && row->args[OP_ARGS_SHORT].kind)
			(void)call_record_long(t, &end, index);
		else if (end.reason)
			(void)call_record(t, &end, index);
		/* Within the duration of the outer call; a wait meanwhile is part of its blame. */
		if (record_ns && task->sched_info.pcount == pcount)
			kids += bpf_ktime_get_ns() - record_ns;
	}
	if (f->is_dirty)
		frame_clean(f);
	if (index)
		t->frames[(index - 1) & (CALL_DEPTH_MAX - 1)].kids_ns += kids;
	return 0;
}

SEC("kprobe")
int call_session(struct pt_regs *ctx)
{
	struct task_struct *task;
	struct thread_state *t;
	__u64 *token, now;
	__u32 index;

	if (!bpf_session_is_return()) {
		token = bpf_session_cookie();
		return token && call_enter(ctx, bpf_get_attach_cookie(ctx), token) ? 0 : 1;
	}

	now = bpf_ktime_get_ns();
	token = bpf_session_cookie();
	task = bpf_get_current_task_btf();
	t = bpf_task_storage_get(&threads, task, 0, 0);
	/* A child of fork(2) returns from its parent's call: it has no state, or no matching frame. */
	if (!t || !token || is_inert)
		return 0;
	index = *token & (CALL_DEPTH_MAX - 1);
	if (index >= t->depth || *token != TOKEN(t, &t->frames[index], index))
		return 0;
	return call_finish(ctx, task, t, index, now);
}

SEC("kprobe")
int call_entry(struct pt_regs *ctx)
{
	__u64 token, cookie = bpf_get_attach_cookie(ctx);

	if (!attach_off[COOKIE_ATTACH_NUMBER(cookie)])
		call_enter(ctx, cookie, &token);
	return 0; /* another value would remove the probe */
}

SEC("kprobe")
int call_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), sp = regs_sp(ctx) - ABI_RETURN_ADDRESS_BYTES;
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	__u32 depth, i, index = CALL_DEPTH_MAX;

	if (is_inert)
		return 0;
	if (!t) {
		/*
		 * The call may have begun before the attach was complete. A later child of fork(2) that returns from
		 * its parent's call is no loss.
		 */
		if (task->start_boottime < attached_boot_ns && is_traced(task, task->tgid))
			counter_add(LOSS_RETURN_UNPAIRED, 1);
		return 0;
	}
	depth = t->depth;
	for (i = 0; i < CALL_DEPTH_MAX; i++)
		if (i < depth && t->frames[i].sp == sp)
			index = i;
	/* Calls without a frame (refused at entry) also return here. */
	if (index == CALL_DEPTH_MAX)
		return 0;
	/*
	 * The library is being detached, and its call may already be counted as never returned. Or it was detached to
	 * keep the budget, its call was counted, and then it was attached again.
	 */
	if (attach_off[t->frames[index & (CALL_DEPTH_MAX - 1)].attach] == ATTACH_OFF ||
	    !t->frames[index & (CALL_DEPTH_MAX - 1)].start_ns) {
		frames_drop(t, index);
		return 0;
	}
	return call_finish(ctx, task, t, index, now);
}
