// SPDX-License-Identifier: Apache-2.0
/*
 * A stack of a call as sinks get it: frames with names, innermost first, native and Python ones interleaved.
 *
 * An event has its stack at once. The frames of a new stack are known some milliseconds later, after the parser has
 * named them; then each sink is told (struct sink_ops), at the latest STACK_READY_NS after the event, with what is
 * known by then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_READY_NS (5ull * 1000000000)
#define STACK_FRAMES_MAX 512 /* of both kinds */

/* Texts are UTF-8 without control characters, never NULL. */
struct stack_frame {
	uint64_t ip;	      /* address in the process; 0: a Python frame */
	const char *symbol;   /* native: demangled name with the offset, "f+0x1d4"; Python: name of the code object.
				 "": not known */
	const char *qualname; /* Python: qualified name, from CPython 3.11 on; otherwise "" */
	const char *file;     /* source file; "": not known */
	const char *module;   /* native: path of the library or program as the process sees it; "": not known */
	uint32_t line;	      /* in `file`; 0: not known */
	bool is_python;
};

struct stack {
	uint32_t n_references;
	uint32_t uid;	  /* owner of the process */
	uint64_t number;  /* of this stack, from 1 on, never used again by this daemon */
	bool is_ready;	  /* the rest is valid, and does not change any more */
	bool is_complete; /* up to the start of the thread, Python frames included */
	const char *why;  /* one sentence why it is not complete; "" if it is. Static */
	size_t n_bytes;	  /* of frames and texts, as if it shared none with other stacks */
	size_t n_frames;
	struct stack_frame *frames; /* owned; their texts are shared with other stacks (text_pool.h) */
};

/** stack_new() - create one with a reference, not ready. Return: NULL without memory */
struct stack *stack_new(uint32_t uid);
struct stack *stack_ref(struct stack *stack);
/** stack_unref() - the last reference frees it. NULL is allowed. Return: NULL */
struct stack *stack_unref(struct stack *stack);
/**
 * stack_name() - copy the frames into the stack, which is ready then
 * Return: 0; -ENOMEM: it is ready without frames, and says so
 */
int stack_name(struct stack *stack, const struct stack_frame *frames, size_t n_frames, bool is_complete,
	       const char *why);
/** stack_bytes() - memory of its frames and texts, at most */
size_t stack_bytes(const struct stack *stack);
/** stack_message_bytes() - about what a message with it takes: each frame has its own texts there */
size_t stack_message_bytes(const struct stack *stack);
/**
 * stack_frames_copy() - copy frames with their texts into one piece, to be freed; equal texts of frames one after the
 * other are there once
 * Return: NULL without memory
 */
struct stack_frame *stack_frames_copy(const struct stack_frame *frames, size_t n_frames, size_t *ret_bytes);
/** stack_frame_func_bytes() - length of the name of its function, at the beginning of its symbol */
size_t stack_frame_func_bytes(const struct stack_frame *frame);
/** stack_site() - the frame that tells people where: the innermost of Python, else the innermost native one that is
 * neither of a traced library nor of the libraries of C and C++, where programs wait. NULL: none, or not ready */
const struct stack_frame *stack_site(const struct stack *stack);
