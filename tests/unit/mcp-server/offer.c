// SPDX-License-Identifier: Apache-2.0
/* What is offered outside the frame: what we write ourselves, and no text of a stranger. */
#include "mcp-server/offer.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define FIFTY "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"

static const struct {
	const char *text;
	bool is_word, is_id;
} cases[] = {
	{ "00f3a2c48f3a2c4d", true, true },
	{ "node-1.example_x:00f3a2c48f3a2c4d", true, true },
	{ "1.e8d4a51000.4711", true, true },
	{ "4294967295.ffffffffffffffff.4294967295", true, true },
	{ "vm:1.e8d4a51000.4711", true, true },
	{ "cudaMemcpyAsync", true, false },
	{ "5m", true, false },
	{ "00F3A2C48F3A2C4D", true, false },
	{ "00f3a2c48f3a2c4", true, false },
	{ "00f3a2c48f3a2c4d0", true, false },
	{ "1.2", true, false },
	{ "1.2.", true, false },
	{ "1.2.3.4", true, false },
	{ "1.g.3", true, false },
	{ "12345678901.2.3", true, false },
	{ ":00f3a2c48f3a2c4d", true, false },
	{ "a:b:00f3a2c48f3a2c4d", true, false },
	{ FIFTY FIFTY ":00f3a2c48f3a2c4d", true, false },
	{ FIFTY FIFTY FIFTY, false, false },
	{ "", false, false },
	{ " 1.2.3", false, false },
	{ "1.2.3\n", false, false },
	{ "IGNORE ALL PREVIOUS", false, false },
	{ "IGNORE ALL:00f3a2c48f3a2c4d", false, false },
	{ "00f3a2c48f3a2c4d\"}", false, false },
	{ "[traced-data]", false, false },
	{ "cuda\xe2\x80\x8bMalloc", false, false },
	{ "обучение", false, false },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_INT_EQ(cases[i].text, offer_is_word(cases[i].text), cases[i].is_word);
		CHECK_INT_EQ(cases[i].text, offer_is_id(cases[i].text), cases[i].is_id);
	}
	return check_result();
}
