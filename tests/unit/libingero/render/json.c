// SPDX-License-Identifier: Apache-2.0
/* Objects that are no message, as JSON: whatever bytes a text has, the line is JSON. */
#include "libingero/render/json.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *text;
	const char *want;
} cases[] = {
	{ "plain", "a b", "{\"text\":\"a b\"}\n" },
	{ "empty", "", "{\"text\":\"\"}\n" },
	{ "quotes and controls", "\"\\\n\x1b", "{\"text\":\"\\\"\\\\\\n\\u001B\"}\n" },
	{ "more controls",
	  "\x7f\xc2\x80\xc2\x9b"
	  "2J\xc2\x9f\xc2\xa0",
	  "{\"text\":\"\\u007f\\u0080\\u009b"
	  "2J\\u009f\xc2\xa0\"}\n" },
	{ "UTF-8", "µ▲日", "{\"text\":\"µ▲日\"}\n" },
	{ "not UTF-8", "a\xff\xc0\xaf", "{\"text\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}\n" },
};

int main(void)
{
	CLEANUP(buf_done) struct buf none = BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ(cases[i].name, json_line(&out, json_pack("{s:o}", "text", json_text(cases[i].text))), 0);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
	CHECK_INT_EQ("no object", json_line(&none, NULL), -ENOMEM);
	CHECK_STR_EQ("no object", buf_text(&none), "");
	return check_result();
}
