// SPDX-License-Identifier: Apache-2.0
/*
 * One stack on its way from a record to frames with names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_record.h"
#include "events/stack.h"
#include "stacks/copy.h"

struct name;
struct process_maps;
struct python_code;
struct codes;

#define WORK_BYTES_MAX (64u << 20) /* of all works */
/*
 * A user may have so many times what is left free: a user alone has three quarters of all, and others find room,
 * however much one has. Copies leave some of it to stacks without one.
 */
#define WORK_OF_FREE 3
#define WORK_OF_FREE_COPY 2

/* What a stack waits for. */
enum work_state {
	WORK_UNWINDS, /* rules of pages */
	WORK_NAMES,   /* names of addresses and code objects */
	WORK_DONE,
};

struct work {
	struct work *next;
	struct stack *stack;	     /* a reference */
	struct process_maps *maps;   /* a reference; NULL: the mappings were not known */
	struct stack_record *record; /* a copy, with its memory while it is unwound */
	size_t n_bytes;
	struct python_code *codes[STACK_PYTHON_MAX]; /* references; NULL: not known */
	struct name *names[STACK_NATIVE_MAX];	     /* borrowed from the files of `maps`; NULL: no name is to be had */
	bool is_interrupted[STACK_NATIVE_MAX]; /* the frame was interrupted by a signal: its ip is no return address */
	uint64_t since_ns;
	bool is_crowded_out; /* it cannot wait, since too many do */
	enum work_state state;
	struct copy_wait wait;
};

/**
 * work_new() - begin with a record
 * @maps: mappings that hold for the record, a reference is taken; NULL: not known
 * @looks_ahead: rules of all code that a copy seems to point to are wanted at once; costs 0.1 ms
 * Return: NULL without memory
 */
struct work *work_new(const struct stack_record *record, struct stack *stack, struct process_maps *maps,
		      struct codes *codes, bool looks_ahead);
void work_free(struct work *work);
/**
 * work_advance() - go on as far as what is known allows; asks for what is missing (rules_want(), name_want()); a copy
 * that was unwound is given back, which changes n_bytes
 * Return: whether it is done: work_finish() can give all that is to be had
 */
bool work_advance(struct work *work);
/**
 * works_have_room() - whether the works of a user leave enough room to others
 * @n_own, @n_all: bytes of the user's works, and of all, with the one in question
 * @is_copy: it has stack memory
 */
bool works_have_room(size_t n_own, size_t n_all, bool is_copy);
/** work_finish() - name the stack with what is known; it is ready then */
void work_finish(struct work *work);
