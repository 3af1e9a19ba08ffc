// SPDX-License-Identifier: Apache-2.0
/*
 * A block: magic, format, number of events, start of the first event, then columns (column.h).
 *
 * Packing goes column by column through one array of numbers, so that it stays in the
 * CPU's cache; unpacking likewise.
 */
#include "archive/codec/codec.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/codec/blame_parts.h"
#include "archive/codec/block_groups.h"
#include "archive/codec/column.h"
#include "archive/codec/kept.h"
#include "archive/codec/varint.h"

static const uint8_t magic[4] = { 'I', 'g', 'b', 'k' }; /* identifies a block in a damaged file */

/* Column of the parts of BLOCK_BLAME, which has the shapes. Private to this file: not selected by BLOCK_COLUMN(). */
#define COLUMN_BLAME_PARTS (32 + BLOCK_BLAME)
_Static_assert(BLOCK_COLUMN_COUNT <= 32 && COLUMN_BLAME_PARTS < COLUMN_IDS, "columns are named by 32 bits");

struct block_encoder {
	struct column_packer *packer;
	uint64_t values[BLOCK_EVENTS_MAX];
	uint8_t groups[BLOCK_EVENTS_MAX];
	struct buf parts;  /* uint64_t each, blame of all events */
	struct buf bounds; /* byte each */
};

struct block_decoder {
	struct column_unpacker *unpacker;
	struct column_index index;
	uint64_t values[BLOCK_EVENTS_MAX];
	uint64_t duration_ns[BLOCK_EVENTS_MAX];
	uint64_t raw_ns[BLOCK_EVENTS_MAX];
	uint8_t groups[BLOCK_EVENTS_MAX]; /* of the current block, if has_groups */
	bool has_groups;
	struct buf parts;
	struct buf bounds;
	uint64_t base_ns;
	size_t n; /* events of the open block; 0: none is open */
};

/* Wanted events: from `from` on, before `to`, written from events[0] on. */
struct block_range {
	size_t from, to;
	struct stored_event *events;
};

/* Columns whose value mostly follows from the operation. */
#define BY_OP(id) BLOCK_COLUMN(id)
#define ALONE(id) 0u
#define KEPT(name, id, place, group, member) | group(id)
static const uint32_t columns_by_op = BLOCK_COLUMN(BLOCK_OVERHEAD)
#include "events/columns.def"
	;

/* ---- packing ---- */

static void block_encoder_freep(struct block_encoder **encoder)
{
	block_encoder_free(*encoder);
}

int block_encoder_new(struct block_encoder **ret_encoder)
{
	CLEANUP(block_encoder_freep) struct block_encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	r = column_packer_new(&e->packer);
	if (r < 0)
		return r;
	*ret_encoder = TAKE_PTR(e);
	return 0;
}

void block_encoder_free(struct block_encoder *e)
{
	if (!e)
		return;
	column_packer_free(e->packer);
	buf_done(&e->parts);
	buf_done(&e->bounds);
	free(e);
}

static uint64_t end_ns(const struct call_record *call)
{
	uint64_t end = call->start_ns + call->duration_ns;

	return end < call->start_ns ? UINT64_MAX : end;
}

/* Return: 0, or -EINVAL when the events are not in order of start */
static int head_of(const struct stored_event *events, size_t n, struct block_head *ret_head)
{
	struct block_head head = { .t0_ns = events[0].call.start_ns, .n = (uint32_t)n, .process = events[0].process };
	uint64_t before_ns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct stored_event *e = &events[i];
		uint32_t op = MIN(e->op, 255u);

		if (e->call.start_ns < before_ns)
			return -EINVAL;
		before_ns = e->call.start_ns;
		head.t1_ns = MAX(head.t1_ns, end_ns(&e->call));
		head.max_ns = MAX(head.max_ns, e->call.duration_ns);
		head.slow += (e->call.reason & RECORD_REASON_SLOW) != 0;
		head.ops[op / 8] |= (uint8_t)(1u << op % 8);
		if (e->process != head.process)
			head.process = 0;
	}
	*ret_head = head;
	return 0;
}

#define GATHER(value)                                                                                                  \
	for (size_t i = 0; i < n; i++) {                                                                               \
		const struct stored_event *e = &events[i];                                                             \
		values[i] = (value);                                                                                   \
	}                                                                                                              \
	break

/* All columns except BLOCK_BLAME. */
static void gather(enum block_column id, const struct stored_event *events, size_t n, uint64_t *values)
{
	switch (id) {
	case BLOCK_TIME:
		GATHER(e->call.start_ns - events[i ? i - 1 : 0].call.start_ns);
	case BLOCK_DURATION:
		GATHER(e->call.duration_ns);
	case BLOCK_OVERHEAD:
		GATHER(varint_fold(e->call.raw_ns - e->call.duration_ns));
#define KEPT(name, id, place, group, member)                                                                           \
	case BLOCK_##name:                                                                                             \
		GATHER(KEPT_GET(e->member));
#include "events/columns.def"
	case BLOCK_BLAME:
	case BLOCK_COLUMN_COUNT:
		break;
	}
}

static int block_pack_blame(struct block_encoder *encoder, const struct stored_event *events, size_t n,
			    const struct column_context *by_op, struct buf *out)
{
	struct column_context context = { .bounds = NULL };
	size_t n_parts = 0;
	int r;

	encoder->parts.n = encoder->bounds.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct call_record *call = &events[i].call;
		uint64_t parts[BLAME_COUNT];
		uint8_t bounds[BLAME_COUNT];
		uint16_t shape = blame_parts_pack(call->blame_ns, call->raw_ns, parts);
		uint32_t n_here = blame_parts_count(shape);

		encoder->values[i] = shape;
		if (!n_here)
			continue;
		memset(bounds, varint_bits(call->raw_ns), n_here);
		r = buf_append(&encoder->parts, parts, n_here * sizeof(parts[0]));
		if (r == 0)
			r = buf_append(&encoder->bounds, bounds, n_here);
		if (r < 0)
			return r;
		n_parts += n_here;
	}
	r = column_pack(encoder->packer, BLOCK_BLAME, encoder->values, n, by_op, out);
	context.bounds = encoder->bounds.data;
	if (r == 0 && n_parts)
		r = column_pack(encoder->packer, COLUMN_BLAME_PARTS,
				(const uint64_t *)(const void *)encoder->parts.data, n_parts, &context, out);
	return r;
}

static int pack_columns(struct block_encoder *encoder, const struct stored_event *events, size_t n, struct buf *out)
{
	uint8_t *begin = buf_reserve(out, sizeof(magic) + 1 + 2 * VARINT_BYTES_MAX), *at = begin;
	struct column_context by_op = { .groups = NULL };

	if (!begin)
		return -ENOMEM;
	memcpy(at, magic, sizeof(magic));
	at += sizeof(magic);
	*at++ = BLOCK_FORMAT;
	at = varint_put(at, n);
	at = varint_put(at, events[0].call.start_ns);
	out->n += (size_t)(at - begin);

	gather(BLOCK_OP, events, n, encoder->values);
	if (block_groups_of(encoder->values, n, encoder->groups) == 0)
		by_op.groups = encoder->groups;

	for (uint32_t id = BLOCK_TIME; id < BLOCK_COLUMN_COUNT; id++) {
		int r;

		if (id == BLOCK_BLAME) {
			r = block_pack_blame(encoder, events, n, &by_op, out);
		} else {
			gather(id, events, n, encoder->values);
			r = column_pack(encoder->packer, (uint8_t)id, encoder->values, n,
					columns_by_op & BLOCK_COLUMN(id) ? &by_op : NULL, out);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int block_encode(struct block_encoder *encoder, const struct stored_event *events, size_t n, struct buf *out,
		 struct block_head *ret_head)
{
	struct block_head head;
	size_t begin = out->n;
	int r;

	if (n == 0)
		return -EINVAL;
	if (n > BLOCK_EVENTS_MAX)
		return -E2BIG;
	r = head_of(events, n, &head);
	if (r < 0)
		return r;

	r = pack_columns(encoder, events, n, out);
	if (r < 0) {
		out->n = begin;
		return -ENOMEM;
	}
	head.crc = codec_crc(out->data + begin, out->n - begin);
	*ret_head = head;
	return 0;
}

/* ---- unpacking ---- */

static void block_decoder_freep(struct block_decoder **decoder)
{
	block_decoder_free(*decoder);
}

int block_decoder_new(struct block_decoder **ret_decoder)
{
	CLEANUP(block_decoder_freep) struct block_decoder *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = column_unpacker_new(&d->unpacker);
	if (r < 0)
		return r;
	*ret_decoder = TAKE_PTR(d);
	return 0;
}

void block_decoder_free(struct block_decoder *d)
{
	if (!d)
		return;
	column_unpacker_free(d->unpacker);
	buf_done(&d->parts);
	buf_done(&d->bounds);
	free(d);
}

static const uint64_t column_most[BLOCK_COLUMN_COUNT] = {
	[BLOCK_TIME] = UINT64_MAX,
	[BLOCK_DURATION] = UINT64_MAX,
	[BLOCK_OVERHEAD] = UINT64_MAX,
	[BLOCK_BLAME] = BLAME_SHAPE_MAX,
#define KEPT(name, id, place, group, member) [BLOCK_##name] = KEPT_MOST(struct stored_event, member),
#include "events/columns.def"
};

/* Return: as column_unpack() */
static int block_unpack(struct block_decoder *d, uint32_t id, uint64_t *values, size_t n)
{
	struct column_context context = { .groups = d->has_groups ? d->groups : NULL };

	return column_unpack(d->unpacker, &d->index, (uint8_t)id, &context, column_most[id], values, n);
}

#define NEEDS_RAW (BLOCK_COLUMN(BLOCK_OVERHEAD) | BLOCK_COLUMN(BLOCK_BLAME))

/* Unpacks the operations, if these or a column that depends on them is wanted. */
static int unpack_ops(struct block_decoder *d, uint32_t columns, size_t n)
{
	bool is_needed = columns & BLOCK_COLUMN(BLOCK_OP);
	int r;

	if (columns & NEEDS_RAW)
		columns |= BLOCK_COLUMN(BLOCK_OVERHEAD) | BLOCK_COLUMN(BLOCK_DURATION);
	for (uint32_t id = BLOCK_TIME; id < BLOCK_COLUMN_COUNT; id++)
		is_needed = is_needed || (columns & BLOCK_COLUMN(id) && column_needs_groups(&d->index, (uint8_t)id));

	d->has_groups = false;
	if (!is_needed)
		return 0;
	r = block_unpack(d, BLOCK_OP, d->values, n);
	if (r < 0)
		return r;
	d->has_groups = block_groups_of(d->values, n, d->groups) == 0;
	return 0;
}

/* Return: 0, or -EBADMSG when a time would overflow */
static int unpack_times(const struct block_decoder *d, const struct block_range *range)
{
	uint64_t at_ns = d->base_ns;

	for (size_t i = 0; i < range->to; i++) {
		if (d->values[i] > UINT64_MAX - at_ns)
			return -EBADMSG;
		at_ns += d->values[i];
		if (i >= range->from)
			range->events[i - range->from].call.start_ns = at_ns;
	}
	return 0;
}

/* Needs d->raw_ns. */
static int block_unpack_blame(struct block_decoder *d, const struct block_range *range)
{
	size_t n = d->n;
	struct column_context context = { .bounds = NULL };
	const uint64_t *parts;
	uint64_t *room;
	uint8_t *bounds;
	size_t n_parts = 0;
	int r = block_unpack(d, BLOCK_BLAME, d->values, n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		n_parts += blame_parts_count(d->values[i]);

	d->parts.n = d->bounds.n = 0;
	room = (uint64_t *)(void *)buf_reserve(&d->parts, n_parts * sizeof(*room));
	bounds = buf_reserve(&d->bounds, n_parts);
	if (!room || !bounds)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t n_here = blame_parts_count(d->values[i]);

		memset(bounds, varint_bits(d->raw_ns[i]), n_here);
		bounds += n_here;
	}
	context.bounds = d->bounds.data;
	r = column_unpack(d->unpacker, &d->index, COLUMN_BLAME_PARTS, &context, UINT64_MAX, room, n_parts);
	if (r < 0)
		return r;

	parts = room;
	for (size_t i = 0; i < range->from; i++)
		parts += blame_parts_count(d->values[i]);
	for (size_t i = range->from; i < range->to; i++)
		parts = blame_parts_unpack(d->values[i], parts, d->raw_ns[i],
					   range->events[i - range->from].call.blame_ns);
	return 0;
}

/* Stores the values of a column that needs no other column. */
static void scatter(enum block_column id, const uint64_t *values, const struct block_range *range)
{
	struct stored_event *events = range->events;
	size_t n = range->to - MIN(range->from, range->to);

	values += range->from;
	switch (id) {
#define KEPT(name, id, place, group, member)                                                                           \
	case BLOCK_##name:                                                                                             \
		for (size_t i = 0; i < n; i++)                                                                         \
			KEPT_SET(events[i].member, values[i]);                                                         \
		break;
#include "events/columns.def"
	case BLOCK_TIME:
	case BLOCK_DURATION:
	case BLOCK_OVERHEAD:
	case BLOCK_BLAME:
	case BLOCK_COLUMN_COUNT:
		break;
	}
	if (id == BLOCK_OP)
		for (size_t i = 0; i < n; i++)
			events[i].call.op = events[i].op <= UINT16_MAX ? (uint16_t)events[i].op : 0;
}

/* Unpacks duration, overhead, and blame, which needs both. */
static int unpack_durations(struct block_decoder *d, uint32_t columns, const struct block_range *range)
{
	size_t n = d->n;
	int r = block_unpack(d, BLOCK_DURATION, d->duration_ns, n);

	if (r < 0)
		return r;
	if (columns & BLOCK_COLUMN(BLOCK_DURATION))
		for (size_t i = range->from; i < range->to; i++)
			range->events[i - range->from].call.duration_ns = d->duration_ns[i];
	if (!(columns & NEEDS_RAW))
		return 0;

	r = block_unpack(d, BLOCK_OVERHEAD, d->raw_ns, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		d->raw_ns[i] = d->duration_ns[i] + varint_unfold(d->raw_ns[i]);
	if (columns & BLOCK_COLUMN(BLOCK_OVERHEAD))
		for (size_t i = range->from; i < range->to; i++)
			range->events[i - range->from].call.raw_ns = d->raw_ns[i];
	return columns & BLOCK_COLUMN(BLOCK_BLAME) ? block_unpack_blame(d, range) : 0;
}

static int unpack_columns(struct block_decoder *d, uint32_t columns, const struct block_range *range)
{
	int r = unpack_ops(d, columns, d->n);

	if (r < 0)
		return r;
	if (columns & BLOCK_COLUMN(BLOCK_OP))
		scatter(BLOCK_OP, d->values, range);
	if (columns & BLOCK_COLUMN(BLOCK_TIME)) {
		r = block_unpack(d, BLOCK_TIME, d->values, d->n);
		if (r == 0)
			r = unpack_times(d, range);
	}
	if (r == 0 && columns & (BLOCK_COLUMN(BLOCK_DURATION) | NEEDS_RAW))
		r = unpack_durations(d, columns, range);
	for (uint32_t id = BLOCK_BLAME + 1; r == 0 && id < BLOCK_COLUMN_COUNT; id++) {
		if (!(columns & BLOCK_COLUMN(id)) || id == BLOCK_OP)
			continue;
		r = block_unpack(d, id, d->values, d->n);
		if (r == 0)
			scatter(id, d->values, range);
	}
	return r;
}

int block_open(struct block_decoder *decoder, const void *data, size_t n, uint32_t crc, size_t *ret_n)
{
	struct varint_reader reader = { .p = data, .end = data };
	const uint8_t *head;
	uint64_t n_events;
	int r;

	decoder->n = 0;
	if (n <= sizeof(magic) || codec_crc(data, n) != crc)
		return -EBADMSG;
	reader.end += n;
	head = varint_get_bytes(&reader, sizeof(magic) + 1);
	if (memcmp(head, magic, sizeof(magic)) != 0 || head[sizeof(magic)] == 0)
		return -EBADMSG;
	if (head[sizeof(magic)] > BLOCK_FORMAT)
		return -ENOTSUP;

	n_events = varint_get(&reader);
	decoder->base_ns = varint_get(&reader);
	if (reader.failed || n_events == 0 || n_events > BLOCK_EVENTS_MAX)
		return -EBADMSG;
	r = column_find(reader.p, (size_t)(reader.end - reader.p), &decoder->index);
	if (r < 0)
		return r;
	decoder->n = *ret_n = n_events;
	return 0;
}

int block_columns(struct block_decoder *decoder, uint32_t columns, size_t from, size_t to, struct stored_event *events)
{
	struct block_range range = { .from = from, .to = MIN(to, decoder->n), .events = events };

	return unpack_columns(decoder, columns, &range);
}

int block_decode(struct block_decoder *decoder, const void *data, size_t n, uint32_t crc, uint32_t columns,
		 struct stored_event *events, size_t *ret_n)
{
	size_t n_events;
	int r = block_open(decoder, data, n, crc, &n_events);

	r = r ? r : block_columns(decoder, columns, 0, n_events, events);
	if (r < 0)
		return r;
	*ret_n = n_events;
	return 0;
}
