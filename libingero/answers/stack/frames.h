// SPDX-License-Identifier: Apache-2.0
/* The frames of a stack for people, innermost first, native and Python ones interleaved, as Ingero writes them. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/**
 * stack_frame_append() - append "[Python] train.py:8 in train_step()" or "cublasSgemm_v2+0xa6 (libcublas.so.12)"
 * @has_native_mark: "[Native] " stands before native frames
 * @room: maximum columns; a path loses its first directories, a symbol its end
 */
void stack_frame_append(const Ingero__V1__StackFrame *frame, bool has_native_mark, const struct text_style *style,
			unsigned int room, struct buf *out);
/** stack_lines_append() - append a line for each frame, and why the stack is not complete, as a part of `explain ID` */
void stack_lines_append(const Ingero__V1__Stack *stack, const struct text_style *style, struct buf *out);
/** stack_debug_append() - append the lines of `trace --debug` for a call. @stack: its own; NULL: nothing is appended */
void stack_debug_append(const Ingero__V1__Event *event, const Ingero__V1__Stack *stack, const struct text_style *style,
			struct buf *out);
