// SPDX-License-Identifier: Apache-2.0
/* Which bytes are characters, and which of those a terminal may obey. */
#include "base/utf8.h"

#include <string.h>

#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *text;
	size_t length;
	uint32_t code;
} cases[] = {
	{ "ASCII", "a", 1, 'a' },
	{ "two bytes", "\xc2\x80", 2, 0x80 },
	{ "three bytes", "\xe2\x82\xac", 3, 0x20ac },
	{ "the last", "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
	{ "past the last", "\xf4\x90\x80\x80", 0, UTF8_REPLACEMENT },
	{ "below surrogates", "\xed\x9f\xbf", 3, 0xd7ff },
	{ "first surrogate", "\xed\xa0\x80", 0, UTF8_REPLACEMENT },
	{ "last surrogate", "\xed\xbf\xbf", 0, UTF8_REPLACEMENT },
	{ "above surrogates", "\xee\x80\x80", 3, 0xe000 },
	{ "overlong of two", "\xc1\xbf", 0, UTF8_REPLACEMENT },
	{ "overlong of three", "\xe0\x9f\xbf", 0, UTF8_REPLACEMENT },
	{ "overlong of four", "\xf0\x8f\xbf\xbf", 0, UTF8_REPLACEMENT },
	{ "five bytes", "\xf8\x88\x80\x80\x80", 0, UTF8_REPLACEMENT },
	{ "cut short", "\xe2\x82", 0, UTF8_REPLACEMENT },
	{ "interrupted",
	  "\xe2\x82"
	  "a",
	  0, UTF8_REPLACEMENT },
	{ "no lead", "\x80", 0, UTF8_REPLACEMENT },
	{ "the replacement itself", "\xef\xbf\xbd", 3, UTF8_REPLACEMENT },
};

static const struct {
	const char *name;
	const char *text;
	const char *appended;
	const char *scrubbed;
} texts[] = {
	{ "plain", "größe", "größe", "größe" },
	{ "controls", "a\x1b[2J\x7f", "a\x1b[2J\x7f", "a?[2J?" },
	{ "eight-bit control",
	  "\xc2\x9b"
	  "2J\xc2\xa0",
	  "\xc2\x9b"
	  "2J\xc2\xa0",
	  "?2J\xc2\xa0" },
	{ "another direction",
	  "a\xe2\x80\xae"
	  "b\xd8\x9c",
	  "a\xe2\x80\xae"
	  "b\xd8\x9c",
	  "a?b?" },
	{ "bytes that are none", "a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd", "a??" },
	{ "empty", "", "", "" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = strlen(cases[i].text);
		uint32_t code;

		CHECK_INT_EQ(cases[i].name, utf8_length(cases[i].text, n), cases[i].length);
		CHECK_INT_EQ(cases[i].name, utf8_decode(cases[i].text, n, &code), MAX(cases[i].length, 1));
		CHECK_INT_EQ(cases[i].name, code, cases[i].code);
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		char text[32];

		utf8_append(&out, texts[i].text, strlen(texts[i].text));
		CHECK_STR_EQ(texts[i].name, buf_text(&out), texts[i].appended);
		(void)snprintf(text, sizeof(text), "%s", texts[i].text);
		utf8_scrub(text);
		CHECK_STR_EQ(texts[i].name, text, texts[i].scrubbed);
	}
	return check_result();
}
