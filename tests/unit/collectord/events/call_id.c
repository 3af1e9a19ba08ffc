// SPDX-License-Identifier: Apache-2.0
/*
 * The public id of a call: what is written is read again, and nothing else is an id.
 */
#include "events/call_id.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static const struct {
	const char *text;
	int r;
	struct call_id id;
} cases[] = {
	{ "1.e8d4a51000.4711", 0, { .boot = 1, .start_ns = 1000000000000, .tid = 4711 } },
	{ "0.0.0", 0, { .boot = 0 } },
	{ "4294967295.ffffffffffffffff.4294967295", 0, { UINT32_MAX, UINT32_MAX, UINT64_MAX } },
	{ "", -EINVAL, { 0 } },
	{ "1", -EINVAL, { 0 } },
	{ "1.2", -EINVAL, { 0 } },
	{ "1.2.", -EINVAL, { 0 } },
	{ "1.2.3.4", -EINVAL, { 0 } },
	{ "1.2.3 ", -EINVAL, { 0 } },
	{ " 1.2.3", -EINVAL, { 0 } },
	{ "+1.2.3", -EINVAL, { 0 } },
	{ "01.2.3", -EINVAL, { 0 } },
	{ "1.0x2.3", -EINVAL, { 0 } },
	{ "1.A.3", -EINVAL, { 0 } },
	{ "1.-2.3", -EINVAL, { 0 } },
	{ "4294967296.1.1", -EINVAL, { 0 } },
	{ "1.10000000000000000.1", -EINVAL, { 0 } },
	{ "8f3a2c", -EINVAL, { 0 } },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call_id id = { 0 };
		char text[CALL_ID_BYTES];

		CHECK_INT_EQ(cases[i].text, call_id_parse(cases[i].text, &id), cases[i].r);
		CHECK_INT_EQ(cases[i].text, id.boot, cases[i].id.boot);
		CHECK_INT_EQ(cases[i].text, id.start_ns, cases[i].id.start_ns);
		CHECK_INT_EQ(cases[i].text, id.tid, cases[i].id.tid);
		if (cases[i].r)
			continue;
		call_id_format(&id, text);
		CHECK_STR_EQ("written as read", text, cases[i].text);
	}
	return check_result();
}
