// SPDX-License-Identifier: Apache-2.0
#include "probes/thinning.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Records that are thinned use this part of the limit; they are thinned until all would use less. */
#define TARGET 0.85
/*
 * So many records a second has each user in any case: whoever has fewer keeps all. (Guess: 2 % of a CPU at 40 us each,
 * as records with new stacks cost; others cost 2 us.)
 */
#define LEVEL_LEAST 500.0
/* A peak counts for so long that a flood which pauses is not let in anew each time: half of it after 7 s. */
#define PEAK_STAYS 0.9
/* Of the records of the steps before: a second with few, each in a turn of its own, says little. */
#define COST_STAYS 0.5

static double of_share(const struct thinning_sample *sample, size_t share)
{
	return (sample->n_kept[share] + sample->n_left_out[share]) / sample->seconds;
}

static int number_order(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Cost that each user may have so that all together have `most`, which is less than all would. */
static double level_find(const double costs[USER_SHARES], double most)
{
	double ascending[USER_SHARES];

	memcpy(ascending, costs, sizeof(ascending));
	qsort(ascending, USER_SHARES, sizeof(*ascending), number_order);
	for (size_t i = 0; i < USER_SHARES; i++) {
		double level = most / (double)(USER_SHARES - i);

		if (ascending[i] > level)
			return level;
		most -= ascending[i];
	}
	return ascending[USER_SHARES - 1];
}

/* Cost of a share's records per second, if none were left out. */
static double whole_cost(struct thinning *t, const struct thinning_sample *sample, size_t share)
{
	double rate = of_share(sample, share), each_s;

	t->took_s[share] = t->took_s[share] * COST_STAYS + sample->cost_s[share];
	t->n_took[share] = t->n_took[share] * COST_STAYS + sample->n_kept[share];
	each_s = t->n_took[share] > 0 ? t->took_s[share] / t->n_took[share] : 0;
	t->peaks[share] = MAX(rate, t->peaks[share] * PEAK_STAYS);
	t->costs[share] = MAX(rate * each_s, t->costs[share] * PEAK_STAYS);
	return t->costs[share];
}

bool thinning_step(struct thinning *t, const struct thinning_sample *sample, uint32_t ret_keep[USER_SHARES])
{
	double costs[USER_SHARES], whole = 0, level;
	bool was_on = t->is_on;
	size_t n_users = 0;

	for (size_t i = 0; i < USER_SHARES; i++) {
		costs[i] = whole_cost(t, sample, i);
		whole += costs[i];
		n_users += t->peaks[i] >= 1;
	}
	memset(ret_keep, 0, USER_SHARES * sizeof(*ret_keep));
	t->is_on = false;
	if (whole <= (was_on ? TARGET : 1) * t->limit)
		return false;
	level = level_find(costs, TARGET * t->limit);
	for (size_t i = 0; i < USER_SHARES; i++) {
		double most = t->peaks[i] * level / MAX(costs[i], level);

		if (costs[i] <= MAX(level, t->limit / (double)MAX(n_users, 1)) || t->peaks[i] <= LEVEL_LEAST)
			continue;
		ret_keep[i] = (uint32_t)MAX(MAX(most, LEVEL_LEAST) / t->peaks[i] * (double)UINT32_MAX, 1.0);
		t->is_on = true;
	}
	return t->is_on;
}
