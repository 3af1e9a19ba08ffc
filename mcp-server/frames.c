// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/frames.h"

#include "base/cleanup.h"
#include "libingero/answers/stack/frames.h"
#include "libingero/answers/stack/report.h"

#define FRAME_COLUMNS 100u /* of C++, the name without all arguments */

void frames_place_write(struct writer *w, const struct stack_place *place)
{
	CLEANUP(buf_done) struct buf json = BUF_INIT;

	stack_place_json(place, &json);
	writer_raw(w, "from", buf_text(&json), json.n);
	if (*place->module)
		writer_text(w, "module", place->module);
	w->out->failed |= json.failed;
}

void frames_write(struct writer *w, const Ingero__V1__Stack *stack)
{
	static const struct text_style style = { .is_utf8 = true, .columns = FRAME_COLUMNS };
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (stack->id)
		writer_integer(w, "stack_id", (int64_t)MIN(stack->id, (uint64_t)INT64_MAX));
	writer_boolean(w, "stack_complete", stack->is_complete);
	if (!stack->is_complete && *stack->why)
		writer_text(w, "stack_why", stack->why);
	writer_open(w, "frames", '[');
	for (size_t i = 0; i < stack->n_frames; i++) {
		buf_consume(&text, text.n);
		stack_frame_append(stack->frames[i], /* has_native_mark= */ false, &style, FRAME_COLUMNS, &text);
		writer_text_n(w, NULL, buf_text(&text), text.n);
	}
	writer_close(w, ']');
	w->out->failed |= text.failed;
}
