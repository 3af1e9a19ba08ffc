// SPDX-License-Identifier: Apache-2.0
#include "children/python_code.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "bpf/stack_record.h"

#define OLDEST_MINOR 9
#define NEWEST_MINOR 15
#define TEXT_CUT "\xe2\x80\xa6" /* stands for the rest of a text */

/* ---- texts ---- */

/* Texts after one another; a text is left out rather than cut between two bytes of a character. */
struct texts {
	char *bytes;
	size_t n, room;
};

static void texts_add(struct texts *t, const char *bytes, size_t n)
{
	if (n > t->room - t->n)
		return;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

static void character_add(struct texts *t, uint32_t code)
{
	char bytes[4];
	size_t n = 0;

	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = UTF8_REPLACEMENT;
	if (utf8_is_control(code) || utf8_is_direction(code))
		code = '?';
	if (code < 0x80) {
		bytes[n++] = (char)code;
	} else {
		int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
		static const uint8_t first[] = { 0, 0xc0, 0xe0, 0xf0 };

		bytes[n++] = (char)(first[more] | code >> 6 * more);
		while (more-- > 0)
			bytes[n++] = (char)(0x80 | (code >> 6 * more & 0x3f));
	}
	texts_add(t, bytes, n);
}

static uint32_t character_at(const uint8_t *at, uint32_t kind)
{
	uint32_t wide;
	uint16_t half;

	if (kind == 1)
		return *at;
	if (kind == 2) {
		memcpy(&half, at, sizeof(half));
		return half;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

/* Adds a string object of n bytes. Return: place of its text; 0: it is none */
static uint32_t object_add(struct texts *t, uint32_t minor, const uint8_t *object, size_t n)
{
	size_t place = t->n, head, n_characters;
	uint64_t length;
	uint32_t state, kind;

	if (n < PYTHON_TEXT_STATE + sizeof(state))
		return 0;
	memcpy(&length, object + PYTHON_TEXT_LENGTH, sizeof(length));
	memcpy(&state, object + PYTHON_TEXT_STATE, sizeof(state));
	kind = PYTHON_TEXT_KIND(state);
	head = PYTHON_TEXT_HEAD(minor, PYTHON_TEXT_IS_ASCII(state));
	if (!PYTHON_TEXT_IS_COMPACT(state) || (kind != 1 && kind != 2 && kind != 4) || n < head)
		return 0;
	n_characters = (size_t)MIN((uint64_t)((n - head) / kind), length);
	for (size_t i = 0; i < n_characters; i++)
		character_add(t, character_at(object + head + i * kind, kind));
	if (n_characters < length)
		texts_add(t, TEXT_CUT, sizeof(TEXT_CUT) - 1);
	texts_add(t, "", 1);
	return (uint32_t)place;
}

/* ---- lines ---- */

/* The pairs so far, and where the table is read. */
struct line_list {
	struct parser_code_line *items;
	size_t n;
	uint32_t end; /* lines are known up to here */
	bool is_full;
	const uint8_t *at, *limit; /* bytes of the table that are left */
};

#define OFFSET_MAX (INT32_MAX / 2) /* of a bytecode, bytes */

/* From `from` on, up to `end`, the line is this one; 0: none. */
static void code_line_add(struct line_list *l, uint32_t from, uint32_t end, int64_t line)
{
	uint32_t known = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;

	if (l->is_full || end <= from)
		return;
	if (!l->n || l->items[l->n - 1].line != known) {
		if (l->n == PARSER_CODE_LINES_MAX) {
			l->is_full = true;
			return;
		}
		l->items[l->n++] = (struct parser_code_line){ .from = from, .line = known };
	}
	l->end = end;
}

/* Pairs of bytes: how far the offset grows, and then how far the line. @is_whole: the table was not cut */
static void lines_3_9(struct line_list *l, int64_t line, bool is_whole)
{
	uint32_t from = 0, at = 0;

	for (; l->limit - l->at >= 2; l->at += 2) {
		if (l->at[0] && at < OFFSET_MAX) {
			at += l->at[0];
			code_line_add(l, from, at, line);
			from = at;
		}
		line += (int8_t)l->at[1];
	}
	if (is_whole)
		code_line_add(l, from, UINT32_MAX, line);
}

#define NO_LINE (-128)

/* Pairs of bytes: for how many bytes there is another line, and by how much it differs. */
static void lines_3_10(struct line_list *l, int64_t line)
{
	uint32_t at = 0;

	for (; l->limit - l->at >= 2 && at < OFFSET_MAX; l->at += 2) {
		int8_t delta = (int8_t)l->at[1];
		uint32_t end = at + l->at[0];

		if (delta != NO_LINE)
			line += delta;
		code_line_add(l, at, end, delta == NO_LINE ? 0 : line);
		at = end;
	}
}

/* Kinds of entries of the table of 3.11 and later. Source: Objects/locations.md of CPython */
#define ENTRY_SHORT_LAST 9 /* up to this one: a byte more, same line */
#define ENTRY_ONE_LINE 10  /* this and the next two: two bytes more */
#define ENTRY_NO_COLUMNS 13
#define ENTRY_LONG 14
#define ENTRY_NONE 15
#define ENTRY_VARINT_BYTES_MAX 6

static bool entry_takes(struct line_list *l, size_t n)
{
	if ((size_t)(l->limit - l->at) < n)
		return false;
	l->at += n;
	return true;
}

static bool varint_take(struct line_list *l, uint32_t *ret)
{
	uint64_t value = 0;

	for (int i = 0; i < ENTRY_VARINT_BYTES_MAX && l->at < l->limit; i++) {
		uint8_t byte = *l->at++;

		value |= (uint64_t)(byte & 0x3f) << 6 * i;
		if (byte & 0x40)
			continue;
		*ret = (uint32_t)value;
		return true;
	}
	return false;
}

static bool line_delta_take(struct line_list *l, int64_t *line)
{
	uint32_t value;

	if (!varint_take(l, &value))
		return false;
	*line += value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return true;
}

/* Takes an entry behind its first byte. Return: false if it ends too early */
static bool entry_take(struct line_list *l, uint32_t kind, int64_t *line)
{
	uint32_t ignored;

	if (kind <= ENTRY_SHORT_LAST)
		return entry_takes(l, 1);
	if (kind < ENTRY_NO_COLUMNS) {
		*line += kind - ENTRY_ONE_LINE;
		return entry_takes(l, 2);
	}
	if (kind == ENTRY_NONE)
		return true;
	if (!line_delta_take(l, line))
		return false;
	return kind == ENTRY_NO_COLUMNS ||
	       (varint_take(l, &ignored) && varint_take(l, &ignored) && varint_take(l, &ignored));
}

static void lines_3_11(struct line_list *l, int64_t line)
{
	uint32_t at = 0;

	while (l->at < l->limit && at < OFFSET_MAX) {
		uint8_t head = *l->at++;
		uint32_t kind = head >> 3 & 15, end = at + ((head & 7u) + 1) * PYTHON_UNIT_BYTES;

		if (!(head & 0x80) || !entry_take(l, kind, &line))
			return;
		code_line_add(l, at, end, kind == ENTRY_NONE ? 0 : line);
		at = end;
	}
}

/* ---- a code object ---- */

static bool record_is_whole(const struct code_record *r, size_t n)
{
	uint64_t n_parts = (uint64_t)r->n_name + r->n_qualname + r->n_file + r->n_lines;

	return n - sizeof(*r) == n_parts && r->n_name <= CODE_TEXT_MAX && r->n_qualname <= CODE_TEXT_MAX &&
	       r->n_file <= CODE_TEXT_MAX && r->n_lines <= CODE_LINES_MAX && r->n_lines <= r->n_lines_all &&
	       r->minor >= OLDEST_MINOR && r->minor <= NEWEST_MINOR;
}

static void code_lines_read(const struct code_record *r, const uint8_t *bytes, struct line_list *l)
{
	int64_t first = (int32_t)r->first_line;

	l->at = bytes;
	l->limit = bytes + r->n_lines;
	if (r->minor == 9)
		lines_3_9(l, first, r->n_lines == r->n_lines_all);
	else if (r->minor == 10)
		lines_3_10(l, first);
	else
		lines_3_11(l, first);
}

size_t python_code_read(const void *record, size_t n, void *answer, size_t room)
{
	struct parser_code *code = answer, none = { .result = PARSER_DAMAGED };
	struct line_list lines = { .items = (struct parser_code_line *)(code + 1) };
	const uint8_t *parts = (const uint8_t *)record + sizeof(struct code_record);
	struct texts texts;
	struct code_record r;

	*code = none;
	if (n < sizeof(r) || room < PYTHON_CODE_ANSWER_MAX)
		return sizeof(*code);
	memcpy(&r, record, sizeof(r));
	if (!record_is_whole(&r, n))
		return sizeof(*code);
	code_lines_read(&r, parts + r.n_name + r.n_qualname + r.n_file, &lines);
	texts = (struct texts){ .bytes = (char *)(lines.items + lines.n),
				.room = room - sizeof(*code) - lines.n * sizeof(lines.items[0]) };
	texts_add(&texts, "", 1);
	code->name = object_add(&texts, r.minor, parts, r.n_name);
	code->qualname = object_add(&texts, r.minor, parts + r.n_name, r.n_qualname);
	code->file = object_add(&texts, r.minor, parts + r.n_name + r.n_qualname, r.n_file);
	code->n_lines = (uint32_t)lines.n;
	code->n_text = (uint32_t)texts.n;
	code->end = lines.end;
	code->result = PARSER_OK;
	return sizeof(*code) + lines.n * sizeof(lines.items[0]) + texts.n;
}
