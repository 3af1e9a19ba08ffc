// SPDX-License-Identifier: Apache-2.0
/*
 * pprof: message perftools.profiles.Profile (profile.proto), compressed. Fields are written as they are reached: a
 * message with a length is made in a buffer first.
 */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "libingero/render/flame.h"

#define GZIP_WINDOW (15 + 16) /* deflateInit2(): the largest window, with the head and tail of gzip */
#define MEMORY_LEVEL 8	      /* the library's own default */

/* Fields of profile.proto, by message. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNC = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10
};
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_LINE = 4 };
enum line_field { LINE_FUNC = 1, LINE_LINE = 2 };
enum function_field { FUNC_ID = 1, FUNC_NAME = 2, FUNC_SYSTEM_NAME = 3, FUNC_FILENAME = 4 };

/* Texts of the profile keep their index; those that only this format has come after them. */
struct pprof {
	const struct flame *flame;
	struct buf body;
	struct buf part, line; /* of a message in it, and of one in that */
	ARRAY(const char *) more;
	ARRAY(uint32_t) mappings; /* texts that are modules; the id of each is its place + 1 */
	uint32_t *mapping_of;	  /* by text: its id, 0: none */
	int r;
};

static void pprof_done(struct pprof *p)
{
	buf_done(&p->body);
	buf_done(&p->part);
	buf_done(&p->line);
	ARRAY_DONE(&p->more);
	ARRAY_DONE(&p->mappings);
	free(p->mapping_of);
}

/* ---- the wire format of protocol buffers ---- */

static void varint_append(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	(void)buf_append(out, bytes, n);
}

static void number_field(struct buf *out, unsigned int field, uint64_t value)
{
	if (!value)
		return; /* as a field that is absent */
	varint_append(out, field << 3);
	varint_append(out, value);
}

static void bytes_field(struct buf *out, unsigned int field, const void *data, size_t n)
{
	varint_append(out, field << 3 | 2);
	varint_append(out, n);
	(void)buf_append(out, data, n);
}

/* Moves a finished message into the one around it. */
static void message_field(struct buf *out, unsigned int field, struct buf *message)
{
	bytes_field(out, field, message->data, message->n);
	out->failed |= message->failed;
	buf_consume(message, message->n);
}

/* ---- parts of a profile ---- */

static uint64_t text_more(struct pprof *p, const char *text)
{
	if (!*text)
		return 0;
	if (ARRAY_PUSH(&p->more, text) < 0)
		p->r = -ENOMEM;
	return p->flame->texts.n + p->more.n - 1;
}

static uint64_t int64_of(uint64_t value)
{
	return MIN(value, (uint64_t)INT64_MAX);
}

static void types_append(struct pprof *p, const struct flame_head *head)
{
	static const char *const units[] = {
		[FLAME_COUNT] = "count", [FLAME_NANOSECONDS] = "nanoseconds", [FLAME_BYTES] = "bytes"
	};
	uint64_t names[FLAME_VALUES_MAX];

	for (size_t i = 0; i < p->flame->n_values; i++) {
		names[i] = text_more(p, p->flame->values[i].name);
		number_field(&p->part, VALUE_TYPE_TYPE, names[i]);
		number_field(&p->part, VALUE_TYPE_UNIT, text_more(p, units[p->flame->values[i].unit]));
		message_field(&p->body, PROFILE_SAMPLE_TYPE, &p->part);
	}
	number_field(&p->body, PROFILE_DEFAULT_SAMPLE_TYPE, names[head->value]);
}

/* The places of frames are their locations and functions, each with an id from 1 on; the innermost comes first. */
static void samples_append(struct pprof *p)
{
	const struct flame *flame = p->flame;

	for (size_t i = 0; i < flame->stacks.n; i++) {
		const struct flame_stack *stack = &flame->stacks.items[i];

		for (uint32_t k = stack->n; k > 0; k--)
			varint_append(&p->line, (uint64_t)flame->places.items[stack->first + k - 1] + 1);
		message_field(&p->part, SAMPLE_LOCATION_ID, &p->line);
		for (size_t k = 0; k < flame->n_values; k++)
			varint_append(&p->line, int64_of(flame_weight(flame, i, k)));
		message_field(&p->part, SAMPLE_VALUE, &p->line);
		message_field(&p->body, PROFILE_SAMPLE, &p->part);
	}
}

/* Id of the mapping of a frame. Return: 0: it has none */
static uint32_t mapping_id(struct pprof *p, const struct flame_entry *frame)
{
	if (!frame->module)
		return 0;
	if (!p->mapping_of[frame->module]) {
		if (ARRAY_PUSH(&p->mappings, frame->module) < 0)
			p->r = -ENOMEM;
		p->mapping_of[frame->module] = (uint32_t)p->mappings.n;
	}
	return p->mapping_of[frame->module];
}

/* Everything is resolved: pprof is not to look for symbols in files. */
static void mappings_append(struct pprof *p)
{
	for (size_t i = 0; i < p->mappings.n; i++) {
		number_field(&p->part, MAPPING_ID, i + 1);
		number_field(&p->part, MAPPING_FILENAME, p->mappings.items[i]);
		for (unsigned int field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
			number_field(&p->part, field, 1);
		message_field(&p->body, PROFILE_MAPPING, &p->part);
	}
}

/* A function without a name has that of its module: pprof shows no frame without one. */
static uint64_t function_name(struct pprof *p, const struct flame_entry *frame)
{
	return frame->name ? frame->name : frame->module ? frame->module : text_more(p, FLAME_NOT_KNOWN);
}

static void locations_append(struct pprof *p)
{
	const struct flame *flame = p->flame;

	for (size_t i = 0; i < flame->frames.n; i++) {
		const struct flame_entry *frame = &flame->frames.items[i];
		uint64_t name = function_name(p, frame);

		number_field(&p->line, LINE_FUNC, i + 1);
		number_field(&p->line, LINE_LINE, frame->line);
		number_field(&p->part, LOCATION_ID, i + 1);
		number_field(&p->part, LOCATION_MAPPING_ID, mapping_id(p, frame));
		message_field(&p->part, LOCATION_LINE, &p->line);
		message_field(&p->body, PROFILE_LOCATION, &p->part);
		number_field(&p->part, FUNC_ID, i + 1);
		number_field(&p->part, FUNC_NAME, name);
		number_field(&p->part, FUNC_SYSTEM_NAME, name);
		number_field(&p->part, FUNC_FILENAME, frame->file);
		message_field(&p->body, PROFILE_FUNC, &p->part);
	}
	mappings_append(p);
}

static void pprof_texts_append(struct pprof *p)
{
	const struct flame *flame = p->flame;

	for (size_t i = 0; i < flame->texts.n; i++) {
		const char *text = flame_text(flame, (uint32_t)i);

		bytes_field(&p->body, PROFILE_STRING_TABLE, text, strlen(text));
	}
	for (size_t i = 0; i < p->more.n; i++)
		bytes_field(&p->body, PROFILE_STRING_TABLE, p->more.items[i], strlen(p->more.items[i]));
}

static int compress_append(const struct buf *body, struct buf *out)
{
	z_stream stream = { .next_in = body->data, .avail_in = (uInt)body->n };
	uint8_t *room;
	uLong most;
	int r;

	if (body->n > UINT32_MAX)
		return -ENOMEM;
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	most = deflateBound(&stream, (uLong)body->n);
	room = most > UINT32_MAX ? NULL : buf_reserve(out, most);
	if (!room) {
		(void)deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_out = room;
	stream.avail_out = (uInt)most;
	r = deflate(&stream, Z_FINISH);
	out->n += r == Z_STREAM_END ? stream.total_out : 0;
	(void)deflateEnd(&stream);
	return r == Z_STREAM_END ? 0 : -EIO;
}

int flame_pprof_append(const struct flame *flame, const struct flame_head *head, struct buf *out)
{
	CLEANUP(pprof_done) struct pprof p = { .flame = flame };
	CLEANUP(buf_done) struct buf comment = BUF_INIT;

	p.mapping_of = calloc(flame->texts.n, sizeof(*p.mapping_of));
	if (!p.mapping_of)
		return -ENOMEM;
	types_append(&p, head);
	samples_append(&p);
	locations_append(&p);
	number_field(&p.body, PROFILE_TIME_NANOS, int64_of(head->from_unix_ns));
	if (head->to_unix_ns > head->from_unix_ns && head->from_unix_ns)
		number_field(&p.body, PROFILE_DURATION_NANOS, int64_of(head->to_unix_ns - head->from_unix_ns));
	(void)buf_printf(&comment, "%s%s%s", head->title, *head->subtitle ? ": " : "", head->subtitle);
	number_field(&p.body, PROFILE_COMMENT, text_more(&p, buf_text(&comment)));
	pprof_texts_append(&p);
	if (p.r < 0 || p.body.failed || comment.failed)
		return -ENOMEM;
	return compress_append(&p.body, out);
}
