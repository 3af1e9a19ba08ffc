// SPDX-License-Identifier: Apache-2.0
#include "cli/lost.h"

#include <string.h>

#include "libingero/render/units.h"

static const struct lost_reason reasons[] = {
	{ "thread_state", LOST_COUNTS, "calls not counted (no room for their threads)" },
	{ "process_slots", LOST_COUNTS, "calls not counted (too many processes)" },
	{ "depth", LOST_COUNTS, "calls not counted (nested too deep)" },
	{ "late_load", LOST_COUNTS, "libraries ran before they were attached (first calls not counted)" },
	{ "forgotten", LOST_COUNTS, "calls not told (over 10 000 processes have ended after theirs)" },
	{ "cells", LOST_COUNTS, "calls counted without their operation" },
	{ "ring_full", LOST_DETAIL, "single calls not kept (ring full: try a larger '--ringbuf-size')" },
	{ "subscriber_slow", LOST_DETAIL, "single calls not shown (this output is too slow for them)" },
	{ "life_full", LOST_DETAIL, "starts and ends of processes unseen" },
	{ "switch_unseen", LOST_DETAIL, "waits of unknown cause" },
	{ "behind", LOST_DETAIL, "waits for a CPU too long to know everybody who ran meanwhile" },
	{ "memory", LOST_DETAIL, "pages or reclaims of memory not counted" },
	{ "decode", LOST_DETAIL, "records that made no sense" },
	{ "return_unpaired", LOST_BEFORE, "calls had begun before" },
};

const struct lost_reason *lost_reason_get(size_t i)
{
	return i < ARRAY_SIZE(reasons) ? &reasons[i] : NULL;
}

uint64_t lost_count(const Ingero__V1__Lost *lost, const struct lost_reason *reason)
{
	const ProtobufCFieldDescriptor *field;

	if (!lost)
		return 0;
	field = protobuf_c_message_descriptor_get_field_by_name(&ingero__v1__lost__descriptor, reason->field);
	return field ? *(const uint64_t *)(const void *)((const uint8_t *)lost + field->offset) : 0;
}

uint64_t lost_sum(const Ingero__V1__Lost *lost, enum lost_kind kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].kind == kind)
			sum += lost_count(lost, &reasons[i]);
	return sum;
}

void lost_append(struct buf *out, const Ingero__V1__Lost *lost)
{
	bool is_first = true;

	if (!lost) {
		(void)buf_append_text(out, "what was lost is not known");
		return;
	}
	if (lost_sum(lost, LOST_COUNTS) == 0) {
		(void)buf_append_text(out, "every call counted");
		is_first = false;
	}
	if (lost_sum(lost, LOST_COUNTS) + lost_sum(lost, LOST_DETAIL) == 0)
		(void)buf_append_text(out, " · nothing lost");
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		uint64_t n = lost_count(lost, &reasons[i]);

		if (n == 0)
			continue;
		(void)buf_printf(out, "%s%s %s", is_first ? "" : " · ", units_count(n).text, reasons[i].words);
		is_first = false;
	}
}
