// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/untrusted.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define SPACE ' '

/* Unicode 16: default ignorable characters, bidirectional controls, annotation marks; sorted. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00ad, 0x00ad },   { 0x034f, 0x034f },   { 0x061c, 0x061c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

bool untrusted_is_hidden(unsigned int code)
{
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

static bool ends_in(const struct buf *out, size_t from, const char *mark)
{
	size_t n = strlen(mark);

	return out->n - from >= n && strncasecmp((const char *)out->data + out->n - n, mark, n) == 0;
}

/*
 * A mark ends where this bracket was appended. It is cut off at once, so that what follows can only meet what is left:
 * a mark inside a mark goes the same way.
 */
static void mark_cut(struct buf *out, size_t from)
{
	static const char *const marks[] = { UNTRUSTED_BEGIN, UNTRUSTED_END };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (ends_in(out, from, marks[i]))
			out->n -= strlen(marks[i]);
}

void untrusted_append(struct buf *out, const char *text, size_t n)
{
	size_t from = out->n, taken, n_characters = 0;
	uint32_t code;

	for (; n > 0; text += taken, n -= taken) {
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
		if (code == ']' && !out->failed)
			mark_cut(out, from);
	}
}
