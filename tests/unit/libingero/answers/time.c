// SPDX-License-Identifier: Apache-2.0
/*
 * Clock times: every form, refusals, days that lack an hour or have one twice, and back to text.
 */
#include "libingero/answers/time.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0" /* half an hour of summer */
#define NOW 1769866401ull				 /* 2026-01-31 13:33:21 UTC, 14:33:21 in Berlin */

static const struct {
	const char *name;
	const char *zone;
	const char *text;
	int r;
	uint64_t s, ns;
	enum clock_note note;
} cases[] = {
	{ "now", BERLIN, "now", 0, NOW, 250000000, CLOCK_NOTE_NONE },
	{ "date and minute", BERLIN, "2026-01-31 14:03", 0, 1769864580, 0, CLOCK_NOTE_NONE },
	{ "with T", BERLIN, "2026-01-31T14:03:21", 0, 1769864601, 0, CLOCK_NOTE_NONE },
	{ "fraction", BERLIN, "2026-01-31 14:03:21.5", 0, 1769864601, 500000000, CLOCK_NOTE_NONE },
	{ "nanoseconds", BERLIN, "2026-01-31 14:03:21.123456789", 0, 1769864601, 123456789, CLOCK_NOTE_NONE },
	{ "UTC", BERLIN, "2026-01-31T13:03:21Z", 0, 1769864601, 0, CLOCK_NOTE_NONE },
	{ "as JSON prints it", BERLIN, "2026-01-31T13:03:21.000000001Z", 0, 1769864601, 1, CLOCK_NOTE_NONE },
	{ "east", BERLIN, "2026-01-31T15:03:21+02:00", 0, 1769864601, 0, CLOCK_NOTE_NONE },
	{ "west, no colon", BERLIN, "2026-01-31 08:03:21-0500", 0, 1769864601, 0, CLOCK_NOTE_NONE },
	{ "hours of a zone", BERLIN, "2026-01-31 15:03+02", 0, 1769864580, 0, CLOCK_NOTE_NONE },
	{ "date alone is its midnight", BERLIN, "2026-01-31", 0, 1769814000, 0, CLOCK_NOTE_NONE },
	{ "today", BERLIN, "14:03", 0, 1769864580, 0, CLOCK_NOTE_NONE },
	{ "today with seconds", BERLIN, "14:03:21", 0, 1769864601, 0, CLOCK_NOTE_NONE },
	{ "this very second", BERLIN, "14:33:21", 0, NOW, 0, CLOCK_NOTE_NONE },
	{ "still ahead: yesterday", BERLIN, "14:33:22", 0, NOW + 1 - 86400, 0, CLOCK_NOTE_NONE },
	{ "ahead by a fraction", BERLIN, "14:33:21.3", 0, NOW - 86400, 300000000, CLOCK_NOTE_NONE },
	{ "today there", BERLIN, "13:03Z", 0, 1769864580, 0, CLOCK_NOTE_NONE },
	{ "tomorrow there is ahead", BERLIN, "01:00+14:00", 0, 1769857200, 0, CLOCK_NOTE_NONE },
	{ "leap day", BERLIN, "2024-02-29 00:00Z", 0, 1709164800, 0, CLOCK_NOTE_NONE },
	{ "summer", BERLIN, "2026-07-01 12:00", 0, 1782900000, 0, CLOCK_NOTE_NONE },
	{ "twice: the first", BERLIN, "2025-10-26 02:30", 0, 1761438600, 0, CLOCK_NOTE_TWICE },
	{ "before twice", BERLIN, "2025-10-26 01:59:59", 0, 1761436799, 0, CLOCK_NOTE_NONE },
	{ "after twice", BERLIN, "2025-10-26 03:00", 0, 1761444000, 0, CLOCK_NOTE_NONE },
	{ "twice, second meant by its zone", BERLIN, "2025-10-26 02:30+01:00", 0, 1761442200, 0, CLOCK_NOTE_NONE },
	{ "skipped: when it was", BERLIN, "2025-03-30 02:30", 0, 1743296400, 0, CLOCK_NOTE_SKIPPED },
	{ "first of the skipped", BERLIN, "2025-03-30 02:00", 0, 1743296400, 0, CLOCK_NOTE_SKIPPED },
	{ "behind the skipped", BERLIN, "2025-03-30 03:00", 0, 1743296400, 0, CLOCK_NOTE_NONE },
	{ "west twice", NEW_YORK, "2025-11-02 01:30", 0, 1762061400, 0, CLOCK_NOTE_TWICE },
	{ "west skipped", NEW_YORK, "2025-03-09 02:15", 0, 1741503600, 0, CLOCK_NOTE_SKIPPED },
	{ "half an hour twice", LORD_HOWE, "2025-04-06 01:45", 0, 1743864300, 0, CLOCK_NOTE_TWICE },
	{ "half an hour skipped", LORD_HOWE, "2025-10-05 02:15", 0, 1759591800, 0, CLOCK_NOTE_SKIPPED },
	{ "no such day", BERLIN, "2026-02-30 10:00", -ERANGE, 0, 0, 0 },
	{ "no leap day", BERLIN, "2026-02-29", -ERANGE, 0, 0, 0 },
	{ "month 13", BERLIN, "2026-13-01", -ERANGE, 0, 0, 0 },
	{ "month 0", BERLIN, "2026-00-10", -ERANGE, 0, 0, 0 },
	{ "hour 24", BERLIN, "24:00", -ERANGE, 0, 0, 0 },
	{ "minute 60", BERLIN, "12:60", -ERANGE, 0, 0, 0 },
	{ "second 60", BERLIN, "12:00:60", -ERANGE, 0, 0, 0 },
	{ "before 1970", BERLIN, "1969-12-31 12:00", -ERANGE, 0, 0, 0 },
	{ "beyond", BERLIN, "2501-01-01", -ERANGE, 0, 0, 0 },
	{ "empty", BERLIN, "", -EINVAL, 0, 0, 0 },
	{ "a duration", BERLIN, "5m", -EINVAL, 0, 0, 0 },
	{ "one digit", BERLIN, "9:00", -EINVAL, 0, 0, 0 },
	{ "hour alone", BERLIN, "14", -EINVAL, 0, 0, 0 },
	{ "sign", BERLIN, "-1:00", -EINVAL, 0, 0, 0 },
	{ "rest", BERLIN, "14:03 ", -EINVAL, 0, 0, 0 },
	{ "rest behind Z", BERLIN, "14:03Zx", -EINVAL, 0, 0, 0 },
	{ "space alone", BERLIN, "2026-01-31 ", -EINVAL, 0, 0, 0 },
	{ "dot alone", BERLIN, "14:03:21.", -EINVAL, 0, 0, 0 },
	{ "fraction of minutes", BERLIN, "14:03.5", -EINVAL, 0, 0, 0 },
	{ "ten digits of a fraction", BERLIN, "14:03:21.1234567890", -EINVAL, 0, 0, 0 },
	{ "slashes", BERLIN, "2026/01/31", -EINVAL, 0, 0, 0 },
	{ "zone of 24 hours", BERLIN, "14:03+24:00", -EINVAL, 0, 0, 0 },
	{ "half a zone", BERLIN, "14:03+2", -EINVAL, 0, 0, 0 },
	{ "other digits", BERLIN, "\xd9\xa1\xd9\xa2:00", -EINVAL, 0, 0, 0 },
	{ "NOW", BERLIN, "NOW", -EINVAL, 0, 0, 0 },
};

static const struct {
	const char *name;
	const char *zone;
	uint64_t s;
	const char *clock;
	const char *exact;
} texts[] = {
	{ "same day", BERLIN, 1769864601, "14:03:21", "2026-01-31 14:03:21.000000 +01:00" },
	{ "day before", BERLIN, 1769813999, "2026-01-30 23:59:59", "2026-01-30 23:59:59.000000 +01:00" },
	{ "same day here, another there", NEW_YORK, 1769835599, "2026-01-30 23:59:59",
	  "2026-01-30 23:59:59.000000 -05:00" },
	{ "the first of two", BERLIN, 1792889999, "2026-10-25 02:59:59 CEST", "2026-10-25 02:59:59.000000 +02:00" },
	{ "the second of two", BERLIN, 1792890000, "2026-10-25 02:00:00 CET", "2026-10-25 02:00:00.000000 +01:00" },
	{ "there is one again", BERLIN, 1792893600, "2026-10-25 03:00:00", "2026-10-25 03:00:00.000000 +01:00" },
	{ "after a skipped hour", BERLIN, 1774746000, "2026-03-29 03:00:00", "2026-03-29 03:00:00.000000 +02:00" },
	{ "half an hour", LORD_HOWE, 1752000000, "2025-07-09 05:10:00", "2025-07-09 05:10:00.000000 +10:30" },
};

static void zone_set(const char *zone)
{
	(void)setenv("TZ", zone, 1);
	tzset();
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct clock_time got = { .unix_ns = 12345 };

		zone_set(cases[i].zone);
		CHECK_INT_EQ(cases[i].name, clock_parse(cases[i].text, NOW * NSEC_PER_SEC + 250000000, &got),
			     cases[i].r);
		CHECK_INT_EQ(cases[i].name, got.unix_ns,
			     cases[i].r < 0 ? 12345 : cases[i].s * NSEC_PER_SEC + cases[i].ns);
		CHECK_INT_EQ(cases[i].name, got.note, cases[i].note);
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		zone_set(texts[i].zone);
		CHECK_STR_EQ(texts[i].name, clock_text(texts[i].s * NSEC_PER_SEC, NOW * NSEC_PER_SEC).text,
			     texts[i].clock);
		CHECK_STR_EQ(texts[i].name, clock_text_exact(texts[i].s * NSEC_PER_SEC).text, texts[i].exact);
	}
	zone_set(BERLIN);
	CHECK_STR_EQ("span",
		     clock_span_text(1769864601 * NSEC_PER_SEC, 1769864602 * NSEC_PER_SEC, NOW * NSEC_PER_SEC).text,
		     "14:03:21 to 14:03:22");
	CHECK_STR_EQ("span of another day",
		     clock_span_text(1769813990 * NSEC_PER_SEC, 1769813999 * NSEC_PER_SEC, NOW * NSEC_PER_SEC).text,
		     "2026-01-30 23:59:50 to 23:59:59");
	CHECK_STR_EQ("span over midnight",
		     clock_span_text(1769813999 * NSEC_PER_SEC, 1769864601 * NSEC_PER_SEC, NOW * NSEC_PER_SEC).text,
		     "2026-01-30 23:59:59 to 2026-01-31 14:03:21");
	CHECK_STR_EQ("span within a second",
		     clock_span_text(1769864601 * NSEC_PER_SEC, 1769864601 * NSEC_PER_SEC + 5, NOW * NSEC_PER_SEC).text,
		     "14:03:21");
	CHECK_STR_EQ("span without bounds", clock_span_text(0, 0, NOW * NSEC_PER_SEC).text, "the beginning to now");
	return check_result();
}
