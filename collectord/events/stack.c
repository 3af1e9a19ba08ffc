// SPDX-License-Identifier: Apache-2.0
#include "events/stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/layer.h"

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

struct stack *stack_unref(struct stack *stack)
{
	if (stack && --stack->n_references == 0) {
		free(stack->frames);
		free(stack);
	}
	return NULL;
}

/* The texts of a frame, in one order for all who walk them. */
#define FRAME_TEXTS 4
static void frame_texts(struct stack_frame *frame, const char **ret_texts[FRAME_TEXTS])
{
	ret_texts[0] = &frame->symbol;
	ret_texts[1] = &frame->qualname;
	ret_texts[2] = &frame->file;
	ret_texts[3] = &frame->module;
}

/* Whether the frame before has the same text: most frames of a stack are of few files. */
static bool is_text_before(const struct stack_frame *frames, size_t i, size_t k)
{
	struct stack_frame pair[2] = { frames[i ? i - 1 : 0], frames[i] };
	const char **before[FRAME_TEXTS], **now[FRAME_TEXTS];

	frame_texts(&pair[0], before);
	frame_texts(&pair[1], now);
	return i && strcmp(*before[k], *now[k]) == 0;
}

struct stack_frame *stack_frames_copy(const struct stack_frame *frames, size_t n_frames, size_t *ret_bytes)
{
	size_t n_bytes = n_frames * sizeof(*frames);
	const char **texts[FRAME_TEXTS], **before[FRAME_TEXTS];
	struct stack_frame *copy;
	char *at;

	for (size_t i = 0; i < n_frames; i++) {
		struct stack_frame frame = frames[i];

		frame_texts(&frame, texts);
		for (size_t k = 0; k < FRAME_TEXTS; k++)
			n_bytes += is_text_before(frames, i, k) ? 0 : strlen(*texts[k]) + 1;
	}
	copy = malloc(n_bytes + 1);
	if (!copy)
		return NULL;
	at = (char *)(copy + n_frames);
	for (size_t i = 0; i < n_frames; i++) {
		copy[i] = frames[i];
		frame_texts(&copy[i], texts);
		frame_texts(&copy[i ? i - 1 : 0], before);
		for (size_t k = 0; k < FRAME_TEXTS; k++) {
			size_t n = strlen(*texts[k]) + 1;

			if (is_text_before(frames, i, k)) {
				*texts[k] = *before[k];
				continue;
			}
			*texts[k] = memcpy(at, *texts[k], n);
			at += n;
		}
	}
	*ret_bytes = n_bytes;
	return copy;
}

int stack_name(struct stack *stack, const struct stack_frame *frames, size_t n_frames, bool is_complete,
	       const char *why)
{
	stack->is_ready = true;
	stack->frames = n_frames ? stack_frames_copy(frames, n_frames, &stack->n_bytes) : NULL;
	if (n_frames && !stack->frames) {
		stack->why = "memory was short when its frames were named";
		return -ENOMEM;
	}
	stack->n_frames = n_frames;
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
	size_t n_bytes = stack->n_frames * sizeof(*stack->frames);
	const char **texts[FRAME_TEXTS];

	for (size_t i = 0; i < stack->n_frames; i++) {
		frame_texts(&stack->frames[i], texts);
		for (size_t k = 0; k < FRAME_TEXTS; k++)
			n_bytes += strlen(*texts[k]) + 1;
	}
	return n_bytes;
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
