// SPDX-License-Identifier: Apache-2.0
/* Time of the loop that stacks of a user take: a quarter of it for each user, subordinate ids together. */
#include "stacks/user_time.h"
#include "tests/support/check.h"

#define MS 1000000ull
#define MOST (USER_TIME_MOST_NS / MS)

static struct user_times times = { .together = { .first = 100000, .n = 65536 } };

int main(void)
{
	static const struct {
		const char *name;
		uint64_t at_ms;
		uint32_t uid;
		uint64_t ms;
		uint32_t asked;
		bool is_left;
	} rows[] = {
		{ "nobody took any", 1000, 1, 0, 1, true },
		{ "some is left", 1000, 1, MOST - 1, 1, true },
		{ "none is left", 1000, 1, 1, 1, false },
		{ "another one's is his own", 1000, 1, 0, 2, true },
		{ "a quarter of the time is given back", 1004, 1, 0, 1, true },
		{ "not more than that", 1004, 1, 1, 1, false },
		{ "a subordinate id", 2000, 100001, MOST, 100001, false },
		{ "another subordinate id", 2000, 100001, 0, 160000, false },
		{ "nobody's subordinate id", 2000, 100001, 0, 165536, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].ms)
			user_time_add(&times, rows[i].uid, rows[i].ms * MS, rows[i].at_ms * MS);
		CHECK(rows[i].name, user_time_is_left(&times, rows[i].asked, rows[i].at_ms * MS) == rows[i].is_left);
	}
	user_times_second(&times, 2001 * MS);
	CHECK_INT_EQ("who took some lately", times.items.n, 2);
	user_times_second(&times, 9000 * MS);
	CHECK_INT_EQ("nobody took any lately", times.items.n, 0);
	user_times_done(&times);
	return check_result();
}
