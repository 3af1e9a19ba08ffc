// SPDX-License-Identifier: Apache-2.0
/*
 * Files for speedscope: its own format of sampled profiles (https://www.speedscope.app/file-format-schema.json), a
 * profile for each measure. Stacks are the samples, one after another; each is as long as its weight.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/json_text.h"
#include "libingero/render/flame.h"
#include "libingero/render/text.h"

static const char *unit_name(enum flame_unit unit)
{
	switch (unit) {
	case FLAME_COUNT:
		break;
	case FLAME_NANOSECONDS:
		return "nanoseconds";
	case FLAME_BYTES:
		return "bytes";
	}
	return "none";
}

static void speedscope_frames_append(const struct flame *flame, struct buf *out)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT;

	for (size_t i = 0; i < flame->frames.n; i++) {
		const struct flame_entry *frame = &flame->frames.items[i];
		const char *text = flame_text(flame, frame->name), *module = flame_text(flame, frame->module),
			   *file = flame_text(flame, frame->file);

		buf_consume(&name, name.n);
		if (*text)
			(void)buf_append_text(&name, text);
		else if (*module)
			(void)buf_printf(&name, "[%s]", text_file_name(module));
		else
			(void)buf_append_text(&name, FLAME_NOT_KNOWN);
		(void)buf_append_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_text_add_n(out, buf_text(&name), name.n);
		/* It has no place for a library: where no source is known, that is the file. */
		json_text_member(out, "file", *file ? file : module);
		if (frame->line)
			(void)buf_printf(out, ",\"line\":%" PRIu32, frame->line);
		(void)buf_append_text(out, "}");
		out->failed |= name.failed;
	}
}

static void speedscope_profile_append(const struct flame *flame, size_t value, struct buf *out)
{
	const struct flame_value *v = &flame->values[value];
	bool is_first = true;

	(void)buf_append_text(out, "{\"type\":\"sampled\",\"name\":");
	json_text_add(out, v->name);
	(void)buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
			 unit_name(v->unit), flame_total(flame, value));
	for (size_t i = 0; i < flame->stacks.n; i++) {
		const struct flame_stack *stack = &flame->stacks.items[i];

		if (!flame_weight(flame, i, value))
			continue;
		(void)buf_append_text(out, is_first ? "\n[" : ",\n[");
		is_first = false;
		for (uint32_t k = 0; k < stack->n; k++)
			(void)buf_printf(out, k ? ",%" PRIu32 : "%" PRIu32, flame->places.items[stack->first + k]);
		(void)buf_append_text(out, "]");
	}
	(void)buf_append_text(out, "],\n\"weights\":[");
	is_first = true;
	for (size_t i = 0; i < flame->stacks.n; i++) {
		if (!flame_weight(flame, i, value))
			continue;
		(void)buf_printf(out, is_first ? "%" PRIu64 : ",%" PRIu64, flame_weight(flame, i, value));
		is_first = false;
	}
	(void)buf_append_text(out, "]}");
}

int flame_speedscope_append(const struct flame *flame, const struct flame_head *head, struct buf *out)
{
	(void)buf_append_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":"
				   "\"ingero " INGERO_VERSION "\",\"name\":");
	json_text_add(out, head->title);
	(void)buf_printf(out, ",\"activeProfileIndex\":%zu,\n\"shared\":{\"frames\":[", head->value);
	speedscope_frames_append(flame, out);
	(void)buf_append_text(out, "]},\n\"profiles\":[\n");
	for (size_t i = 0; i < flame->n_values; i++) {
		if (i)
			(void)buf_append_text(out, ",\n");
		speedscope_profile_append(flame, i, out);
	}
	(void)buf_append_text(out, "]}\n");
	return out->failed ? -ENOMEM : 0;
}
