// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/text.h"

#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

/* Columns of a character, or -1 when it must not reach a terminal. */
static int code_columns(uint32_t code)
{
	if (utf8_is_control(code) || code == UTF8_REPLACEMENT || utf8_is_direction(code))
		return -1;
	return code < 0x7f ? 1 : wcwidth((wchar_t)code);
}

/* ASCII replacements of our own signs: always one column, so that layouts stay. */
static char code_ascii(uint32_t code)
{
	static const struct {
		uint32_t code;
		char ascii;
	} signs[] = {
		{ 0x25b2, '!' }, /* ▲ */
		{ 0x00b7, '|' }, /* · */
		{ 0x2587, '#' }, /* ▇ */
		{ 0x2591, '.' }, /* ░ */
		{ 0x00b5, 'u' }, /* µ */
		{ 0x2026, '~' }, /* … */
		{ 0x2265, '>' }, /* ≥ */
		{ 0x2190, '<' }, /* ← */
	};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (signs[i].code == code)
			return signs[i].ascii;
	return '?';
}

/* Our signs are one column wide, whatever the locale of this process says. */
static bool code_is_ours(uint32_t code)
{
	return code >= 0x80 && code_ascii(code) != '?';
}

static unsigned int code_width(uint32_t code)
{
	int columns = code_is_ours(code) ? 1 : code_columns(code);

	return columns < 0 ? 1 : (unsigned int)columns; /* shown as '?' */
}

unsigned int text_columns(const char *text)
{
	size_t n = strlen(text);
	unsigned int columns = 0;
	uint32_t code;

	for (size_t taken; n > 0; text += taken, n -= taken) {
		taken = utf8_decode(text, n, &code);
		columns += code_width(code);
	}
	return columns;
}

unsigned int text_append(struct buf *out, const struct text_style *style, const char *text, unsigned int room)
{
	size_t n = strlen(text);
	unsigned int columns = 0;
	bool is_cut;

	if (room == 0)
		return 0;
	is_cut = text_columns(text) > room;
	while (n > 0) {
		uint32_t code;
		size_t taken = utf8_decode(text, n, &code);
		unsigned int width = code_width(code);

		if (columns + width + (is_cut ? 1 : 0) > room)
			break;
		if (code_columns(code) < 0 && !code_is_ours(code)) {
			(void)buf_append_text(out, "?");
		} else if (code < 0x80 || style->is_utf8) {
			(void)buf_append(out, text, taken);
		} else {
			/* The replacement of a wide character has as many columns; combining marks disappear. */
			for (unsigned int i = 0; i < width; i++) {
				char sign = i == 0 ? code_ascii(code) : '?';

				(void)buf_append(out, &sign, 1);
			}
		}
		columns += width;
		text += taken;
		n -= taken;
	}
	if (is_cut) {
		(void)buf_append_text(out, style->is_utf8 ? "…" : "~");
		columns++;
	}
	return columns;
}

const char *text_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void text_spaces(struct buf *out, unsigned int n)
{
	while (n-- > 0)
		(void)buf_append_text(out, " ");
}

void text_tone(struct buf *out, const struct text_style *style, enum text_tone tone)
{
	static const char *const codes[TEXT_TONE_COUNT] = {
		[TEXT_PLAIN] = "\x1b[0m",
		[TEXT_BOLD] = "\x1b[1m",
		[TEXT_DIM] = "\x1b[2m",
		[TEXT_LOUD] = "\x1b[1;31m",
	};

	if (style->has_color)
		(void)buf_append_text(out, codes[tone]);
}

void text_line(struct buf *out, const struct text_style *style, enum text_tone tone, const char *fmt, ...)
{
	char text[1024];

	FORMAT_INTO(text, sizeof(text), fmt);

	if (tone != TEXT_PLAIN)
		text_tone(out, style, tone);
	(void)text_append(out, style, text, style->columns);
	if (tone != TEXT_PLAIN)
		text_tone(out, style, TEXT_PLAIN);
	(void)buf_append_text(out, "\n");
}

void text_parts(struct buf *out, const struct text_style *style, enum text_tone tone, const char *gap,
		const char *const *parts, size_t n)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT;
	unsigned int columns = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int width = text_columns(parts[i]) + (columns ? text_columns(gap) : 0);

		if (!*parts[i] || (columns && columns + width > style->columns))
			continue;
		(void)buf_printf(&line, "%s%s", columns ? gap : "", parts[i]);
		columns += width;
	}
	text_line(out, style, tone, "%s", buf_text(&line));
}

static bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Whether the word at `next`, after a word that ends in a digit, continues its number, or is its unit. */
static bool word_goes_on(const char *next)
{
	static const char *const units[] = { "ns", "µs",  "ms",	 "s",	"min", "h",   "d",  "%",
					     "B",  "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t n = strcspn(next, " "), n_digits = strspn(next, "0123456789");

	while (n > 0 && strchr(",.;:)", next[n - 1]))
		n--;
	if (n_digits == 3 && n_digits == n)
		return true; /* a group: "9 829" */
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i]) == n && memcmp(units[i], next, n) == 0)
			return true;
	return false;
}

/* Bytes that must not be broken: a word, or a number with its groups and its unit. */
static size_t piece_bytes(const char *text)
{
	size_t n = strcspn(text, " ");

	while (n > 0 && char_is_digit(text[n - 1]) && text[n] == ' ' && word_goes_on(text + n + 1))
		n += 1 + strcspn(text + n + 1, " ");
	return n;
}

#define PART_BYTES 256

/* Bytes of the first characters that fit into so many columns, at least one character. */
static size_t word_part(const char *text, size_t n, unsigned int room, char ret_part[PART_BYTES],
			unsigned int *ret_columns)
{
	size_t used = 0;

	*ret_columns = 0;
	while (used < n) {
		uint32_t code;
		size_t taken = utf8_decode(text + used, n - used, &code);

		if (used > 0 && (*ret_columns + code_width(code) > room || used + taken >= PART_BYTES))
			break;
		used += taken;
		*ret_columns += code_width(code);
	}
	memcpy(ret_part, text, used);
	ret_part[used] = 0;
	return used;
}

void text_paragraph(struct buf *out, const struct text_style *style, const char *first, const char *text)
{
	unsigned int indent = text_columns(first), room = style->columns > indent + 20 ? style->columns - indent : 20;
	unsigned int at = 0, columns;
	char part[PART_BYTES];

	(void)text_append(out, style, first, indent);
	while (*text) {
		size_t n = piece_bytes(text), left = n, taken = word_part(text, n, room, part, &columns);

		if (at > 0 && (taken < n || at + 1 + columns > room)) {
			(void)buf_append_text(out, "\n");
			text_spaces(out, indent);
			at = 0;
		} else if (at > 0) {
			text_spaces(out, 1);
			at++;
		}
		/* A word wider than a line, such as a path, continues on the next line. */
		for (;;) {
			at += text_append(out, style, part, columns);
			text += taken;
			left -= taken;
			if (left == 0)
				break;
			(void)buf_append_text(out, "\n");
			text_spaces(out, indent);
			at = 0;
			taken = word_part(text, left, room, part, &columns);
		}
		text += strspn(text, " ");
	}
	(void)buf_append_text(out, "\n");
}

void text_sentence(struct buf *out, const struct text_style *style, enum text_tone tone, const char *first,
		   const char *fmt, ...)
{
	char text[1024];

	FORMAT_INTO(text, sizeof(text), fmt);
	text_tone(out, style, tone);
	text_paragraph(out, style, first, text);
	text_tone(out, style, TEXT_PLAIN);
}
