// SPDX-License-Identifier: Apache-2.0
/*
 * Row numbers of stacks: a call is stored with the number of its stack's row before the stack's frames are known.
 *
 * A number is never used twice in a file, also if its row was not written: the file keeps the last one
 * (session.last_stack). A row whose stack was in no call for a while may be deleted (retention_stacks.c), so that stack
 * gets another number when it is seen again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

#define KNOWN_STACKS_MAX 32768		   /* 1.3 MiB; beyond it, those that were used longest ago are forgotten */
#define STACK_TELL_NS (300 * NSEC_PER_SEC) /* the row has the time of the last call, at most this late */
#define STACK_IDLE_NS (600 * NSEC_PER_SEC) /* after this time without a call, the number is not used any more */
#define STACK_KEEP_NS                                                                                                  \
	(2 * STACK_IDLE_NS) /* a row without calls stays for this time, twice as long for queued calls                 \
			     */

struct known_stack {
	uint64_t number;  /* of struct stack */
	uint64_t used_ns; /* end of the last call */
	uint64_t told_ns; /* the same as the row has it */
	uint32_t id;	  /* row of table stack */
	bool is_guarded;  /* of a guarded process: has a row of its own, which the user may not read */
	bool is_written;  /* the row was handed to the writer, or lost; false: the frames are not known yet */
	bool is_lost;	  /* the row could not be handed over: its next call gets another number */
};

struct known_stacks {
	ARRAY(struct known_stack) items;
	uint32_t *slots;  /* hash: index + 1; 0: empty */
	size_t n_slots;	  /* power of two */
	size_t n_waiting; /* number of stacks without a written row */
	uint32_t next_id;
};

void known_stacks_done(struct known_stacks *known);
/** known_stack_find() - find a stack. Return: borrowed until the next use, or NULL */
struct known_stack *known_stack_find(struct known_stacks *known, uint64_t number, bool is_guarded);
/**
 * known_stack_use() - find or add the stack of a call that ended at now_ns
 * Return: borrowed until the next use; NULL: no memory, or a quarter of KNOWN_STACKS_MAX wait for their frames
 */
struct known_stack *known_stack_use(struct known_stacks *known, uint64_t number, bool is_guarded, uint64_t now_ns);
/** known_stack_written() - the row of a stack without one was handed to the writer */
void known_stack_written(struct known_stacks *known, struct known_stack *stack);
/** known_stack_lost() - the row of a stack without one could not be handed over: its next call gets another number */
void known_stack_lost(struct known_stacks *known, struct known_stack *stack);
/** known_stacks_forget() - forget all stacks whose rows were written: some of the rows are no longer in the file */
void known_stacks_forget(struct known_stacks *known);
