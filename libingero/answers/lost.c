// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/lost.h"

#include <string.h>

#include "libingero/render/units.h"

#define LOST(field, kind, one, many) { #field, LOST_##kind, one, many },
#define LOSS(reason, field, kind, one, many) LOST(field, kind, one, many)
static const struct lost_reason {
	const char *field; /* of the message */
	enum lost_kind kind;
	const char *one;  /* words after a 1: "call not counted (...)" */
	const char *many; /* words after any other number */
} reasons[] = {
#include "bpf/losses.def"
};

#define GAP(reason, words) { #reason, words },
static const struct {
	const char *reason;
	const char *words;
} gaps[] = {
#include "bpf/losses.def"
};

static const char *lost_words(const struct lost_reason *reason, uint64_t n)
{
	return n == 1 ? reason->one : reason->many;
}

static uint64_t lost_count(const Ingero__V1__Lost *lost, const struct lost_reason *reason)
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

static void late_append(struct buf *out, const char *words, const char *late)
{
	(void)buf_printf(out, "%.*s", (int)strcspn(words, "(") - 1, words);
	if (*late)
		(void)buf_printf(out, " (%s)", late);
}

void lost_append(struct buf *out, const Ingero__V1__Lost *lost, const char *late, bool is_whole)
{
	bool is_first = true;

	if (!lost) {
		(void)buf_append_text(out, "the recording has no data on losses; calls may be missing");
		return;
	}
	if (lost_sum(lost, LOST_COUNTS) == 0) {
		(void)buf_append_text(out, "every call counted");
		is_first = false;
	}
	if (is_whole && lost_sum(lost, LOST_COUNTS) + lost_sum(lost, LOST_DETAIL) == 0)
		(void)buf_append_text(out, " · nothing lost");
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		uint64_t n = lost_count(lost, &reasons[i]);

		if (n == 0)
			continue;
		(void)buf_printf(out, "%s%s ", is_first ? "" : " · ", units_count(n).text);
		if (late && strcmp(reasons[i].field, "late_load") == 0)
			late_append(out, lost_words(&reasons[i], n), late);
		else
			(void)buf_append_text(out, lost_words(&reasons[i], n));
		is_first = false;
	}
}

bool lost_gap_is_recording(const Ingero__V1__Gap *gap)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcmp(reasons[i].field, gap->reason) == 0)
			return false;
	return true;
}

static void gap_words_append(struct buf *out, const Ingero__V1__Gap *gap)
{
	const char *words = gap->reason; /* a reason of a later version, by its own name */

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (strcmp(reasons[i].field, gap->reason) != 0)
			continue;
		(void)buf_printf(out, "%s %s", gap->count ? units_count(gap->count).text : "some",
				 lost_words(&reasons[i], gap->count));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(gaps); i++)
		if (strcmp(gaps[i].reason, gap->reason) == 0)
			words = gaps[i].words;
	(void)buf_append_text(out, words);
	if (gap->count)
		(void)buf_printf(out, ", %s missing", units_count(gap->count).text);
}

void lost_gap_append(struct buf *out, const Ingero__V1__Gap *gap)
{
	if (gap->node_told_case)
		(void)buf_printf(out, "%s: ", gap->node);
	gap_words_append(out, gap);
}
