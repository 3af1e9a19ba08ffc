// SPDX-License-Identifier: Apache-2.0
/* Answers on stacks for tests, made by hand: rows with their frames. */
#pragma once

#include <string.h>

#include "libingero/answers/stack/rows.h"
#include "libingero/render/units.h"

#ifndef NSEC_PER_SEC
#define NSEC_PER_SEC 1000000000ull
#endif
#define MS 1000000ull
#define AT(seconds) ((1769864400ull + (seconds)) * NSEC_PER_SEC) /* 2026-01-31 14:00:00 in Berlin and on */
#define FRAMES_MAX 12
#define ROWS_MAX 8
#define TEXT(text) ((char *)(uintptr_t)(text)) /* messages borrow it */

struct made_stack {
	Ingero__V1__Stack stack;
	Ingero__V1__StackFrame frames[FRAMES_MAX], *list[FRAMES_MAX];
};

static inline void made_stack_init(struct made_stack *s, uint64_t id)
{
	memset(s, 0, sizeof(*s));
	s->stack = (Ingero__V1__Stack)INGERO__V1__STACK__INIT;
	s->stack.id = id;
	s->stack.is_complete = 1;
	s->stack.frames = s->list;
}

static inline Ingero__V1__StackFrame *made_frame(struct made_stack *s)
{
	Ingero__V1__StackFrame *frame = &s->frames[s->stack.n_frames];

	*frame = (Ingero__V1__StackFrame)INGERO__V1__STACK_FRAME__INIT;
	s->list[s->stack.n_frames++] = frame;
	return frame;
}

static inline void made_native(struct made_stack *s, const char *symbol, const char *module)
{
	Ingero__V1__StackFrame *frame = made_frame(s);

	frame->ip = 0x7f0000000000 + s->stack.n_frames;
	frame->symbol = TEXT(symbol);
	frame->module = TEXT(module);
}

static inline void made_python(struct made_stack *s, const char *file, uint32_t line, const char *func)
{
	Ingero__V1__StackFrame *frame = made_frame(s);

	frame->is_python = 1;
	frame->file = TEXT(file);
	frame->line = line;
	frame->symbol = TEXT(func);
}

/* The usual one: the runtime called by a library that Python calls. */
static inline void made_stack_python(struct made_stack *s, uint64_t id, const char *file, uint32_t line)
{
	made_stack_init(s, id);
	made_native(s, "cudaStreamSynchronize", "/lib/libcudart.so.12");
	made_native(s, "at::wait(int)+0x1d4", "/lib/libtorch_cuda.so");
	made_python(s, file, line, "forward");
	made_python(s, "/data/alice/train.py", 13, "main");
	made_native(s, "_start+0x21", "/usr/bin/python3.11");
}

struct made_rows {
	struct stack_rows rows;
	Ingero__V1__StackRow row[ROWS_MAX];
	const Ingero__V1__StackRow *list[ROWS_MAX];
	Ingero__V1__Blame blame[ROWS_MAX];
	Ingero__V1__StacksEnd end;
	Ingero__V1__Window window;
};

static inline void made_rows_init(struct made_rows *r)
{
	memset(r, 0, sizeof(*r));
	r->window = (Ingero__V1__Window)INGERO__V1__WINDOW__INIT;
	r->window.from_unix_ns = AT(0);
	r->window.to_unix_ns = AT(300);
	r->end = (Ingero__V1__StacksEnd)INGERO__V1__STACKS_END__INIT;
	r->end.window = &r->window;
	r->rows.rows.items = r->list;
	r->rows.end = &r->end;
}

/* Recorded calls of a process from one stack; all took as long. */
static inline Ingero__V1__StackRow *made_row(struct made_rows *r, const struct made_stack *stack, uint32_t pid,
					     const char *op, uint64_t count, uint64_t each_ns)
{
	size_t i = r->rows.rows.n++;
	Ingero__V1__StackRow *row = &r->row[i];

	*row = (Ingero__V1__StackRow)INGERO__V1__STACK_ROW__INIT;
	row->stack = stack ? (Ingero__V1__Stack *)(uintptr_t)&stack->stack : NULL;
	row->pid = pid;
	row->process_name = TEXT("python3");
	row->source = TEXT("cuda");
	row->op = TEXT(op);
	row->count = row->counted = count;
	row->total_ns = row->counted_ns = count * each_ns;
	row->p50_ns = row->p99_ns = row->max_ns = each_ns;
	r->blame[i] = (Ingero__V1__Blame)INGERO__V1__BLAME__INIT;
	r->blame[i].has_device = 1;
	r->blame[i].device = row->total_ns * 3 / 4;
	r->blame[i].has_on_cpu = 1;
	r->blame[i].on_cpu = row->total_ns / 4;
	row->blame_ns = &r->blame[i];
	r->list[i] = row;
	r->end.rows++;
	r->end.calls += count;
	r->end.without += stack ? 0 : count;
	return row;
}
