// SPDX-License-Identifier: Apache-2.0
/*
 * Names and lines of code objects, compared with what each installed interpreter says of its own; and records that no
 * interpreter makes.
 */
#include "children/python_code.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/support/check.h"
#include "tests/support/pythons.h"

static union {
	struct parser_code code;
	uint8_t room[PYTHON_CODE_ANSWER_MAX];
} answer;

static const char *answer_text(uint32_t place)
{
	const char *texts = (const char *)((const struct parser_code_line *)(&answer.code + 1) + answer.code.n_lines);

	return place < answer.code.n_text ? texts + place : "(outside)";
}

static uint32_t answer_line(uint32_t at)
{
	const struct parser_code_line *lines = (const struct parser_code_line *)(&answer.code + 1);
	uint32_t line = 0;

	if (at >= answer.code.end)
		return 0;
	for (uint32_t i = 0; i < answer.code.n_lines && lines[i].from <= at; i++)
		line = lines[i].line;
	return line;
}

/* --- what interpreters say --- */

struct dumped {
	uint32_t minor, first_line, n_name, n_qualname, n_file, n_lines;
	uint32_t n_texts[3], n_ranges;
};
struct range {
	uint32_t from, to, line;
};

static bool file_read(FILE *file, void *bytes, size_t n)
{
	return fread(bytes, 1, n, file) == n;
}

static bool text_is(uint32_t place, const char *text, size_t n)
{
	const char *got = answer_text(place);

	return strlen(got) == n && memcmp(got, text, n) == 0;
}

/* Return: number of ranges with another line; of all that were compared: *n */
static size_t ranges_compare(FILE *file, uint32_t n_ranges, size_t *n)
{
	size_t n_wrong = 0;

	for (uint32_t i = 0; i < n_ranges; i++) {
		struct range range = { 0 };

		if (!file_read(file, &range, sizeof(range)))
			return SIZE_MAX;
		for (uint32_t at = range.from; at < range.to; at += PYTHON_UNIT_BYTES, ++*n)
			n_wrong += answer_line(at) != range.line;
	}
	return n_wrong;
}

static void interpreter_compare(const char *path)
{
	static union {
		struct code_record record;
		uint8_t room[sizeof(struct code_record) + 3 * CODE_TEXT_MAX + CODE_LINES_MAX];
	} buffer;
	static char texts[1 << 16];
	FILE *file = pythons_run(path, "dump_code.py", "");
	size_t n_codes = 0, n_positions = 0, n_wrong = 0;
	struct dumped d;

	while (file_read(file, &d, sizeof(d))) {
		size_t n_parts = d.n_name + d.n_qualname + d.n_file + d.n_lines;
		size_t n_texts = d.n_texts[0] + d.n_texts[1] + d.n_texts[2];
		bool is_whole = d.n_lines <= CODE_LINES_MAX;

		CHECK(path, is_whole && n_texts <= sizeof(texts));
		if (!is_whole || n_texts > sizeof(texts))
			break;
		buffer.record = (struct code_record){ .minor = (uint16_t)d.minor,
						      .first_line = d.first_line,
						      .n_name = (uint16_t)d.n_name,
						      .n_qualname = (uint16_t)d.n_qualname,
						      .n_file = (uint16_t)d.n_file,
						      .n_lines = d.n_lines,
						      .n_lines_all = d.n_lines };
		if (!file_read(file, buffer.record.bytes, n_parts) || !file_read(file, texts, n_texts))
			break;
		(void)python_code_read(&buffer, sizeof(buffer.record) + n_parts, &answer, sizeof(answer));
		CHECK_INT_EQ(path, answer.code.result, PARSER_OK);
		CHECK(path, text_is(answer.code.name, texts, d.n_texts[0]));
		CHECK(path, text_is(answer.code.qualname, texts + d.n_texts[0], d.n_texts[1]));
		CHECK(path, text_is(answer.code.file, texts + d.n_texts[0] + d.n_texts[1], d.n_texts[2]));
		n_wrong += ranges_compare(file, d.n_ranges, &n_positions);
		n_codes++;
	}
	CHECK_INT_EQ(path, pclose(file), 0);
	CHECK_INT_IN(path, n_codes, 500, 1000000);
	CHECK_INT_IN(path, n_positions, 20000, 100000000);
	CHECK_INT_EQ(path, n_wrong, 0);
	printf("%s: %zu code objects, %zu positions\n", path, n_codes, n_positions);
}

/* --- what no interpreter says --- */

/* A string object of one byte a character. */
#define TEXT(state, ...)                                                                                               \
	{                                                                                                              \
		[PYTHON_TEXT_LENGTH] = 4, [PYTHON_TEXT_STATE] = (state), [40] = __VA_ARGS__                            \
	}
#define ASCII 0x64 /* one byte, compact, ASCII */
#define LATIN 0x24
#define UCS2 0x28
#define UCS4 0x30

static const struct {
	const char *name;
	uint8_t object[64];
	uint8_t n;
	const char *text;
} objects[] = {
	{ "plain", TEXT(ASCII, 'a', 'b', 'c', 'd'), 44, "abcd" },
	{ "control", TEXT(ASCII, 'a', 27, '\n', 0), 44, "a???" },
	{ "cut", TEXT(ASCII, 'a', 'b', 'c'), 43, "abc\xe2\x80\xa6" },
	{ "no head", TEXT(ASCII, 'a'), 39, "" },
	{ "no state", TEXT(ASCII, 'a'), 20, "" },
	{ "not compact", TEXT(0x44, 'a', 'b', 'c', 'd'), 44, "" },
	{ "three bytes", TEXT(0x6c, 'a', 'b', 'c', 'd'), 44, "" },
	{ "Latin", { [16] = 2, [32] = LATIN, [56] = 0xe9, 0x85 }, 58, "\xc3\xa9?" },
	{ "half of a pair", { [16] = 1, [32] = UCS2, [56] = 0x00, 0xd8 }, 58, "\xef\xbf\xbd" },
	{ "direction", { [16] = 1, [32] = UCS2, [56] = 0x2e, 0x20 }, 58, "?" },
	{ "half of a character", { [16] = 1, [32] = UCS4, [56] = 'a' }, 58, "\xe2\x80\xa6" },
	{ "no character", { [16] = 1, [32] = UCS4, [56] = 0, 0, 0x11 }, 60, "\xef\xbf\xbd" },
	{ "snake", { [16] = 1, [32] = UCS4, [56] = 0x0d, 0xf4, 0x01 }, 60, "\xf0\x9f\x90\x8d" },
};

static void objects_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		union {
			struct code_record record;
			uint8_t room[sizeof(struct code_record) + 64];
		} buffer = { .record = { .minor = 12, .n_file = objects[i].n } };

		memcpy(buffer.record.bytes, objects[i].object, objects[i].n);
		(void)python_code_read(&buffer, sizeof(buffer.record) + objects[i].n, &answer, sizeof(answer));
		CHECK_INT_EQ(objects[i].name, answer.code.result, PARSER_OK);
		CHECK_STR_EQ(objects[i].name, answer_text(answer.code.file), objects[i].text);
		CHECK_STR_EQ(objects[i].name, answer_text(answer.code.name), "");
	}
}

static const struct {
	const char *name;
	uint16_t minor;
	uint8_t table[16];
	uint8_t n, n_all;
	uint32_t end;
	struct parser_code_line lines[4];
} tables[] = {
	{ "3.9 empty", 9, { 0 }, 0, 0, UINT32_MAX, { { 0, 100 } } },
	{ "3.9 cut", 9, { 4, 1, 4, 1 }, 4, 8, 8, { { 0, 100 }, { 4, 101 } } },
	{ "3.9 half a pair", 9, { 4, 1, 4 }, 3, 3, UINT32_MAX, { { 0, 100 }, { 4, 101 } } },
	{ "3.9 before the first line", 9, { 2, 0x9c, 2, 1 }, 4, 4, UINT32_MAX, { { 0, 100 }, { 2, 0 }, { 4, 1 } } },
	{ "3.10 empty", 10, { 0 }, 0, 0, 0, { { 0, 0 } } },
	{ "3.10 no line", 10, { 2, 1, 2, 0x80, 2, 0 }, 6, 6, 6, { { 0, 101 }, { 2, 0 }, { 4, 101 } } },
	{ "3.11 empty", 11, { 0 }, 0, 0, 0, { { 0, 0 } } },
	{ "3.11 no location", 11, { 0xd9, 1, 0, 0xf8, 0x80, 0 }, 6, 6, 8, { { 0, 101 }, { 4, 0 }, { 6, 101 } } },
	{ "3.11 entry without a head", 11, { 0x80, 0, 1, 2 }, 4, 4, 2, { { 0, 100 } } },
	{ "3.11 half an entry", 11, { 0x80, 0, 0xd0, 1 }, 4, 4, 2, { { 0, 100 } } },
	{ "3.11 number without an end", 11, { 0xe8, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40 }, 8, 8, 0, { { 0, 0 } } },
	{ "3.11 back", 11, { 0xe8, 0x43, 0x01, 0x80, 0 }, 5, 5, 4, { { 0, 67 } } },
};

static void tables_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		union {
			struct code_record record;
			uint8_t room[sizeof(struct code_record) + 16];
		} buffer = { .record = { .minor = tables[i].minor,
					 .first_line = 100,
					 .n_lines = tables[i].n,
					 .n_lines_all = tables[i].n_all } };
		const char *name = tables[i].name;

		memcpy(buffer.record.bytes, tables[i].table, tables[i].n);
		(void)python_code_read(&buffer, sizeof(buffer.record) + tables[i].n, &answer, sizeof(answer));
		CHECK_INT_EQ(name, answer.code.result, PARSER_OK);
		CHECK_INT_EQ(name, answer.code.end, tables[i].end);
		for (size_t k = 0; k < ARRAY_SIZE(tables[i].lines) && tables[i].end; k++)
			CHECK_INT_EQ(name, answer_line(tables[i].lines[k].from),
				     k && !tables[i].lines[k].from ? tables[i].lines[0].line : tables[i].lines[k].line);
	}
}

static const struct {
	const char *name;
	size_t n; /* bytes behind the record */
	struct code_record record;
} refused[] = {
	{ "no version", 0, { .minor = 0 } },
	{ "3.8", 0, { .minor = 8 } },
	{ "3.16", 0, { .minor = 16 } },
	{ "too short", 3, { .minor = 12, .n_name = 4 } },
	{ "too long", 5, { .minor = 12, .n_name = 4 } },
	{ "more than all lines", 4, { .minor = 12, .n_lines = 4, .n_lines_all = 3 } },
	{ "many lines",
	  CODE_LINES_MAX + 1,
	  { .minor = 12, .n_lines = CODE_LINES_MAX + 1, .n_lines_all = CODE_LINES_MAX + 1 } },
};

static void refused_check(void)
{
	static union {
		struct code_record record;
		uint8_t room[sizeof(struct code_record) + CODE_LINES_MAX + 1];
	} buffer;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		buffer.record = refused[i].record;
		CHECK_INT_EQ(refused[i].name,
			     python_code_read(&buffer, sizeof(buffer.record) + refused[i].n, &answer, sizeof(answer)),
			     sizeof(answer.code));
		CHECK_INT_EQ(refused[i].name, answer.code.result, PARSER_DAMAGED);
	}
	CHECK_INT_EQ("no record", python_code_read(&buffer, sizeof(buffer.record) - 1, &answer, sizeof(answer)),
		     sizeof(answer.code));
	CHECK_INT_EQ("no record", answer.code.result, PARSER_DAMAGED);
}

/* More lines than there is room for: those behind are not known. */
static void many_check(void)
{
	static union {
		struct code_record record;
		uint8_t room[sizeof(struct code_record) + CODE_LINES_MAX];
	} buffer;
	uint32_t n = 3 * (PARSER_CODE_LINES_MAX + 100);

	buffer.record = (struct code_record){ .minor = 13, .first_line = 1, .n_lines = n, .n_lines_all = n };
	for (uint32_t i = 0; i < n; i += 3)
		buffer.record.bytes[i] = 0xd8; /* the next line, for one unit */
	(void)python_code_read(&buffer, sizeof(buffer.record) + n, &answer, sizeof(answer));
	CHECK_INT_EQ("many", answer.code.result, PARSER_OK);
	CHECK_INT_EQ("many", answer.code.n_lines, PARSER_CODE_LINES_MAX);
	CHECK_INT_EQ("many", answer.code.end, PARSER_CODE_LINES_MAX * PYTHON_UNIT_BYTES);
}

int main(void)
{
	struct pythons pythons;

	objects_check();
	tables_check();
	refused_check();
	many_check();
	pythons_find(&pythons);
	for (size_t i = 0; i < pythons.n; i++)
		interpreter_compare(pythons.paths[i]);
	pythons_done(&pythons);
	return check_result();
}
