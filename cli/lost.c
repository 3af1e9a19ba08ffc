// SPDX-License-Identifier: Apache-2.0
#include "cli/lost.h"

#include <string.h>

#include "libingero/render/units.h"

static const struct lost_reason reasons[] = {
	{ "process_slots", LOST_COUNTS, "call not counted (too many processes: name some with '--pid')",
	  "calls not counted (too many processes: name some with '--pid')" },
	{ "depth", LOST_COUNTS, "call not counted (nested too deep)", "calls not counted (nested too deep)" },
	{ "late_load", LOST_COUNTS,
	  "library was already in use; calls before the attach were not counted ('ingero trace -- PROGRAM' counts all)",
	  "libraries were already in use; calls before the attach were not counted ('ingero trace -- PROGRAM' counts "
	  "all)" },
	{ "forgotten", LOST_COUNTS,
	  "call not told (over 10 000 processes have ended after its own: trace for a shorter time)",
	  "calls not told (over 10 000 processes have ended after theirs: trace for a shorter time)" },
	{ "cells", LOST_COUNTS, "call counted without its operation", "calls counted without their operation" },
	{ "ring_full", LOST_DETAIL, "single call not kept (ring full: try a larger '--ringbuf-size')",
	  "single calls not kept (ring full: try a larger '--ringbuf-size')" },
	{ "subscriber_slow", LOST_DETAIL, "single call not shown (this output is too slow for it: try '--record slow')",
	  "single calls not shown (this output is too slow for them: try '--record slow')" },
	{ "thread_state", LOST_DETAIL, "call counted without its time (no room for its thread)",
	  "calls counted without their times (no room for their threads)" },
	{ "life_full", LOST_DETAIL, "start or end of a process unseen", "starts and ends of processes unseen" },
	{ "switch_unseen", LOST_DETAIL, "wait of unknown cause", "waits of unknown cause" },
	{ "behind", LOST_DETAIL, "wait for a CPU too long to know everybody who ran meanwhile",
	  "waits for a CPU too long to know everybody who ran meanwhile" },
	{ "memory", LOST_DETAIL, "page or reclaim of memory not counted", "pages or reclaims of memory not counted" },
	{ "decode", LOST_DETAIL, "record that made no sense", "records that made no sense" },
	{ "return_unpaired", LOST_BEFORE, "call had begun before", "calls had begun before" },
};

const struct lost_reason *lost_reason_get(size_t i)
{
	return i < ARRAY_SIZE(reasons) ? &reasons[i] : NULL;
}

const char *lost_words(const struct lost_reason *reason, uint64_t n)
{
	return n == 1 ? reason->one : reason->many;
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
		(void)buf_append_text(out, "the recording does not tell what it lost; calls may be missing");
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
		(void)buf_printf(out, "%s%s %s", is_first ? "" : " · ", units_count(n).text,
				 lost_words(&reasons[i], n));
		is_first = false;
	}
}
