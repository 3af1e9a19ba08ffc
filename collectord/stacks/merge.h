// SPDX-License-Identifier: Apache-2.0
/*
 * Native and Python frames of a stack in one list.
 *
 * Each activation of the interpreter's loop is a native frame, and runs one or more Python frames. Which ones follows
 * from addresses: since CPython 3.12 the last entry of a run, 3.10 and 3.11 a node of the interpreter's own list, is a
 * local variable of that activation. 3.9 has neither: its activations are known by the name of their function, and run
 * one Python frame each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_record.h"
#include "events/stack.h"

struct merge {
	/* Innermost first. [0] is the traced function, which has returned. */
	const struct stack_frame *native;
	const uint64_t *cfa; /* of each: the stack pointer of its caller; 0: not known */
	size_t n_native;
	bool is_native_whole; /* up to the start of the thread */
	/* Innermost first, as in struct stack_record; code 0: no frame. */
	const struct stack_frame *python;
	const struct stack_python *entries;
	size_t n_python;
	const struct stack_run *runs;
	size_t n_runs;
	uint32_t minor; /* of CPython 3.minor */
};

/**
 * merge_frames() - list the frames of both kinds, innermost first: a Python frame before the activation that runs it
 * @ret: room for n_native + n_python frames; texts are borrowed
 * @ret_is_placed: whether the place of each Python frame is known
 * Return: number of frames
 */
size_t merge_frames(const struct merge *merge, struct stack_frame *ret, bool *ret_is_placed);
