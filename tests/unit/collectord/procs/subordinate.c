// SPDX-License-Identifier: Apache-2.0
/* The range of subordinate user ids, by the text of subuid(5): that no account of the machine gets into it. */
#include "procs/subordinate.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define FIRST "first:100000:65536\n"
#define SECOND "second:165536:65536\n"

static const struct {
	const char *name;
	const char *text;
	uint32_t first, n;
} cases[] = {
	{ "no line", "\n", 0, 0 },
	{ "one user", FIRST, 100000, 65536 },
	{ "two", FIRST SECOND, 100000, 131072 },
	{ "in any order", SECOND FIRST, 100000, 131072 },
	{ "with others between them", FIRST "third:1000000:1000\n", 100000, 901000 },
	{ "one within another", "1000:100000:65536\n1001:110000:100\n", 100000, 65536 },
	{ "no end of line", "first:100000:65536", 100000, 65536 },
	{ "a user of the machine, for a container", "root:1000:1\n" FIRST, 100000, 65536 },
	{ "many of them", "root:1000:60000\n" FIRST, 100000, 65536 },
	{ "one with a large id", FIRST "root:200001:1\n", 100000, 65536 },
	{ "from the beginning", "root:0:4294967295\n", 0, 0 },
	{ "the last ones", "root:4294900000:67295\n", 4294900000, 67295 },
	{ "one more", "root:4294900000:67296\n", 0, 0 },
	{ "negative ones", "first:-1:65536\nfirst:100000:-1\n", 0, 0 },
	{ "more than there are", "first:100000:4294967295\nfirst:99999999999:65536\n", 0, 0 },
	{ "lines that make no sense", ":\nfirst\nfirst:\nfirst:100000\nfirst:x:y\nfirst:100000:65536:1\n" SECOND,
	  165536, 65536 },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(fclosep) FILE *file = fmemopen((void *)(uintptr_t)cases[i].text, strlen(cases[i].text), "r");
		struct subordinate found;

		if (!file)
			abort();
		found = subordinate_parse(file);
		CHECK_INT_EQ(cases[i].name, found.first, cases[i].first);
		CHECK_INT_EQ(cases[i].name, found.n, cases[i].n);
	}
	return check_result();
}
