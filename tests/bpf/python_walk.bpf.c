// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The walk of Python frames without a probe: a thread runs these programs on itself (BPF_PROG_TEST_RUN).
 */
#include "python.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} walk_scratch SEC(".maps");

/* As the walk of native frames leaves it: some of the stack was read. */
static __always_inline void stack_read(struct stack_scratch *s, __u64 sp)
{
	s->record.sp = sp;
	s->walk.n_filled = bpf_probe_read_user(s->memory, STACK_READ_MAX, (void *)sp) ? 0 : STACK_READ_MAX;
}

/*
 * Sends the frames of the current thread. ctx: number of the stack, exec generation, stack pointer.
 * Return: 0, or 1: no room
 */
SEC("raw_tp")
int python_take(__u64 *ctx)
{
	__u64 number = ctx[0], exec_gen = ctx[1], id = bpf_get_current_pid_tgid();
	struct stack_scratch *s;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&walk_scratch, &zero);
	if (!s)
		return 1;
	s->record.tgid = id >> 32;
	s->record.tid = id;
	s->record.exec_gen = exec_gen;
	s->record.type = RECORD_STACK;
	s->record.ip = number;
	stack_read(s, ctx[2]);
	python_walk(s);
	s->record.id = s->python_hash;
	python_runs(s);
	if (python_codes_send(s))
		return 1;
	return bpf_ringbuf_output(&stacks, &s->record, sizeof(s->record), 0) ? 1 : 0;
}

/* The walk alone, for its cost. */
SEC("raw_tp")
int python_walk_only(__u64 *ctx)
{
	struct stack_scratch *s;
	__u32 zero = 0;

	(void)ctx;
	s = bpf_map_lookup_elem(&walk_scratch, &zero);
	if (!s)
		return 1;
	python_walk(s);
	return 0;
}

/* As the probe does. ctx: address of the code object */
SEC("raw_tp")
int python_freed(__u64 *ctx)
{
	__u64 code = ctx[0];

	__sync_fetch_and_add(code_freed_count(code_frees_of(code_tgid(), 0), code), 1);
	return 0;
}
