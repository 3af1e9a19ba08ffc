// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The record of a call that returned: the reasons to write one, its contents, and its way to the ring.
 */
#pragma once

#include "call_ring.h"
#include "entry.h"
#include "optable.h"
#include "thread_header.h"

struct call_end {
	__u64 raw_ns;
	__u64 duration_ns;
	__u64 stack; /* id of its stack; 0: none */
	__s32 ret;
	__u32 reason;
};

static __always_inline __u64 frame_argument(const struct call_frame *f, __u32 index)
{
	return index < CALL_ARGUMENTS ? f->args[index] : 0;
}

/* Value number `which` that is kept of a call. */
static __always_inline __u64 kept_argument(const struct call_frame *f, const struct call_end *end, __u32 which)
{
	const volatile struct op_row *row = op_row_of(f->op);
	const volatile struct op_argument *argument = &row->args[which];
	__u64 value = 0;

	if (f->no_arguments)
		return 0;
	if (argument->kind == OP_ARG_CALL)
		return op_argument_value(argument, f->args);
	if (argument->kind == OP_ARG_BOX || argument->kind == OP_ARG_SUM || argument->kind == OP_ARG_TYPED)
		return op_derived_value(f->op, which, f->args);
	if (argument->kind == OP_ARG_OUT && end->ret == 0)
		(void)bpf_probe_read_user(&value, sizeof(value), (void *)frame_argument(f, argument->index));
	return value;
}

static __always_inline void record_fill(struct call_record *r, const struct thread_state *t, const struct call_frame *f,
					const struct call_end *end, __u32 index)
{
	__u32 i;

	thread_header_fill(&r->header, t, RECORD_CALL);
	r->start_ns = f->start_ns;
	r->duration_ns = end->duration_ns;
	r->raw_ns = end->raw_ns;
	r->stack = end->stack;
	__builtin_memset(r->blame_ns, 0, sizeof(r->blame_ns));
	if (f->is_dirty)
		for (i = 0; i < BLAME_COUNT; i++)
			r->blame_ns[i] = f->blame_ns[i];
	r->ret = end->ret;
	r->op = f->op;
	r->reason = end->reason;
	r->depth = index;
}

/* @n_args, @bytes: constants: number of kept arguments, size of the record with room for them */
static __always_inline int record_make(struct thread_state *t, const struct call_end *end, __u32 index, __u32 n_args,
				       __u32 bytes)
{
	__u64 args[OP_ARGS_MAX];
	struct call_record *r;
	struct call_frame *f;
	__u64 unread;
	__u32 i;

	if (!t || !end || index >= CALL_DEPTH_MAX)
		return 0;
	f = &t->frames[index];
	_Pragma("clang loop unroll(full)") for (i = 0; i < n_args; i++) args[i] = kept_argument(f, end, i);
	unread = calls_unread();
	if (!calls_have_room(unread, t->slot, bytes))
		return calls_lost(t->slot);
	r = bpf_ringbuf_reserve(&calls, bytes, 0);
	if (!r)
		return calls_lost(t->slot);
	record_fill(r, t, f, end, index);
	_Pragma("clang loop unroll(full)") for (i = 0; i < n_args; i++) r->args[i] = args[i];
	bpf_ringbuf_submit(r, calls_wake_flags(unread));
	return 1;
}

VERIFIED_ALONE int call_record(struct thread_state *t, const struct call_end *end, __u32 index)
{
	return record_make(t, end, index, OP_ARGS_SHORT, CALL_RECORD_SHORT);
}

/*
 * For an operation that keeps more than OP_ARGS_SHORT arguments. Not called by call_record(): two such stack frames
 * exceed the limit.
 */
VERIFIED_ALONE int call_record_long(struct thread_state *t, const struct call_end *end, __u32 index)
{
	return record_make(t, end, index, OP_ARGS_MAX, sizeof(struct call_record));
}

static __always_inline __u32 reason_of(struct thread_state *t, const struct figure_cell *cell, __u32 traits,
				       const struct call_end *end)
{
	__u32 reason = 0;
	__u64 slow_ns = cell ? cell->slow_ns : 0;

	if (slow_ns && end->duration_ns > slow_ns)
		reason |= RECORD_REASON_SLOW;
	if (end->ret)
		reason |= RECORD_REASON_ERROR;
	if (traits & OP_SYNC)
		reason |= RECORD_REASON_SYNC;
	if (traits & OP_MEMORY)
		reason |= RECORD_REASON_ALLOC;
	if (t->wants & WISH_EVERY_CALL)
		reason |= RECORD_REASON_ALL;
	if (t->sample_every && ++t->sample == t->sample_at)
		reason |= RECORD_REASON_SAMPLE;
	return reason;
}
