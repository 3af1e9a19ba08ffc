// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/untrusted.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "mcp-server/look_alike.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define SPACE ' '
#define MARK_LETTERS_LEAST 6 /* of the ten of an imitation that have to be known ones */

/*
 * Unicode 16: format characters, default ignorable ones, bidirectional controls, annotation marks, letters without a
 * picture, private use, and what is no character; sorted.
 */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00ad, 0x00ad },   { 0x034f, 0x034f },   { 0x0600, 0x0605 },	  { 0x061c, 0x061c },	{ 0x06dd, 0x06dd },
	{ 0x070f, 0x070f },   { 0x0890, 0x0891 },   { 0x08e2, 0x08e2 },	  { 0x115f, 0x1160 },	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x202a, 0x202e },	  { 0x2060, 0x206f },	{ 0x2800, 0x2800 },
	{ 0x3164, 0x3164 },   { 0xe000, 0xf8ff },   { 0xfdd0, 0xfdef },	  { 0xfe00, 0xfe0f },	{ 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffc },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x13442 },
	{ 0x1bca0, 0x1bca3 }, { 0x1d159, 0x1d159 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff },
};

bool untrusted_is_hidden(unsigned int code)
{
	if ((code & 0xfffe) == 0xfffe) /* the last two of each plane are no characters */
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	return false;
}

static bool is_break(uint32_t code)
{
	return code == '\n' || code == '\r' || code == '\t' || code == 0x0b || code == 0x0c || code == 0x85 ||
	       code == 0x2028 || code == 0x2029;
}

/* Start of the character before a place in clean text. */
static size_t character_before(const struct buf *out, size_t at)
{
	do
		at--;
	while (((uint8_t)out->data[at] & 0xc0) == 0x80);
	return at;
}

/*
 * A bracket was appended that closes. Where it closes a mark or an imitation, that is cut off at once, so that what
 * follows can only meet what is left: a mark inside a mark goes the same way. An imitation has other brackets, letters
 * or hyphens, none, or spaces; a few of its letters may be like none that are known.
 */
static void mark_cut(struct buf *out, size_t from)
{
	static const char word[] = "traceddata";
	size_t at = character_before(out, out->n), left = strlen(word), n_known = 0;

	while (at > from) {
		uint32_t code;
		char letter;

		at = character_before(out, at);
		(void)utf8_decode((const char *)out->data + at, out->n - at, &code);
		letter = look_alike_fold(code);
		if (letter == LOOK_ALIKE_FILLER)
			continue;
		if (letter == '[' && left == 0 && n_known >= MARK_LETTERS_LEAST)
			out->n = at;
		if (left == 0 || (letter != word[left - 1] && letter != LOOK_ALIKE_UNKNOWN))
			return;
		left--;
		n_known += letter != LOOK_ALIKE_UNKNOWN;
	}
}

/* The bytes, from the first on, that are appended as they are, and close no mark; of ASCII, so each is a character. */
static size_t plain_run(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] >= SPACE && text[i] < 0x7f && text[i] != ']')
		i++;
	return i;
}

void untrusted_append(struct buf *out, const char *text, size_t n)
{
	size_t from = out->n, taken, n_characters = 0;
	uint32_t code;

	for (; n > 0; text += taken, n -= taken) {
		taken = plain_run(text, MIN(n, UNTRUSTED_CHARACTERS_MAX - n_characters));
		if (taken) {
			(void)buf_append(out, text, taken);
			n_characters += taken;
			continue;
		}
		taken = utf8_decode(text, n, &code);
		if (is_break(code))
			code = SPACE;
		else if (utf8_is_control(code) || untrusted_is_hidden(code))
			continue;
		if (n_characters++ == UNTRUSTED_CHARACTERS_MAX) {
			(void)buf_append_text(out, ELLIPSIS);
			return;
		}
		if (code == SPACE)
			(void)buf_append_text(out, " ");
		else if (code == UTF8_REPLACEMENT)
			(void)buf_append_text(out, "\xef\xbf\xbd");
		else
			(void)buf_append(out, text, taken);
		if (!out->failed && look_alike_fold(code) == ']')
			mark_cut(out, from);
	}
}
