// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's own CPU time stays within its limit, at the expense of the users with most records: invented users,
 * whose records cost what they cost, second by second.
 */
#include "probes/thinning.h"

#include "base/array.h"
#include "tests/support/check.h"

#define USERS 3
#define SECONDS 60
#define SETTLED 8 /* seconds after which the limit is kept */
#define FIRST SHARES_FIRST

static const struct {
	const char *name;
	double limit;
	double idle;		 /* CPU time that records have no part in */
	double record_s;	 /* CPU time of a record */
	double rates[USERS];	 /* records per second that each user makes */
	unsigned int busy, rest; /* seconds in which the first user makes them, and makes none; rest 0: always */
	unsigned int end;	 /* second in which all end; 0: never */
	double least[USERS];	 /* part of them that is kept when settled */
	double used_least, used_most;
	bool is_thinned; /* at the end */
} cases[] = {
	{ "nobody", 0.5, 0.01, 5e-6, { 0 }, 0, 0, 0, { 1, 1, 1 }, 0, 0.02, false },
	{ "room for all", 0.5, 0.01, 5e-6, { 50000, 200 }, 0, 0, 0, { 1, 1, 1 }, 0.2, 0.3, false },
	{ "one floods", 0.5, 0.01, 5e-6, { 200000 }, 0, 0, 0, { 0.3, 1, 1 }, 0.3, 0.5, true },
	{ "one floods beside others", 0.5, 0.01, 5e-6, { 200000, 200, 5000 }, 0, 0, 0, { 0.3, 1, 1 }, 0.3, 0.5, true },
	{ "two flood", 0.5, 0.01, 5e-6, { 200000, 300000, 100 }, 0, 0, 0, { 0.15, 0.1, 1 }, 0.3, 0.5, true },
	{ "a little too much", 0.5, 0.01, 5e-6, { 101000 }, 0, 0, 0, { 0.6, 1, 1 }, 0.3, 0.5, true },
	{ "a small limit", 0.02, 0.005, 5e-6, { 100000, 400 }, 0, 0, 0, { 0.01, 1, 1 }, 0.01, 0.02, true },
	{ "records that cost much", 0.1, 0.05, 40e-6, { 100000, 400, 200 }, 0, 0, 0, { 0.004, 1, 1 }, 0.05, 0.1, true },
	{ "a flood that pauses", 0.5, 0.01, 5e-6, { 200000, 200 }, 1, 1, 0, { 0.2, 1, 1 }, 0, 0.55, true },
	{ "a flood that ends", 0.5, 0.01, 5e-6, { 200000, 200 }, 0, 0, 30, { 0.3, 1, 1 }, 0, 0.5, false },
	/* Not the records' fault: they go down to what each user has in any case, and no further. */
	{ "busy without records", 0.5, 0.9, 5e-6, { 50, 20 }, 0, 0, 0, { 1, 1, 1 }, 0.9, 0.91, false },
	{ "busy whatever is left out", 0.5, 0.6, 5e-6, { 50000, 400 }, 0, 0, 0, { 0.009, 1, 1 }, 0.6, 0.61, true },
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

	for (unsigned int second = 0; second < SECONDS; second++) {
		sample = (struct thinning_sample){ .seconds = 1, .used = cases[c].idle };
		for (size_t u = 0; u < USERS; u++) {
			double n = rate_of(c, u, second);
			double part = keep[FIRST + u] ? (double)keep[FIRST + u] / 4294967296.0 : 1;

			sample.n_kept[FIRST + u] = n * part;
			sample.n_left_out[FIRST + u] = n - n * part;
			sample.used += n * part * cases[c].record_s;
			if (second >= SETTLED) {
				made[u] += n;
				kept[u] += n * part;
			}
		}
		if (second >= SETTLED)
			CHECK_INT_IN(cases[c].name, MILLIONTHS(sample.used), MILLIONTHS(cases[c].used_least),
				     MILLIONTHS(cases[c].used_most));
		is_thinned = thinning_step(&law, &sample, keep);
	}
	for (size_t u = 0; u < USERS; u++)
		CHECK_INT_IN(cases[c].name, MILLIONTHS(made[u] > 0 ? kept[u] / made[u] : 1),
			     MILLIONTHS(cases[c].least[u] * 0.999), MILLIONTHS(1));
	CHECK_INT_EQ(cases[c].name, is_thinned, cases[c].is_thinned);
}

int main(void)
{
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++)
		check_case(c);
	return check_result();
}
