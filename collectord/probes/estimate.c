// SPDX-License-Identifier: Apache-2.0
#include "probes/estimate.h"

#include "base/cleanup.h"

#define WEIGHT_LEAST 0.2 /* of a window: what the program did at its start is forgotten in any case */
/* A program's first windows are of its start: they are forgotten if so many times as many calls follow. */
#define RATE_JUMP 4
#define WINDOWS_FIRST 8
/* What counts of earlier windows, at each new one: the last nine have most of the weight. */
#define KEEP 0.8
/* Error of a window's rate, and for how many windows it counts, before windows have shown their own. (Guess.) */
#define ERROR_AT_FIRST 0.3
#define ERROR_WINDOWS 1
/* By how much the cost of probes in a loop may be wrong: a window has this part of it too much or too little. */
#define COST_UNSURE 0.2
/* A thread that is in probes for so many times its own CPU time has an own CPU time that nobody knows. */
#define COST_ALL 5

/* An error of the probes' cost is one of the rate, as large as this part is of what is left. */
static double window_weight(double probe_share)
{
	return MAX(1 / (1 + probe_share), WEIGHT_LEAST);
}

void estimate_rate_add(struct estimate_rate *rate, double calls, double own_ns, double probe_share)
{
	double weight = window_weight(probe_share) * (1 + probe_share); /* by CPU time, of which own time is a part */

	if (own_ns <= 0)
		return;
	if (rate->n_windows++ < WINDOWS_FIRST && calls > RATE_JUMP * estimate_rate_calls(rate, own_ns))
		rate->calls = rate->own_ns = 0; /* the program has begun */
	rate->calls = KEEP * rate->calls + weight * calls;
	rate->own_ns = KEEP * rate->own_ns + weight * own_ns;
}

double estimate_rate_calls(const struct estimate_rate *rate, double own_ns)
{
	return rate->own_ns > 0 ? rate->calls / rate->own_ns * own_ns : 0;
}

static double expected_calls(const struct estimate *e, const struct estimate_interval *interval)
{
	return e->group_calls > 0 ? e->calls / e->group_calls * interval->group_expected : 0;
}

/* Square of the error of one window, as part of what it was expected to have. */
static double error2(const struct estimate *e)
{
	double first2 = ERROR_AT_FIRST * ERROR_AT_FIRST * ERROR_WINDOWS;
	double seen2 = e->expected2 > 0 ? e->miss2 / e->expected2 : 0;

	return (first2 + e->n_windows * seen2) / (ERROR_WINDOWS + e->n_windows);
}

/* Numbers that were told stay: an error that turns out smaller is told smaller from then on. */
static void told_raise(struct estimate *e)
{
	double variance = e->variance + error2(e) * e->since_calls * e->since_calls;

	e->told.calls = MAX(e->told.calls, (uint64_t)MAX(e->left_calls, 0.0));
	e->told.ns = MAX(e->told.ns, (uint64_t)MAX(e->left_ns, 0.0));
	e->told.bytes = MAX(e->told.bytes, (uint64_t)MAX(e->left_bytes, 0.0));
	e->told.variance = MAX(e->told.variance, (uint64_t)variance);
	e->told.bias = MAX(e->told.bias, (uint64_t)e->bias);
}

void estimate_window(struct estimate *e, const struct estimate_interval *interval)
{
	double expected = expected_calls(e, interval), miss = interval->calls - expected;
	double weight = window_weight(interval->probe_share);

	if (expected > 0) {
		e->miss2 = KEEP * e->miss2 + weight * miss * miss;
		e->expected2 = KEEP * e->expected2 + weight * expected * expected;
		e->n_windows = KEEP * e->n_windows + 1;
	}
	if (interval->group_calls > 0) {
		e->calls = KEEP * e->calls + interval->calls;
		e->group_calls = KEEP * e->group_calls + interval->group_calls;
		e->ns = KEEP * e->ns + interval->ns;
		e->bytes = KEEP * e->bytes + interval->bytes;
		e->probe_share = e->probe_share > 0 ? KEEP * e->probe_share + (1 - KEEP) * interval->probe_share
						    : interval->probe_share;
	}
	e->variance += error2(e) * e->since_calls * e->since_calls;
	e->since_calls = 0;
	told_raise(e);
}

void estimate_left(struct estimate *e, const struct estimate_interval *interval)
{
	double expected = expected_calls(e, interval), left = expected > 0 ? expected - interval->calls : 0;

	e->left_calls += left;
	e->since_calls += left;
	e->left_ns += e->calls > 0 ? left * e->ns / e->calls : 0;
	e->left_bytes += e->calls > 0 ? left * e->bytes / e->calls : 0;
	e->bias += (e->probe_share < COST_ALL ? COST_UNSURE : 1) * e->probe_share * expected;
	e->told.ms += interval->ms;
	told_raise(e);
}
