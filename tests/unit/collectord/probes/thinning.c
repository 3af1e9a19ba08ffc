// SPDX-License-Identifier: Apache-2.0
/*
 * The CPU time of records stays within its limit, at the expense of the users whose records cost most: invented users,
 * whose records cost what they cost, second by second.
 */
#include "probes/thinning.h"

#include "base/array.h"
#include "tests/support/check.h"

#define USERS 3
#define SECONDS 60
#define SETTLED 8 /* seconds after which the limit is kept */
#define FIRST SHARES_FIRST
#define EACH(seconds)                                                                                                  \
	{                                                                                                              \
		seconds, seconds, seconds                                                                              \
	}

static const struct {
	const char *name;
	double limit;
	double record_s[USERS];	      /* CPU time of a record of each user */
	double rates[USERS];	      /* records per second that each user makes */
	unsigned int busy, rest;      /* seconds in which the first user makes them, and makes none; rest 0: always */
	unsigned int end;	      /* second in which all end; 0: never */
	double least[USERS];	      /* part of them that is kept when settled */
	double used_least, used_most; /* by records */
	bool is_thinned;	      /* at the end */
} cases[] = {
	{ "nobody", 0.5, EACH(5e-6), { 0 }, 0, 0, 0, { 1, 1, 1 }, 0, 0, false },
	{ "room for all", 0.5, EACH(5e-6), { 50000, 200 }, 0, 0, 0, { 1, 1, 1 }, 0.2, 0.3, false },
	{ "one floods", 0.5, EACH(5e-6), { 200000 }, 0, 0, 0, { 0.3, 1, 1 }, 0.3, 0.5, true },
	{ "one floods beside others", 0.5, EACH(5e-6), { 200000, 200, 5000 }, 0, 0, 0, { 0.3, 1, 1 }, 0.3, 0.5, true },
	{ "two flood", 0.5, EACH(5e-6), { 200000, 300000, 100 }, 0, 0, 0, { 0.15, 0.1, 1 }, 0.3, 0.5, true },
	{ "a little too much", 0.5, EACH(5e-6), { 101000 }, 0, 0, 0, { 0.6, 1, 1 }, 0.3, 0.5, true },
	{ "a small limit", 0.02, EACH(5e-6), { 100000, 400 }, 0, 0, 0, { 0.01, 1, 1 }, 0.01, 0.02, true },
	{ "records that cost much", 0.1, EACH(40e-6), { 100000, 400, 200 }, 0, 0, 0, { 0.004, 1, 1 }, 0.05, 0.1, true },
	{ "a flood that pauses", 0.5, EACH(5e-6), { 200000, 200 }, 1, 1, 0, { 0.2, 1, 1 }, 0, 0.55, true },
	{ "a flood that ends", 0.5, EACH(5e-6), { 200000, 200 }, 0, 0, 30, { 0.3, 1, 1 }, 0, 0.5, false },
	/* Each keeps all whose records cost less than a fair part, also if they are the most. */
	{ "others' doing, few records", 0.5, EACH(2e-6), { 3000, 200, 2500 }, 0, 0, 0, { 1, 1, 1 }, 0.01, 0.02, false },
	{ "a flood beside a moderate user",
	  0.1,
	  EACH(5e-6),
	  { 200000, 6000 },
	  0,
	  0,
	  0,
	  { 0.05, 1, 1 },
	  0.05,
	  0.1,
	  true },
	{ "few that cost much beside many that do not",
	  0.05,
	  { 200e-6, 2e-6, 2e-6 },
	  { 2000, 3000, 8000 },
	  0,
	  0,
	  0,
	  { 0.25, 1, 1 },
	  0.05,
	  0.123,
	  true },
	{ "two within their parts", 0.1, EACH(5e-6), { 9500, 9500 }, 0, 0, 0, { 1, 1, 1 }, 0.09, 0.1, false },
	/* Each user has so many in any case. */
	{ "fewer than anyone may have", 0.01, EACH(100e-6), { 450, 450, 450 }, 0, 0, 0, { 1, 1, 1 }, 0.1, 0.14, false },
};

#define MILLIONTHS(value) ((intmax_t)((value)*1e6))

static double rate_of(size_t c, size_t user, unsigned int second)
{
	unsigned int period = cases[c].busy + cases[c].rest;

	if (cases[c].end && second >= cases[c].end)
		return 0;
	return user == 0 && cases[c].rest && second % period >= cases[c].busy ? 0 : cases[c].rates[user];
}

static void check_case(size_t c)
{
	struct thinning law = { .limit = cases[c].limit };
	static struct thinning_sample sample;
	uint32_t keep[USER_SHARES] = { 0 };
	double made[USERS] = { 0 }, kept[USERS] = { 0 };
	bool is_thinned = false;
	double used;

	for (unsigned int second = 0; second < SECONDS; second++) {
		sample = (struct thinning_sample){ .seconds = 1 };
		used = 0;
		for (size_t u = 0; u < USERS; u++) {
			double n = rate_of(c, u, second);
			double part = keep[FIRST + u] ? (double)keep[FIRST + u] / 4294967296.0 : 1;

			sample.n_kept[FIRST + u] = n * part;
			sample.n_left_out[FIRST + u] = n - n * part;
			sample.cost_s[FIRST + u] = n * part * cases[c].record_s[u];
			used += sample.cost_s[FIRST + u];
			if (second >= SETTLED) {
				made[u] += n;
				kept[u] += n * part;
			}
		}
		if (second >= SETTLED)
			CHECK_INT_IN(cases[c].name, MILLIONTHS(used), MILLIONTHS(cases[c].used_least),
				     MILLIONTHS(cases[c].used_most));
		is_thinned = thinning_step(&law, &sample, keep);
	}
	for (size_t u = 0; u < USERS; u++)
		CHECK_INT_IN(cases[c].name, MILLIONTHS(made[u] > 0 ? kept[u] / made[u] : 1),
			     MILLIONTHS(cases[c].least[u] * 0.999), MILLIONTHS(1));
	CHECK_INT_EQ(cases[c].name, is_thinned, cases[c].is_thinned);
}

/* Records that come one by one cost more each: they do not make a flood before them dearer. */
static void check_last(void)
{
	struct thinning law = { .limit = 0.05 };
	static struct thinning_sample sample;
	uint32_t keep[USER_SHARES];
	unsigned int seconds = 0;

	sample = (struct thinning_sample){ .seconds = 1 };
	sample.n_kept[FIRST] = 200000;
	sample.cost_s[FIRST] = 0.4;
	CHECK("a flood", thinning_step(&law, &sample, keep));
	sample.n_kept[FIRST] = 5;
	sample.n_left_out[FIRST] = 10000;
	sample.cost_s[FIRST] = 1e-3;
	CHECK("its end", thinning_step(&law, &sample, keep));
	sample.n_left_out[FIRST] = 0;
	while (thinning_step(&law, &sample, keep) && seconds < SECONDS)
		seconds++;
	CHECK_INT_IN("few after it", seconds, 10, 25);
}

int main(void)
{
	check_last();
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++)
		check_case(c);
	return check_result();
}
