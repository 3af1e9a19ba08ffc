// SPDX-License-Identifier: Apache-2.0
/* Strings of JSON: whatever a process is called, no character of it steers a terminal, and all of it is UTF-8. */
#include "base/json_text.h"

#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *text;
	const char *want;
} cases[] = {
	{ "plain", "a b", "\"a b\"" },
	{ "quotes and controls", "\"\\\n\x1b\x7f", "\"\\\"\\\\\\u000a\\u001b\\u007f\"" },
	{ "more controls",
	  "\xc2\x80\xc2\x9b"
	  "2J\xc2\x9f\xc2\xa0",
	  "\"\\u0080\\u009b2J\\u009f\xc2\xa0\"" },
	{ "UTF-8", "µ▲日", "\"µ▲日\"" },
	{ "cut", "a\xc2", "\"a\xef\xbf\xbd\"" },
	{ "bytes that are none",
	  "a\xff"
	  "b\xc3",
	  "\"a\xef\xbf\xbd"
	  "b\xef\xbf\xbd\"" },
	{ "overlong quote", "\xc0\xa2", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	{ "empty", "", "\"\"" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		json_text_add(&out, cases[i].text);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
	return check_result();
}
