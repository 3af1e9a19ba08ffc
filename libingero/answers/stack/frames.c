// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/frames.h"

#include <inttypes.h>
#include <string.h>

#include "libingero/answers/stack/place.h"
#include "libingero/render/units.h"

#define SYMBOL_LEAST 12u /* columns of a symbol that can still be recognised */
#define MODULE_LEAST 20u /* and of a library's name: "_ctypes.cpython-312-x86_64-linux-gnu.so" */
#define EXPLAIN_FIRST "  stack    "
#define EXPLAIN_NEXT "           "
#define DEBUG_FIRST "[DEBUG] "

/* The end of a path that fits, from a directory on; at least the name of the file. */
static const char *path_end(const char *path, unsigned int room)
{
	const char *slash = path;

	if (text_columns(path) <= room)
		return path;
	while ((slash = strchr(slash, '/')) && slash[1]) {
		if (text_columns(slash) + 1 <= room) /* with the mark before it */
			return slash;
		slash++;
	}
	return text_file_name(path);
}

static void python_append(const Ingero__V1__StackFrame *frame, const struct text_style *style, unsigned int room,
			  struct buf *out)
{
	CLEANUP(buf_done) struct buf rest = BUF_INIT, whole = BUF_INIT;
	unsigned int used;
	const char *end;

	if (frame->line)
		(void)buf_printf(&rest, ":%u", frame->line);
	(void)buf_printf(&rest, " in %s()", *frame->symbol ? frame->symbol : "?");
	used = text_columns("[Python] ") + text_columns(buf_text(&rest));
	end = path_end(frame->file, room > used ? room - used : 0);
	(void)buf_printf(&whole, "[Python] %s%s%s", end != frame->file && *end == '/' ? "…" : "",
			 *frame->file ? end : "?", buf_text(&rest));
	(void)text_append(out, style, buf_text(&whole), room);
	out->failed |= rest.failed || whole.failed;
}

/* At the beginning of a function there is no offset to tell. */
static void symbol_append(const char *symbol, struct buf *out)
{
	static const char none[] = "+0x0";
	size_t n = strlen(symbol), n_none = strlen(none);

	if (n > n_none && strcmp(symbol + n - n_none, none) == 0)
		n -= n_none;
	(void)buf_append(out, symbol, n);
}

/* The library, the source file and its line. @room: if they take more, the library's name is cut first */
static void native_rest_append(const Ingero__V1__StackFrame *frame, bool has_module, const struct text_style *style,
			       unsigned int room, struct buf *out)
{
	const char *module = has_module ? text_file_name(frame->module) : "";
	CLEANUP(buf_done) struct buf place = BUF_INIT;
	unsigned int columns;

	if (*frame->file) {
		(void)buf_append_text(&place, text_file_name(frame->file));
		if (frame->line)
			(void)buf_printf(&place, ":%u", frame->line);
	}
	if (*module) {
		columns = text_columns("() ") + text_columns(buf_text(&place));
		(void)buf_append_text(out, "(");
		(void)text_append(out, style, module, MAX(MODULE_LEAST, room - MIN(room, columns)));
		(void)buf_printf(out, ")%s", place.n ? " " : "");
	}
	(void)buf_append_text(out, buf_text(&place));
	out->failed |= place.failed;
}

static void native_append(const Ingero__V1__StackFrame *frame, bool has_mark, const struct text_style *style,
			  unsigned int room, struct buf *out)
{
	CLEANUP(buf_done) struct buf rest = BUF_INIT, symbol = BUF_INIT;
	unsigned int used = has_mark ? text_append(out, style, "[Native] ", room) : 0, tail;

	symbol_append(frame->symbol, &symbol);
	/* "libx.so.1+0x2a" names its library already. */
	tail = used + (symbol.n ? text_columns(buf_text(&symbol)) + 1 : 0);
	native_rest_append(frame, !(symbol.n && stack_frame_is_nameless(frame)), style, room - MIN(room, tail), &rest);
	if (!rest.n && !symbol.n)
		(void)buf_printf(&rest, "0x%" PRIx64, frame->ip);
	tail = text_columns(buf_text(&rest));
	if (symbol.n) {
		unsigned int left = room - MIN(room, used + (tail ? tail + 1 : 0));

		used += text_append(out, style, buf_text(&symbol),
				    MIN(MAX(left, SYMBOL_LEAST), room - MIN(room, used)));
		if (tail)
			used += text_append(out, style, " ", room - MIN(room, used));
	}
	(void)text_append(out, style, buf_text(&rest), room - MIN(room, used));
	out->failed |= rest.failed || symbol.failed;
}

void stack_frame_append(const Ingero__V1__StackFrame *frame, bool has_native_mark, const struct text_style *style,
			unsigned int room, struct buf *out)
{
	if (frame->is_python)
		python_append(frame, style, room, out);
	else
		native_append(frame, has_native_mark, style, room, out);
}

void stack_lines_append(const Ingero__V1__Stack *stack, const struct text_style *style, struct buf *out)
{
	unsigned int indent = text_columns(EXPLAIN_NEXT);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	for (size_t i = 0; i < stack->n_frames; i++) {
		(void)text_append(out, style, i ? EXPLAIN_NEXT : EXPLAIN_FIRST, style->columns);
		stack_frame_append(stack->frames[i], /* has_native_mark= */ true, style,
				   style->columns - MIN(style->columns, indent), out);
		(void)buf_append_text(out, "\n");
	}
	if (stack->is_complete)
		return;
	(void)buf_printf(&text, "not complete%s%s", *stack->why ? ": " : "", stack->why);
	text_paragraph(out, style, stack->n_frames ? EXPLAIN_NEXT : EXPLAIN_FIRST, buf_text(&text));
	out->failed |= text.failed;
}

void stack_debug_append(const Ingero__V1__Event *event, const Ingero__V1__Stack *stack, const struct text_style *style,
			struct buf *out)
{
	if (!stack)
		return;
	text_line(out, style, TEXT_PLAIN, DEBUG_FIRST "stack trace for %s (PID %u, TID %u, %s):", event->op, event->pid,
		  event->tid, units_things(stack->n_frames, "frame", "frames").text);
	for (size_t i = 0; i < stack->n_frames; i++) {
		char first[40];
		unsigned int used;

		(void)snprintf(first, sizeof(first), DEBUG_FIRST "  [%zu] ", i);
		used = text_append(out, style, first, style->columns);
		stack_frame_append(stack->frames[i], /* has_native_mark= */ true, style, style->columns - used, out);
		(void)buf_append_text(out, "\n");
	}
	if (!stack->is_complete)
		text_line(out, style, TEXT_PLAIN, DEBUG_FIRST "  not complete%s%s", *stack->why ? ": " : "",
			  stack->why);
}
