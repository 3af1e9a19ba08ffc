// SPDX-License-Identifier: Apache-2.0
/* Columns, cutting, and what a hostile name must not do to a terminal. */
#include "libingero/render/text.h"

#include <locale.h>

#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *text;
	unsigned int room;
	const char *utf8;
	const char *ascii;
} cases[] = {
	{ "plain", "python", 10, "python", "python" },
	{ "exact", "python", 6, "python", "python" },
	{ "cut", "python3", 6, "pytho…", "pytho~" },
	{ "one column", "python", 1, "…", "~" },
	{ "no room", "python", 0, "", "" },
	{ "empty", "", 5, "", "" },
	{ "our signs", "61µs ▲ a · b ▇░ ←", 40, "61µs ▲ a · b ▇░ ←", "61us ! a | b #. <" },
	{ "escape sequence", "a\x1b[2Jb", 10, "a?[2Jb", "a?[2Jb" },
	{ "newline and tab", "a\nb\tc", 10, "a?b?c", "a?b?c" },
	{ "eight-bit control",
	  "a\xc2\x9b"
	  "2Jb",
	  10, "a?2Jb", "a?2Jb" },
	{ "turned direction",
	  "a\xe2\x80\xae"
	  "b",
	  10, "a?b", "a?b" },
	{ "not UTF-8",
	  "a\xff\xfe"
	  "b",
	  10, "a??b", "a??b" },
	{ "cut short", "a\xe2\x96", 10, "a??", "a??" },
	{ "overlong slash", "\xc0\xaf", 10, "??", "??" },
	{ "surrogate", "\xed\xa0\x80", 10, "???", "???" },
	{ "wide", "日本", 10, "日本", "????" },
	{ "wide cut", "日本語", 4, "日…", "??~" },
	{ "letters", "größe", 10, "größe", "gr??e" },
};

static const struct {
	const char *name;
	unsigned int columns;
	const char *first;
	const char *text;
	const char *want;
} paragraphs[] = {
	{ "one line", 40, "  ", "all is well", "  all is well\n" },
	{ "broken at spaces", 24, "- ", "one two three four five six", "- one two three four\n  five six\n" },
	{ "unit", 22, "", "it lasted about 142 ms, then", "it lasted about\n142 ms, then\n" },
	{ "groups and unit", 24, "", "of which there were 1 234 567 h", "of which there were\n1 234 567 h\n" },
	{ "no unit", 22, "", "it was the call 142 maybe", "it was the call 142\nmaybe\n" },
	{ "word too long", 22, "", "x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x\naaaaaaaaaaaaaaaaaaaaaa\naaaaaaaaa\n" },
	{ "and one behind it", 22, "- ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
	  "- aaaaaaaaaaaaaaaaaaaa\n  aaaaaaaaaaa b\n" },
	{ "no character is parted", 22, "", "ääääääääääääääääääääääääää", "ääääääääääääääääääääää\nääää\n" },
};

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		CHECK_SKIP("no locale C.UTF-8");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
			struct text_style style = { .is_utf8 = is_utf8, .columns = 80 };
			const char *want = is_utf8 ? cases[i].utf8 : cases[i].ascii;
			CLEANUP(buf_done) struct buf out = BUF_INIT;
			unsigned int columns = text_append(&out, &style, cases[i].text, cases[i].room);

			CHECK_STR_EQ(cases[i].name, buf_text(&out), want);
			CHECK_INT_EQ(cases[i].name, columns, text_columns(want));
			CHECK_INT_IN(cases[i].name, columns, 0, cases[i].room);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(paragraphs); i++) {
		struct text_style style = { .is_utf8 = true, .columns = paragraphs[i].columns };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		text_paragraph(&out, &style, paragraphs[i].first, paragraphs[i].text);
		CHECK_STR_EQ(paragraphs[i].name, buf_text(&out), paragraphs[i].want);
	}
	return check_result();
}
