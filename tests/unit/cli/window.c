// SPDX-License-Identifier: Apache-2.0
/* Which time is meant by --since, --from and --to together, and what they cannot mean. */
#include "cli/window.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "libingero/answers/time.h"
#include "tests/support/check.h"

#define NOW (1000 * NSEC_PER_SEC)

static const struct {
	const char *name;
	uint64_t since_ns, from_unix_ns, to_unix_ns, default_ns;
	const char *sentence; /* NULL: fine */
	uint64_t want_from, want_to;
} cases[] = {
	{ "nothing, no default", 0, 0, 0, 0, NULL, 0, 0 },
	{ "nothing", 0, 0, 0, 300 * NSEC_PER_SEC, NULL, 700 * NSEC_PER_SEC, 0 },
	{ "since", 10 * NSEC_PER_SEC, 0, 0, 300 * NSEC_PER_SEC, NULL, 990 * NSEC_PER_SEC, 0 },
	{ "longer than there was time", UINT64_MAX, 0, 0, 0, NULL, 0, 0 },
	{ "from", 0, 5, 0, 300 * NSEC_PER_SEC, NULL, 5, 0 },
	{ "to", 0, 0, 7, 300 * NSEC_PER_SEC, NULL, 0, 7 },
	{ "both", 0, 5, 7, 300 * NSEC_PER_SEC, NULL, 5, 7 },
	{ "since and from", 1, 5, 0, 0, "'--since' and '--from' exclude each other: take one", 0, 0 },
	{ "since and to", 1, 0, 7, 0, "'--since' ends now; with '--to' give '--from'", 0, 0 },
	{ "backwards", 0, 7, 5, 0, "'--from' is not before '--to': the window is empty", 0, 0 },
	{ "the same", 0, 7, 7, 0, "'--from' is not before '--to': the window is empty", 0, 0 },
};

#define DAY 86400
#define HOUR 3600
#define AFTERNOON (20000 * (uint64_t)DAY + 14 * HOUR + 15 * 60) /* 14:15 UTC */

static const struct {
	const char *from, *to;
	const char *sentence;	    /* NULL: fine */
	int want_from_s, want_to_s; /* since that day's midnight */
} clocks[] = {
	{ "14:00", "14:10", NULL, 14 * HOUR, 14 * HOUR + 600 },
	{ "15:00", "15:30", NULL, 15 * HOUR - DAY, 15 * HOUR + 1800 - DAY },
	{ "15:00", "14:00", NULL, 15 * HOUR - DAY, 14 * HOUR },
	{ "00:00", "23:59", NULL, 0, 24 * HOUR - 60 },
	{ "14:00", "14:30", NULL, 14 * HOUR, 14 * HOUR + 1800 },
	{ "14:10", "14:00", "'--from' is not before '--to': the window is empty", 0, 0 },
	{ "15:30", "15:00", "'--from' is not before '--to': the window is empty", 0, 0 },
	{ "14:00", "14:00", "'--from' is not before '--to': the window is empty", 0, 0 },
};

static void clocks_check(void)
{
	uint64_t now_ns = AFTERNOON * NSEC_PER_SEC, midnight_s = AFTERNOON / DAY * DAY;

	(void)setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct window_wish wish = { 0 };
		const char *sentence;
		Ingero__V1__Span span;

		CHECK_INT_EQ(clocks[i].from, clock_parse(clocks[i].from, now_ns, &wish.from), 0);
		CHECK_INT_EQ(clocks[i].to, clock_parse(clocks[i].to, now_ns, &wish.to), 0);
		sentence = window_contradicts(&wish);
		CHECK_STR_EQ(clocks[i].to, sentence ? sentence : "", clocks[i].sentence ? clocks[i].sentence : "");
		if (clocks[i].sentence)
			continue;
		span = window_resolve(&wish, 0, now_ns);
		CHECK_INT_EQ(clocks[i].from, span.from_unix_ns,
			     (midnight_s + (uint64_t)clocks[i].want_from_s) * NSEC_PER_SEC);
		CHECK_INT_EQ(clocks[i].to, span.to_unix_ns,
			     (midnight_s + (uint64_t)clocks[i].want_to_s) * NSEC_PER_SEC);
	}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct window_wish wish = { .since_ns = cases[i].since_ns,
					    .from.unix_ns = cases[i].from_unix_ns,
					    .to.unix_ns = cases[i].to_unix_ns };
		const char *sentence = window_contradicts(&wish);
		Ingero__V1__Span span = window_resolve(&wish, cases[i].default_ns, NOW);

		CHECK_STR_EQ(cases[i].name, sentence ? sentence : "", cases[i].sentence ? cases[i].sentence : "");
		if (cases[i].sentence)
			continue;
		CHECK_INT_EQ(cases[i].name, span.from_unix_ns, cases[i].want_from);
		CHECK_INT_EQ(cases[i].name, span.to_unix_ns, cases[i].want_to);
	}
	clocks_check();
	return check_result();
}
