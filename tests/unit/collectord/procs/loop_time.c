// SPDX-License-Identifier: Apache-2.0
/* Time of the loop that each user takes for stacks and requests: a quarter of it, subordinate ids together. */
#include "procs/loop_time.h"
#include "tests/support/check.h"

#define MS 1000000ull
#define MOST_MS 2000

static struct loop_times times = { .together = { .first = 100000, .n = 65536 } };

int main(void)
{
	static const struct {
		const char *name;
		uint64_t at_ms;
		uint32_t uid;
		enum loop_use use;
		uint64_t ms;
		uint32_t asked;
		uint64_t requests_ms, stacks_ms; /* until the quarter is kept */
	} rows[] = {
		{ "nobody took any", 1000, 1, LOOP_STACKS, 0, 1, 0, 0 },
		{ "stacks do not delay requests", 1000, 1, LOOP_STACKS, 100, 1, 0, 400 },
		{ "another one's is his own", 1000, 1, LOOP_STACKS, 0, 2, 0, 0 },
		{ "requests are missing to stacks", 1000, 1, LOOP_REQUESTS, 50, 1, 200, 600 },
		{ "a quarter of the time is given back", 1100, 1, LOOP_STACKS, 0, 1, 100, 500 },
		{ "all of it, at last", 1200, 1, LOOP_STACKS, 0, 1, 0, 400 },
		{ "nothing was put by", 1600, 1, LOOP_REQUESTS, 10, 1, 40, 40 },
		{ "no longer than that", 1600, 1, LOOP_REQUESTS, 10000, 1, MOST_MS, MOST_MS },
		{ "stacks beyond that", 1600, 2, LOOP_STACKS, MOST_MS, 2, 0, MOST_MS },
		{ "a subordinate id", 2000, 100001, LOOP_STACKS, 100, 100001, 0, 400 },
		{ "another subordinate id", 2000, 100001, LOOP_STACKS, 0, 160000, 0, 400 },
		{ "nobody's subordinate id", 2000, 100001, LOOP_STACKS, 0, 165536, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t now_ns = rows[i].at_ms * MS;

		if (rows[i].ms)
			loop_time_take(&times, rows[i].uid, rows[i].use, rows[i].ms * MS, MOST_MS * MS, now_ns);
		CHECK_INT_EQ(rows[i].name, loop_time_ahead_ns(&times, rows[i].asked, LOOP_REQUESTS, now_ns) / MS,
			     rows[i].requests_ms);
		CHECK_INT_EQ(rows[i].name, loop_time_ahead_ns(&times, rows[i].asked, LOOP_STACKS, now_ns) / MS,
			     rows[i].stacks_ms);
	}
	loop_times_forget(&times, 2001 * MS);
	CHECK_INT_EQ("who took some lately", times.items.n, 3);
	loop_times_forget(&times, 9000 * MS);
	CHECK_INT_EQ("nobody took any lately", times.items.n, 0);
	loop_times_done(&times);
	return check_result();
}
