// SPDX-License-Identifier: Apache-2.0
/* Sides of a comparison as people name them: times, processes and files, and what cannot be compared. */
#include "libingero/answers/compare/side.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define SECOND 1000000000ull
#define NOW (1700000000 * SECOND) /* 2023-11-14 22:13:20 UTC */
#define MIDNIGHT (NOW - (22 * 3600 + 13 * 60 + 20) * SECOND)
#define SHORT_OF(text) text "is neither a time such as 10m..5m or 14:00..14:10"

static const struct {
	const char *text;
	bool is_file;
	const char *refusal; /* its beginning; NULL: fine */
	enum compare_side_kind kind;
	uint64_t from, to; /* ns */
	size_t n_pids;
	uint32_t last; /* process; of a run how many before the last */
} sides[] = {
	{ "10m..5m", false, NULL, COMPARE_TIME, NOW - 600 * SECOND, NOW - 300 * SECOND, 0, 0 },
	{ "5m", false, NULL, COMPARE_TIME, NOW - 300 * SECOND, 0, 0, 0 },
	{ "5m..", false, NULL, COMPARE_TIME, NOW - 300 * SECOND, 0, 0, 0 },
	{ "..5m", false, NULL, COMPARE_TIME, 0, NOW - 300 * SECOND, 0, 0 },
	{ "14:00..14:10", false, NULL, COMPARE_TIME, MIDNIGHT + 14 * 3600 * SECOND,
	  MIDNIGHT + 14 * 3600 * SECOND + 600 * SECOND, 0, 0 },
	{ "2023-11-14T14:00..5m", false, NULL, COMPARE_TIME, MIDNIGHT + 14 * 3600 * SECOND, NOW - 300 * SECOND, 0, 0 },
	{ "5m..10m", false, "'5m..10m' ends before it begins", 0, 0, 0, 0, 0 },
	{ "5m..5m", false, "'5m..5m' ends before it begins", 0, 0, 0, 0, 0 },
	{ "yesterday", false, SHORT_OF("'yesterday' "), 0, 0, 0, 0, 0 },
	{ "10m..soon", false, SHORT_OF("'10m..soon' "), 0, 0, 0, 0, 0 },
	{ "", false, SHORT_OF("'' "), 0, 0, 0, 0, 0 },
	{ "0123456789012345678901234567890123456789012345678901234567890123456789..5m", false, "'0123", 0, 0, 0, 0, 0 },
	{ "pid:4711", false, NULL, COMPARE_PIDS, 0, 0, 1, 4711 },
	{ "pid:4711,4712", true, NULL, COMPARE_PIDS, 0, 0, 2, 4712 },
	{ "pid:", false, "'pid:' names no process", 0, 0, 0, 0, 0 },
	{ "pid:0", false, "'pid:0' names no process", 0, 0, 0, 0, 0 },
	{ "pid:4711,", false, "'pid:4711,' names no process", 0, 0, 0, 0, 0 },
	{ "pid:99999999999999999999", false, "'pid:99999999999999999999' names no process", 0, 0, 0, 0, 0 },
	{ "run:train.py", false, NULL, COMPARE_RUN, 0, 0, 0, 0 },
	{ "run:train.py~1", true, NULL, COMPARE_RUN, 0, 0, 0, 1 },
	{ "run:", false, "'run:' names no program", 0, 0, 0, 0, 0 },
	{ "run:~1", false, "'run:~1' names no program", 0, 0, 0, 0, 0 },
	{ "run:0123456789012345678901234567890123456789012345678901234567890123", false, "'run:0123", 0, 0, 0, 0, 0 },
	{ "before.db", false, NULL, COMPARE_FILE, 0, 0, 0, 0 },
	{ "../5m..2m", false, NULL, COMPARE_FILE, 0, 0, 0, 0 },
	{ "10m", true, NULL, COMPARE_FILE, 0, 0, 0, 0 },
};

static void sides_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		char error[COMPARE_SIDE_ERROR_BYTES] = "";
		struct compare_side side;
		int r = compare_side_parse(sides[i].text, sides[i].is_file, NOW, &side, error);

		CHECK_INT_EQ(sides[i].text, r == 0, sides[i].refusal == NULL);
		if (sides[i].refusal) {
			CHECK_INT_EQ(error, strncmp(error, sides[i].refusal, strlen(sides[i].refusal)), 0);
			continue;
		}
		CHECK_INT_EQ(sides[i].text, side.kind, sides[i].kind);
		CHECK_INT_EQ(sides[i].text, side.from_unix_ns, sides[i].from);
		CHECK_INT_EQ(sides[i].text, side.to_unix_ns, sides[i].to);
		CHECK_INT_EQ(sides[i].text, side.n_pids, sides[i].n_pids);
		CHECK_INT_EQ(sides[i].text, side.n_pids ? side.pids[side.n_pids - 1] : side.runs_back, sides[i].last);
		if (side.kind == COMPARE_RUN)
			CHECK_STR_EQ(sides[i].text, side.run, "train.py");
	}
}

static void too_many_check(void)
{
	char text[1024] = "pid:1", error[COMPARE_SIDE_ERROR_BYTES];
	struct compare_side side;

	for (size_t i = 1; i < COMPARE_SIDE_PIDS_MOST; i++)
		strcat(text, ",7");
	CHECK_INT_EQ("as many as there is room for", compare_side_parse(text, false, NOW, &side, error), 0);
	strcat(text, ",7");
	CHECK("one more is refused", compare_side_parse(text, false, NOW, &side, error) < 0);
}

static const struct {
	const char *a, *b;
	const char *fault; /* its beginning; NULL: fine */
} pairs[] = {
	{ "10m..5m", "5m", NULL },
	{ "5m", "10m..5m", NULL },
	{ "10m..5m", "2m", NULL },
	{ "10m..4m", "5m", "the two times overlap" },
	{ "10m", "5m", "the two times overlap" },
	{ "..5m", "10m..", "the two times overlap" },
	{ "pid:1", "pid:2", NULL },
	{ "pid:1", "5m", NULL },
	{ "a.db", "b.db", NULL },
	{ "a.db", "5m", "a file is compared with a file" },
	{ "pid:1", "b.db", "a file is compared with a file" },
};

static void pairs_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		char error[COMPARE_SIDE_ERROR_BYTES];
		struct compare_side a, b;
		const char *fault;

		CHECK_INT_EQ(pairs[i].a, compare_side_parse(pairs[i].a, false, NOW, &a, error), 0);
		CHECK_INT_EQ(pairs[i].b, compare_side_parse(pairs[i].b, false, NOW, &b, error), 0);
		fault = compare_sides_fault(&a, &b);
		CHECK_INT_EQ(pairs[i].a, fault == NULL, pairs[i].fault == NULL);
		if (fault && pairs[i].fault)
			CHECK_INT_EQ(fault, strncmp(fault, pairs[i].fault, strlen(pairs[i].fault)), 0);
	}
}

int main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	sides_check();
	too_many_check();
	pairs_check();
	return check_result();
}
