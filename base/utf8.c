// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <string.h>

static size_t character_decode(const char *text, size_t n, uint32_t *ret_code)
{
	/* Lead byte patterns and the smallest character of each length: longer forms are invalid. */
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };
	uint8_t first = (uint8_t)text[0];

	for (size_t len = 0; len < ARRAY_SIZE(forms) && len < n; len++) {
		uint32_t code = first & (uint8_t)~forms[len].mask;

		if ((first & forms[len].mask) != forms[len].lead)
			continue;
		for (size_t i = 1; i <= len; i++) {
			if (((uint8_t)text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | ((uint8_t)text[i] & 0x3f);
		}
		*ret_code = code;
		return code >= forms[len].least && code <= 0x10ffff && code >> 11 != 0x1b ? len + 1 : 0;
	}
	return 0;
}

size_t utf8_plain(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] >= 0x20 && text[i] < 0x7f)
		i++;
	return i;
}

size_t utf8_length(const char *text, size_t n)
{
	uint32_t code;

	return character_decode(text, n, &code);
}

size_t utf8_decode(const char *text, size_t n, uint32_t *ret_code)
{
	size_t length = character_decode(text, n, ret_code);

	if (length)
		return length;
	*ret_code = UTF8_REPLACEMENT;
	return 1;
}

bool utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

bool utf8_is_direction(uint32_t code)
{
	return code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0x061c || code == 0xfeff;
}

bool utf8_scrub(char *text)
{
	size_t n = strlen(text), taken = utf8_plain(text, n);
	char *to = text + taken;
	bool is_changed = false;
	uint32_t code;

	n -= taken;
	for (text += taken; n > 0; text += taken, n -= taken) {
		taken = utf8_decode(text, n, &code);
		if (utf8_is_control(code) || utf8_is_direction(code) || code == UTF8_REPLACEMENT) {
			*to++ = '?';
			is_changed = true;
		} else {
			memmove(to, text, taken);
			to += taken;
		}
	}
	*to = '\0';
	return is_changed;
}

void utf8_append(struct buf *out, const char *text, size_t n)
{
	size_t length = utf8_plain(text, n);

	(void)buf_append(out, text, length);
	for (text += length, n -= length; n > 0; text += length, n -= length) {
		length = utf8_length(text, n);
		(void)buf_append(out, length ? text : "\xef\xbf\xbd", length ? length : 3);
		length = MAX(length, 1);
	}
}
