// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/stack_json.h"

#include <inttypes.h>

#include "base/json_text.h"

static void number_member(struct buf *out, const char *key, uint32_t value)
{
	if (value && !out->failed)
		(void)buf_printf(out, "%s\"%s\":%" PRIu32, out->data[out->n - 1] == '{' ? "" : ",", key, value);
}

static void frame_json_append(struct buf *out, const Ingero__V1__StackFrame *frame)
{
	(void)buf_append_text(out, "{");
	if (frame->is_python) {
		json_text_member(out, "py_file", frame->file);
		json_text_member(out, "py_func", frame->symbol);
		json_text_member(out, "py_qualname", frame->qualname);
		number_member(out, "py_line", frame->line);
	} else {
		if (frame->ip)
			(void)buf_printf(out, "\"ip\":\"0x%" PRIx64 "\"", frame->ip);
		json_text_member(out, "symbol", frame->symbol);
		json_text_member(out, "file", frame->file);
		number_member(out, "line", frame->line);
		json_text_member(out, "module", frame->module);
	}
	(void)buf_append_text(out, "}");
}

void stack_json_members(struct buf *out, const Ingero__V1__Stack *stack)
{
	if (stack->id)
		(void)buf_printf(out, "\"stack_id\":%" PRIu64 ",", stack->id);
	(void)buf_append_text(out, "\"stack\":[");
	for (size_t i = 0; i < stack->n_frames; i++) {
		if (i)
			(void)buf_append_text(out, ",");
		frame_json_append(out, stack->frames[i]);
	}
	(void)buf_printf(out, "],\"stack_complete\":%s", stack->is_complete ? "true" : "false");
	if (!stack->is_complete)
		json_text_member(out, "stack_why", stack->why);
}

void stack_json_site(struct buf *out, const Ingero__V1__Site *site)
{
	(void)buf_append_text(out, "{");
	json_text_member(out, "file", site->file);
	json_text_member(out, "func", site->func);
	number_member(out, "line", site->line);
	(void)buf_append_text(out, "}");
}
