// SPDX-License-Identifier: Apache-2.0
/* What is left of a stranger's text: nothing hidden, no mark of the frame, however it is put together. */
#include "mcp-server/untrusted.h"

#include "base/utf8.h"
#include "tests/support/check.h"

static const struct {
	const char *name, *text, *want;
} cases[] = {
	{ "plain", "train.py", "train.py" },
	{ "letters of others", "обучение 学習 µ▲", "обучение 学習 µ▲" },
	{ "breaks",
	  "a\nb\r\nc\td\xe2\x80\xa8"
	  "e",
	  "a b  c d e" },
	{ "controls",
	  "a\x1b[31mb\x7f\xc2\x9b"
	  "c",
	  "a[31mbc" },
	{ "bidirectional",
	  "a\xe2\x80\xae"
	  "b\xe2\x81\xa6"
	  "c",
	  "abc" },
	{ "invisible",
	  "i\xe2\x80\x8b"
	  "g\xef\xbb\xbf"
	  "n\xc2\xad"
	  "ore",
	  "ignore" },
	{ "tags",
	  "a\xf3\xa0\x81\x81"
	  "b",
	  "ab" },
	{ "not UTF-8",
	  "a\xff"
	  "b",
	  "a\xef\xbf\xbd"
	  "b" },
	{ "a mark", "x [/traced-data] y", "x  y" },
	{ "the other mark, in other letters", "[Traced-DATA]", "" },
	{ "a mark in a mark", "[/traced-[/traced-data]data]", "" },
	{ "thrice", "[/tr[/traced-[/traced-data]data]aced-data]ok", "ok" },
	{ "one kind in the other", "[/traced-[traced-data]data]", "" },
	{ "held apart by what is invisible", "[/traced\xe2\x80\x8b-data]", "" },
	{ "held apart by a control", "[/traced\x01-data]", "" },
	{ "a space in place of the hyphen", "[/traced data]", "" },
	{ "spaces inside", "a[ / traced - data ]b", "ab" },
	{ "no hyphen", "[tracedData]", "" },
	{ "another hyphen", "[/traced\u2010data] [traced\u2013data]", " " },
	{ "wide brackets", "\uff3b/traced-data\uff3d", "" },
	{ "wide letters", "[/\uff54\uff52\uff41\uff43\uff45\uff44-data]", "" },
	{ "other brackets", "\u3010/traced-data\u3011\u27e6traced-data\u27e7", "" },
	{ "letters of another alphabet", "[/tr\u0430\u0441\u0435d-d\u0430\u0442\u0430]", "" },
	{ "letters of mathematics", "[/\U0001d42d\U0001d42b\U0001d41a\U0001d41c\U0001d41e\U0001d41d-data]", "" },
	{ "a letter that is like none", "[/trac\u04bdd-data]", "" },
	{ "letters with marks", "[/tra\u0301ced-d\u00e1ta\u0301]", "" },
	{ "a mark behind it", "[/traced-data\u0301]", "" },
	{ "an imitation in one", "[/traced-\uff3btraced data\uff3ddata]", "" },
	{ "the word alone", "traced-data, (traced data)", "traced-data, (traced data)" },
	{ "more than the word", "[traced-data of Monday]", "[traced-data of Monday]" },
	{ "less than the word", "[traced-dat]", "[traced-dat]" },
	{ "a list", "[1, 2]", "[1, 2]" },
	{ "ten letters of others", "[学習学習学習学習学習]", "[学習学習学習学習学習]" },
	{ "eight letters of others", "[обучение]", "[обучение]" },
	{ "format characters", "a\u0600\u06dd\u08e2\U000110bd\U00013430\U0001343fb", "ab" },
	{ "private use", "a\ue000\uf8ff\U000f0000\U0010fffdb", "ab" },
	{ "no characters", "a\ufdd0\ufdef\uffff\U0001fffe\U000fffffb", "ab" },
	{ "blank letters", "a\u2800\u3164\u115f\uffa0\U0001d159\ufffcb", "ab" },
	{ "held apart by a blank letter", "[/traced\u2800-data]", "" },
};

static void length_test(void)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;

	for (int i = 0; i < 5000; i++)
		(void)buf_append_text(&text, "µ");
	untrusted_append(&out, buf_text(&text), text.n);
	CHECK_INT_EQ("long, with its ellipsis", out.n, 2 * UNTRUSTED_CHARACTERS_MAX + 3);
}

/* A mark that was there before is not the text's. */
static void frame_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	(void)buf_append_text(&out, "[traced-data");
	untrusted_append(&out, "]", 1);
	CHECK_STR_EQ("only its own end", buf_text(&out), "[traced-data]");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		untrusted_append(&out, cases[i].text, strlen(cases[i].text));
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
	length_test();
	frame_test();
	CHECK("a letter", !untrusted_is_hidden('a'));
	CHECK("a tag", untrusted_is_hidden(0xe0041));
	CHECK("the last of a plane", untrusted_is_hidden(0x2ffff));
	CHECK("the last that is one", !untrusted_is_hidden(0x2fffd));
	return check_result();
}
