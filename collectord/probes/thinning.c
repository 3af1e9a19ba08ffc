// SPDX-License-Identifier: Apache-2.0
#include "probes/thinning.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* After a step the daemon uses this part of the limit; it keeps more again below the second one. */
#define TARGET 0.85
#define MORE_BELOW 0.7
/* Of one step: records take only a part of the time, and the next sample tells more. */
#define FALL_MOST 0.1
#define RISE_MOST 1.25
/*
 * So many records a second has each user in any case: whoever has fewer keeps all. (Guess: 2 % of a CPU at 40 us each,
 * as records with new stacks cost; others cost 2 us.)
 */
#define LEVEL_LEAST 500.0
/* A peak counts for so long that a flood which pauses is not let in anew each time: half of it after 7 s. */
#define PEAK_STAYS 0.9

static double of_share(const struct thinning_sample *sample, size_t share)
{
	return (sample->n_kept[share] + sample->n_left_out[share]) / sample->seconds;
}

static double most_next(const struct thinning *t, const struct thinning_sample *sample, double kept)
{
	double factor = TARGET * t->limit / MAX(sample->used, t->limit / 1000);

	if (sample->used > t->limit)
		return MAX((t->most > 0 ? MIN(t->most, kept) : kept) * MAX(factor, FALL_MOST), LEVEL_LEAST);
	if (sample->used < MORE_BELOW * t->limit)
		return t->most * MIN(factor, RISE_MOST);
	return t->most;
}

static int rate_order(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Records per second that each user may have so that all together have `most`, which is less than they make. */
static double level_find(double rates[USER_SHARES], double most)
{
	qsort(rates, USER_SHARES, sizeof(*rates), rate_order);
	for (size_t i = 0; i < USER_SHARES; i++) {
		double level = most / (double)(USER_SHARES - i);

		if (rates[i] > level)
			return level;
		most -= rates[i];
	}
	return rates[USER_SHARES - 1];
}

bool thinning_step(struct thinning *t, const struct thinning_sample *sample, uint32_t ret_keep[USER_SHARES])
{
	double rates[USER_SHARES], kept = 0, made = 0, level;

	for (size_t i = 0; i < USER_SHARES; i++) {
		t->peaks[i] = MAX(of_share(sample, i), t->peaks[i] * PEAK_STAYS);
		rates[i] = t->peaks[i];
		made += t->peaks[i];
		kept += sample->n_kept[i] / sample->seconds;
	}
	t->most = most_next(t, sample, kept);
	if (t->most >= made)
		t->most = 0;
	memset(ret_keep, 0, USER_SHARES * sizeof(*ret_keep));
	if (t->most <= 0)
		return false;
	level = MAX(level_find(rates, t->most), LEVEL_LEAST);
	for (size_t i = 0; i < USER_SHARES; i++)
		if (t->peaks[i] > level)
			ret_keep[i] = (uint32_t)MAX(level / t->peaks[i] * (double)UINT32_MAX, 1.0);
	return true;
}
