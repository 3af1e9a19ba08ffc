// SPDX-License-Identifier: Apache-2.0
/*
 * A row of the tail: a format byte, then for each event the difference from the previous one.
 *
 * An event is stored as a mask of the members that differ from the previous event, the time since the start of the
 * previous event, the duration, these members, and the blame of each class that is not 0, all as varints. In format 1
 * the mask had two bytes.
 */
#include "archive/codec/codec.h"

#include <errno.h>
#include <string.h>

#include "archive/codec/kept.h"

#define TAIL_FORMAT 2
#define TAIL_FORMAT_FIRST 1

/* Bits of the mask; members follow in this order (events/columns.def). */
enum tail_member {
	TAIL_OVERHEAD = 0,
	TAIL_BLAME_CLASSES = 11, /* bit per class that is not 0 */
#define KEPT(name, id, place, group, member) TAIL_##name = (place),
#include "events/columns.def"
};
#define KEPT(name, id, place, group, member) | 1u << (place)
static const uint32_t tail_members = 1u << TAIL_OVERHEAD | 1u << TAIL_BLAME_CLASSES
#include "events/columns.def"
	;
#define TAIL_MEMBERS_MAX 32

#define TAIL_EVENT_BYTES_MAX (1 + (3 + TAIL_MEMBERS_MAX + BLAME_COUNT) * VARINT_BYTES_MAX)

static uint64_t blame_classes(const struct call_record *call)
{
	uint64_t classes = 0;

	for (uint32_t i = 0; i < BLAME_COUNT; i++)
		classes |= (uint64_t)(call->blame_ns[i] != 0) << i;
	return classes;
}

/* Members that are compared with the previous event. */
static void members_of(const struct stored_event *e, uint64_t *ret)
{
	ret[TAIL_OVERHEAD] = varint_fold(e->call.raw_ns - e->call.duration_ns);
#define KEPT(name, id, place, group, member) ret[TAIL_##name] = KEPT_GET(e->member);
#include "events/columns.def"
	ret[TAIL_BLAME_CLASSES] = blame_classes(&e->call);
}

int tail_append(struct buf *row, const struct stored_event *previous, const struct stored_event *event)
{
	static const struct stored_event nothing;
	uint64_t before[TAIL_MEMBERS_MAX], now[TAIL_MEMBERS_MAX];
	uint8_t *begin = buf_reserve(row, TAIL_EVENT_BYTES_MAX), *at = begin;
	uint32_t differs = 0;

	if (!begin)
		return -ENOMEM;
	if (!previous)
		*at++ = TAIL_FORMAT;
	members_of(previous ? previous : &nothing, before);
	members_of(event, now);

	for (uint32_t left = tail_members; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		differs |= (uint32_t)(now[i] != before[i]) << i;
	}
	at = varint_put(at, differs);
	at = varint_put(at, varint_fold(event->call.start_ns - (previous ? previous->call.start_ns : 0)));
	at = varint_put(at, event->call.duration_ns);
	for (uint32_t left = differs; left; left &= left - 1)
		at = varint_put(at, now[__builtin_ctz(left)]);
	for (uint64_t left = now[TAIL_BLAME_CLASSES]; left; left &= left - 1)
		at = varint_put(at, event->call.blame_ns[__builtin_ctzll(left)]);
	row->n += (size_t)(at - begin);
	return 0;
}

static const uint64_t member_most[TAIL_MEMBERS_MAX] = {
	[TAIL_OVERHEAD] = UINT64_MAX,
	[TAIL_BLAME_CLASSES] = (1u << BLAME_COUNT) - 1,
#define KEPT(name, id, place, group, member) [TAIL_##name] = KEPT_MOST(struct stored_event, member),
#include "events/columns.def"
};

static void members_set(const uint64_t *members, struct stored_event *e)
{
	e->call.raw_ns = e->call.duration_ns + varint_unfold(members[TAIL_OVERHEAD]);
#define KEPT(name, id, place, group, member) KEPT_SET(e->member, members[TAIL_##name]);
#include "events/columns.def"
	e->call.op = e->op <= UINT16_MAX ? (uint16_t)e->op : 0;
}

static uint32_t two_bytes_get(struct varint_reader *reader)
{
	const uint8_t *bytes = varint_get_bytes(reader, 2);

	return bytes ? bytes[0] | (uint32_t)bytes[1] << 8 : 0;
}

/* Return: 0 or -EBADMSG */
static int event_get(struct varint_reader *reader, uint8_t format, uint64_t *members, struct stored_event *event)
{
	uint64_t differs = format == TAIL_FORMAT_FIRST ? two_bytes_get(reader) : varint_get(reader);

	if (reader->failed || differs & ~(uint64_t)tail_members)
		return -EBADMSG;

	event->call.start_ns += varint_unfold(varint_get(reader));
	event->call.duration_ns = varint_get(reader);
	for (uint32_t left = (uint32_t)differs; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		members[i] = varint_get(reader);
		if (members[i] > member_most[i])
			return -EBADMSG;
	}
	members_set(members, event);
	for (uint32_t i = 0; i < BLAME_COUNT; i++)
		event->call.blame_ns[i] = members[TAIL_BLAME_CLASSES] >> i & 1 ? varint_get(reader) : 0;
	return reader->failed ? -EBADMSG : 0;
}

int tail_decode(const void *data, size_t n, codec_event_func func, void *func_data)
{
	struct varint_reader reader = { .p = data };
	struct stored_event event = { .call.type = RECORD_CALL };
	uint64_t members[TAIL_MEMBERS_MAX] = { 0 };
	uint8_t format;

	if (n == 0)
		return 0;
	reader.end = reader.p + n;
	format = *reader.p++;
	if (format < TAIL_FORMAT_FIRST || format > TAIL_FORMAT)
		return format > TAIL_FORMAT ? -ENOTSUP : -EBADMSG;
	while (reader.p < reader.end) {
		int r = event_get(&reader, format, members, &event);

		if (r == 0)
			r = func(&event, func_data);
		if (r != 0)
			return r;
	}
	return 0;
}
