// SPDX-License-Identifier: Apache-2.0
#include "events/stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/layer.h"
#include "events/text_pool.h"

struct stack *stack_new(uint32_t uid)
{
	static uint64_t last_number; /* the loop alone makes stacks */
	struct stack *stack = calloc(1, sizeof(*stack));

	if (!stack)
		return NULL;
	stack->n_references = 1;
	stack->uid = uid;
	stack->number = ++last_number;
	stack->why = "";
	return stack;
}

struct stack *stack_ref(struct stack *stack)
{
	stack->n_references++;
	return stack;
}

/* The texts of a frame, in one order for all who walk them. */
#define FRAME_TEXTS 4
static const char **frame_text(const struct stack_frame *frame, size_t k)
{
	static const size_t places[FRAME_TEXTS] = { offsetof(struct stack_frame, symbol),
						    offsetof(struct stack_frame, qualname),
						    offsetof(struct stack_frame, file),
						    offsetof(struct stack_frame, module) };

	return (const char **)((uintptr_t)frame + places[k]);
}

/* Whether the frame before has the same text: most frames of a stack are of few files. */
static bool is_text_before(const struct stack_frame *frames, size_t i, size_t k)
{
	return i && strcmp(*frame_text(&frames[i - 1], k), *frame_text(&frames[i], k)) == 0;
}

/* @is_once: equal texts of frames one after the other count once */
static size_t frames_bytes(const struct stack_frame *frames, size_t n_frames, bool is_once)
{
	size_t n_bytes = n_frames * sizeof(*frames);

	for (size_t i = 0; i < n_frames; i++)
		for (size_t k = 0; k < FRAME_TEXTS; k++)
			if (!is_once || !is_text_before(frames, i, k))
				n_bytes += strlen(*frame_text(&frames[i], k)) + 1;
	return n_bytes;
}

struct stack_frame *stack_frames_copy(const struct stack_frame *frames, size_t n_frames, size_t *ret_bytes)
{
	size_t n_bytes = frames_bytes(frames, n_frames, /* is_once= */ true);
	struct stack_frame *copy = malloc(n_bytes + 1);
	char *at;

	if (!copy)
		return NULL;
	at = (char *)(copy + n_frames);
	for (size_t i = 0; i < n_frames; i++) {
		copy[i] = frames[i];
		for (size_t k = 0; k < FRAME_TEXTS; k++) {
			size_t n;

			if (is_text_before(frames, i, k)) {
				*frame_text(&copy[i], k) = *frame_text(&copy[i - 1], k);
				continue;
			}
			n = strlen(*frame_text(&frames[i], k)) + 1;
			*frame_text(&copy[i], k) = memcpy(at, *frame_text(&frames[i], k), n);
			at += n;
		}
	}
	*ret_bytes = n_bytes;
	return copy;
}

/* ---- frames whose texts are of the pool ---- */

static void frames_free(struct stack_frame *frames, size_t n_frames)
{
	for (size_t i = 0; i < n_frames; i++)
		for (size_t k = 0; k < FRAME_TEXTS; k++)
			text_pool_unref(*frame_text(&frames[i], k));
	free(frames);
}

/* Return: NULL without memory */
static struct stack_frame *frames_pool(const struct stack_frame *frames, size_t n_frames)
{
	struct stack_frame *copy = malloc(n_frames * sizeof(*copy));

	for (size_t i = 0; copy && i < n_frames; i++) {
		bool is_whole = true;

		copy[i] = frames[i];
		for (size_t k = 0; k < FRAME_TEXTS; k++) {
			const char **to = frame_text(&copy[i], k);

			*to = is_text_before(frames, i, k) ? text_pool_ref(*frame_text(&copy[i - 1], k))
							   : text_pool_take(*to);
			is_whole &= *to != NULL;
		}
		if (!is_whole) {
			frames_free(copy, i + 1);
			return NULL;
		}
	}
	return copy;
}

struct stack *stack_unref(struct stack *stack)
{
	if (stack && --stack->n_references == 0) {
		frames_free(stack->frames, stack->n_frames);
		free(stack);
	}
	return NULL;
}

int stack_name(struct stack *stack, const struct stack_frame *frames, size_t n_frames, bool is_complete,
	       const char *why)
{
	stack->is_ready = true;
	stack->frames = n_frames ? frames_pool(frames, n_frames) : NULL;
	if (n_frames && !stack->frames) {
		stack->why = "memory was short when its frames were named";
		return -ENOMEM;
	}
	stack->n_frames = n_frames;
	stack->n_bytes = frames_bytes(frames, n_frames, /* is_once= */ true);
	stack->is_complete = is_complete;
	stack->why = why;
	return 0;
}

size_t stack_bytes(const struct stack *stack)
{
	return stack->n_bytes;
}

size_t stack_message_bytes(const struct stack *stack)
{
	return frames_bytes(stack->frames, stack->n_frames, /* is_once= */ false);
}

static const char *module_name(const struct stack_frame *frame)
{
	const char *slash = strrchr(frame->module, '/');

	return slash ? slash + 1 : frame->module;
}

/* Of the libraries of C and C++, by the name of the file: libc.so.6, libc-2.31.so, ld-musl-x86_64.so.1, ... */
static bool is_of_language(const struct stack_frame *frame)
{
	static const char *const names[] = { "libc.so", "libc-2.", "libpthread", "ld-musl", "libstdc++.so", "libc++" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(module_name(frame), names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* A frame without a symbol is told by its place in its file. */
static bool is_nameless(const struct stack_frame *frame)
{
	const char *name = module_name(frame);
	size_t n = strlen(name);

	return !frame->symbol[0] ||
	       (n && strncmp(frame->symbol, name, n) == 0 && strncmp(frame->symbol + n, "+0x", 3) == 0);
}

size_t stack_frame_func_bytes(const struct stack_frame *frame)
{
	const char *offset = frame->is_python ? NULL : strstr(frame->symbol, "+0x");

	return offset ? (size_t)(offset - frame->symbol) : strlen(frame->symbol);
}

const struct stack_frame *stack_site(const struct stack *stack)
{
	const struct stack_frame *native = NULL;

	for (size_t i = 0; stack->is_ready && i < stack->n_frames; i++) {
		const struct stack_frame *frame = &stack->frames[i];

		if (frame->is_python)
			return frame;
		if (!native && !is_nameless(frame) && !layer_names_library(module_name(frame)) &&
		    !is_of_language(frame))
			native = frame;
	}
	return native;
}
