// SPDX-License-Identifier: Apache-2.0
/*
 * From the records of the ring `stacks` to stacks with names.
 *
 * A call's stack is known as soon as its record was read: stacks_find(). Its frames become known later: copies of stack
 * memory are unwound when the rules of their pages were read, addresses and code objects are named by the parser. Each
 * stack is ready STACK_READY_NS after its record at the latest, then with what is known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "bpf/stack_record.h"
#include "events/stack.h"

struct child;
struct loop_times;
struct probe_set;
struct stacks;

struct stacks_events {
	void (*ready)(struct stack *stack, void *data); /* on the loop, never from within a function below */
	void *data;
};

/**
 * stacks_open() - @probes, @times: borrowed, they outlive it; parsers are started on demand. Return: 0 or -errno
 */
int stacks_open(uv_loop_t *loop, struct probe_set *probes, struct loop_times *times, const struct stacks_events *events,
		struct stacks **ret_stacks);
/** stacks_close() - no more callbacks; memory is released in a turn of the loop. NULL is allowed */
void stacks_close(struct stacks *stacks);

/** stacks_take() - a record was read. @n_bytes: its size, checked by decode_stack() */
void stacks_take(struct stacks *stacks, const struct stack_record *record);
/** stacks_take_mappings() - likewise the mappings of a process at the moment of its next stack */
void stacks_take_mappings(struct stacks *stacks, const struct mappings_record *record);
/** stacks_take_code() - likewise a code object of Python */
void stacks_take_code(struct stacks *stacks, const struct code_record *record);
/**
 * stacks_find() - the stack of a call or wait
 * @of: header of its record
 * @id: of the stack, as the record has it
 * Return: a reference; NULL: no record of it was read
 */
struct stack *stacks_find(struct stacks *stacks, const struct record_header *of, uint64_t id);
/** stacks_look() - a process is about to make calls: what is known of its mappings now is kept */
void stacks_look(struct stacks *stacks, uint32_t tgid, uint32_t exec_gen, uint32_t uid);
/** stacks_exec() - a process executes another program, its exec_gen-th: what is known of those before is over */
void stacks_exec(struct stacks *stacks, uint32_t tgid, uint32_t exec_gen);
/** stacks_exit() - a process ended */
void stacks_exit(struct stacks *stacks, uint32_t tgid);
/** stacks_finish() - make every stack ready now, with what is known */
void stacks_finish(struct stacks *stacks);
/** stacks_waiting() - number of stacks that are not ready yet */
size_t stacks_waiting(const struct stacks *stacks);
