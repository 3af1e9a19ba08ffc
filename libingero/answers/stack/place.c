// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/place.h"

#include <string.h>

#include "base/layer.h"
#include "libingero/render/text.h"

#define CHAIN_MOST 8u /* callers beyond are beyond the width of a screen */

/* Bytes of "f" in "f+0x1d4". */
static size_t symbol_bytes(const char *symbol)
{
	size_t n = strlen(symbol), digits = n;

	while (digits > 0 && strchr("0123456789abcdef", symbol[digits - 1]))
		digits--;
	if (digits < n && digits >= 3 && memcmp(symbol + digits - 3, "+0x", 3) == 0)
		return digits - 3;
	return n;
}

bool stack_frame_is_nameless(const Ingero__V1__StackFrame *frame)
{
	const char *library = text_file_name(frame->module);
	size_t n = symbol_bytes(frame->symbol);

	return !frame->is_python && (n == 0 || (n == strlen(library) && memcmp(frame->symbol, library, n) == 0));
}

struct stack_place stack_place_of(const Ingero__V1__StackFrame *frame)
{
	struct stack_place place = {
		.file = frame->file,
		.func = frame->symbol,
		.module = frame->is_python ? "" : frame->module,
		.line = frame->line,
		.is_python = frame->is_python,
	};

	place.n_func = frame->is_python ? strlen(frame->symbol) : symbol_bytes(frame->symbol);
	if (stack_frame_is_nameless(frame))
		place.n_func = 0;
	return place;
}

/* The innermost native frame that is not of a traced library: with a name, if one has it. */
static const Ingero__V1__StackFrame *native_find(const Ingero__V1__Stack *stack)
{
	const Ingero__V1__StackFrame *first = NULL;

	for (size_t i = 1; i < stack->n_frames; i++) {
		const Ingero__V1__StackFrame *frame = stack->frames[i];

		if (frame->is_python || layer_names_library(text_file_name(frame->module)))
			continue;
		if (!stack_frame_is_nameless(frame))
			return frame;
		first = first ? first : frame;
	}
	return first;
}

bool stack_place_find(const Ingero__V1__Stack *stack, struct stack_place *ret)
{
	const Ingero__V1__StackFrame *found = NULL;

	if (!stack || !stack->n_frames)
		return false;
	for (size_t i = 0; i < stack->n_frames && !found; i++)
		found = stack->frames[i]->is_python ? stack->frames[i] : NULL;
	if (!found)
		found = native_find(stack);
	*ret = stack_place_of(found ? found : stack->frames[0]);
	return true;
}

void stack_place_append(const struct stack_place *place, struct buf *out)
{
	bool has_func = place->n_func > 0;

	if (*place->file) {
		(void)buf_append_text(out, text_file_name(place->file));
		if (place->line)
			(void)buf_printf(out, ":%u", place->line);
		if (has_func)
			(void)buf_append_text(out, " in ");
	}
	(void)buf_append(out, place->func, place->n_func);
	if (!*place->file && *place->module)
		(void)buf_printf(out, "%s(%s)", has_func ? " " : "", text_file_name(place->module));
	if (!*place->file && !*place->module && !has_func)
		(void)buf_append_text(out, "an unknown place");
}

void stack_chain_append(const Ingero__V1__Stack *stack, struct buf *out)
{
	struct stack_place place, next;
	unsigned int n = 0;
	size_t i = 0;

	if (!stack_place_find(stack, &place))
		return;
	stack_place_append(&place, out);
	while (i < stack->n_frames && stack->frames[i]->symbol != place.func)
		i++;
	for (i++; i < stack->n_frames && n < CHAIN_MOST; i++) {
		next = stack_place_of(stack->frames[i]);
		if (next.is_python != place.is_python || !next.n_func)
			continue;
		(void)buf_append_text(out, " ← ");
		stack_place_append(&next, out);
		n++;
	}
}

void stack_site_append(const Ingero__V1__Site *site, struct buf *out)
{
	struct stack_place place = { .module = "" };

	if (!site || (!*site->file && !*site->func))
		return;
	place.file = site->file;
	place.func = site->func;
	place.n_func = strlen(site->func);
	place.line = site->line;
	stack_place_append(&place, out);
}
