// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Iterator over tasks: writes the calls in progress when the daemon reads: every open frame of every thread, with its
 * blame so far and the wait in progress. A thread without open frames costs one failed lookup. The thread may run
 * meanwhile: a record is a snapshot, and may show a call that has just ended. The iterator changes frames only if their
 * library was detached: their returns will not be seen.
 */
#include "frames.h"
#include "going_on.h"

VERIFIED_ALONE int frame_write(struct in_flight_record *r, const struct call_frame *f, const struct wait_parts *wait)
{
	__u32 k;

	if (!r || !f || !wait)
		return 0;
	r->start_ns = f->start_ns;
	r->op = f->op;
	for (k = 0; k < BLAME_COUNT; k++)
		r->blame_ns[k] = f->blame_ns[k];
	if (f->start_ns > wait->out_ns)
		return 0;
	wait_add(r->blame_ns, wait);
	return 0;
}

SEC("iter/task")
int in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct wait_noted noted = {};
	struct wait_parts wait = {};
	struct in_flight_record r = {};
	struct thread_state *t;
	struct call_frame *f;
	__u64 start_ns;
	__u32 i, state;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || !t->depth || t->slot == CALIBRATION_SLOT)
		return 0;
	r.now_ns = bpf_ktime_get_ns();
	r.tgid = t->tgid;
	r.tid = t->tid;
	r.slot = t->slot;
	noted.clock = READ_ONCE(t->out_clock);
	noted.out_ns = t->out_ns;
	noted.run_delay = t->out_run_delay;
	noted.class = t->out_class;
	wait_now(&noted, task, r.now_ns, &wait);
	for (i = 0; i < CALL_DEPTH_MAX; i++) {
		f = &t->frames[i];
		if (i >= t->depth)
			break;
		/* Read before `attach`: if another call takes the frame meanwhile, that call is not given up. */
		start_ns = READ_ONCE(f->start_ns);
		if (!start_ns)
			continue;
		state = attach_off[READ_ONCE(f->attach)];
		if (state == ATTACH_OFF || state == ATTACH_THINNED) {
			frame_give_up(f, start_ns, t->slot);
			continue;
		}
		frame_write(&r, f, &wait);
		r.depth = i;
		bpf_seq_write(seq, &r, sizeof(r));
	}
	return 0;
}
