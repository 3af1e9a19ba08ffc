// SPDX-License-Identifier: Apache-2.0
/* Answers about more time than was asked for say so. */
#include "libingero/answers/window.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "libingero/answers/time.h"
#include "tests/support/check.h"

#define NOON (20000 * 86400ull * NSEC_PER_SEC + 12 * 3600 * NSEC_PER_SEC)
#define MS (NSEC_PER_SEC / 1000)
#define STORED "): figures of that time are stored in spans of "

static const struct {
	const char *name;
	uint64_t asked_from, asked_to; /* since NOON; 0: open */
	uint64_t from, to, row_ns;
	const char *want;
} cases[] = {
	{ "as asked", 1000 * MS, 5000 * MS, 1000 * MS, 5000 * MS, NSEC_PER_SEC, "" },
	{ "by less than a second, of several", 1900 * MS, 5000 * MS, 1000 * MS, 5000 * MS, NSEC_PER_SEC, "" },
	{ "by more than was asked for", 1986 * MS, 0, 1000 * MS, 2000 * MS, NSEC_PER_SEC,
	  "wider than asked (since 12:00:01" STORED "1 s" },
	{ "by more than was asked for, at both ends", 1400 * MS, 1600 * MS, 1000 * MS, 2000 * MS, NSEC_PER_SEC,
	  "wider than asked (12:00:01" STORED "1 s" },
	{ "by seconds", 12000 * MS, 25000 * MS, 10000 * MS, 30000 * MS, 10 * NSEC_PER_SEC,
	  "wider than asked (12:00:12 to 12:00:25" STORED "10 s" },
	{ "by seconds, up to a time", 0, 12000 * MS, 1000 * MS, 20000 * MS, 60 * NSEC_PER_SEC,
	  "wider than asked (up to 12:00:12" STORED "a minute" },
};

int main(void)
{
	(void)setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Window window = INGERO__V1__WINDOW__INIT;
		Ingero__V1__Widened widened = INGERO__V1__WIDENED__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		window.from_unix_ns = NOON + cases[i].from;
		window.to_unix_ns = NOON + cases[i].to;
		widened.asked_from_unix_ns = cases[i].asked_from ? NOON + cases[i].asked_from : 0;
		widened.asked_to_unix_ns = cases[i].asked_to ? NOON + cases[i].asked_to : 0;
		widened.row_ns = cases[i].row_ns;
		window.widened = &widened;
		window_widened_append(&window, NOON + 60 * NSEC_PER_SEC, &out);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
	return check_result();
}
