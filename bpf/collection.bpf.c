// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Probes at the begin and end of a garbage collection, at places in a Python interpreter that the parser found. In
 * other processes that run the same file each collection costs two failed lookups.
 *
 * Collections do not nest, but a finalizer may request another one, which returns at once; it is recognised by its
 * deeper stack pointer. A collection whose end was not seen (exec, probes detached) is dropped.
 */
#include "collection.h"

static __always_inline bool collection_is_wanted(struct pt_regs *ctx, struct thread_state *t, struct task_struct *task)
{
	return t && !is_inert && !attach_off[COOKIE_ATTACH_NUMBER(bpf_get_attach_cookie(ctx))] && t->account.since_ns &&
	       away_is_wanted(t, task);
}

SEC("kprobe")
int collection_begin(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct collection *c;

	if (!collection_is_wanted(ctx, t, task))
		return 0;
	c = bpf_task_storage_get(&collections, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c) {
		counter_add(LOSS_WAITS, 1);
		return 0;
	}
	if (collection_is_open(c, t) && regs_sp(ctx) + COLLECTION_FRAME_BYTES < c->sp)
		return 0;
	c->sp = regs_sp(ctx);
	c->since_ns = t->account.since_ns;
	c->collectors = collectors;
	c->seq = collection_seq(t);
	c->op = c->seq ? t->frames[0].op : 0;
	collection_count(t, c, 0, 0, 1);
	c->begin = collection_clock_own(t) + 1;
	WRITE_ONCE(c->clock, c->begin);
	return 0;
}

SEC("kprobe")
int collection_end(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct collection *c = bpf_task_storage_get(&collections, task, 0, 0);
	__u64 clock;

	if (!c || !c->clock)
		return 0;
	if (!collection_is_wanted(ctx, t, task) || !collection_is_open(c, t)) {
		c->clock = 0;
		return 0;
	}
	if (regs_sp(ctx) + COLLECTION_FRAME_BYTES < c->sp)
		return 0;
	clock = collection_clock_own(t) + 1;
	collection_move(t, c, c->seq == collection_seq(t) ? clock : 0, /* is_over= */ true);
	return 0;
}
