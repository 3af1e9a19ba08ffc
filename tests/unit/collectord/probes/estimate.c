// SPDX-License-Identifier: Apache-2.0
/*
 * Estimates of calls that were left out: invented programs, of whose calls only those in short windows are seen,
 * against what they really did, and the error that the estimates tell.
 */
#include "probes/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "tests/support/check.h"

#define TRIALS 200
#define SECONDS 10
#define MS NSEC_PER_MSEC
#define COST_NS 1000.0 /* of a traced call, as it is believed to be */

static uint64_t random_state;

/* Between 0 and 1. */
static double chance(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(1ull << 53);
}

/* A thread that calls at a rate by its own CPU time, and rests between bursts. */
struct program {
	double rate;	     /* calls per second of own CPU time */
	double wander;	     /* part by which the rate differs from one tenth of a second to the next */
	double busy_ms_most; /* bursts and rests of up to this length; 0: no rests */
	double busy_ms_least;
	double cost;	     /* real cost of a traced call, as part of COST_NS */
	double cpu_noise_ns; /* the CPU time of a reading may be too small by so much */
};

struct run {
	const struct program *program;
	struct estimate estimate;
	struct estimate_rate rate;
	double made, seen;	 /* calls */
	double factor;		 /* of the rate, in this tenth of a second */
	double left_ns, is_busy; /* of this burst or rest */
	double cpu_ns, read_ns;
};

/* Time passes, in steps of a millisecond. Return: calls that the program made */
static double pass(struct run *r, uint64_t ns, bool is_attached, double *ret_probe_ns)
{
	const struct program *p = r->program;
	double made = 0;

	for (uint64_t t = 0; t < ns; t += MS) {
		double rate = p->rate * r->factor / (double)NSEC_PER_SEC, own_ns = (double)MS;

		if (p->busy_ms_most > 0 && r->left_ns <= 0) {
			r->is_busy = !r->is_busy;
			r->left_ns = (p->busy_ms_least + chance() * (p->busy_ms_most - p->busy_ms_least)) * (double)MS;
		}
		r->left_ns -= (double)MS;
		if (chance() < 0.01)
			r->factor = 1 + p->wander * (2 * chance() - 1);
		if (p->busy_ms_most > 0 && r->is_busy == 0)
			continue;
		if (is_attached) {
			own_ns /= 1 + rate * COST_NS * p->cost;
			*ret_probe_ns += rate * own_ns * COST_NS;
		}
		made += rate * own_ns;
		r->cpu_ns += (double)MS;
	}
	r->made += made;
	return made;
}

/* An interval between two readings, as budget.c sees it. */
static void read_interval(struct run *r, uint64_t ns, bool is_attached)
{
	double probe_ns = 0, calls = pass(r, ns, is_attached, &probe_ns), before_ns = r->read_ns, own_ns;
	struct estimate_interval interval = { .ms = ns / MS, .ns = calls * 2000, .bytes = calls * 10 };

	r->read_ns = fmax(before_ns, r->cpu_ns - chance() * r->program->cpu_noise_ns);
	own_ns = fmax(r->read_ns - before_ns - (is_attached ? probe_ns : 0), (r->read_ns - before_ns) / 50);
	interval.group_expected = estimate_rate_calls(&r->rate, own_ns);
	if (!is_attached) {
		interval.ns = interval.bytes = 0;
		estimate_left(&r->estimate, &interval);
		return;
	}
	interval.calls = interval.group_calls = calls;
	interval.probe_share = own_ns > 0 ? probe_ns / own_ns : 0;
	estimate_rate_add(&r->rate, calls, own_ns, interval.probe_share);
	estimate_window(&r->estimate, &interval);
	r->seen += calls;
}

static void seconds_pass(struct run *r, unsigned int n, uint64_t period_ns)
{
	for (uint64_t t = 0; t < n * NSEC_PER_SEC;) {
		uint64_t rest_ns = (uint64_t)((double)period_ns * (0.6 + 0.8 * chance())), until = t + rest_ns;

		for (; t < until; t += 100 * MS)
			read_interval(r, 100 * MS, /* is_attached= */ false);
		read_interval(r, 20 * MS, /* is_attached= */ true);
		t += 20 * MS;
	}
}

static int error_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Each trial is 10 s, after windows of 5 s. */
static void trials_run(const struct program *program, uint64_t period_ns, double errors[TRIALS], double told[TRIALS])
{
	for (int i = 0; i < TRIALS; i++) {
		struct run r = { .program = program, .factor = 1 };
		struct left_out before;
		double made, seen, calls;

		random_state = (uint64_t)i * 7919 + 1;
		read_interval(&r, 20 * MS, /* is_attached= */ true);
		seconds_pass(&r, 5, period_ns);
		before = r.estimate.told;
		made = r.made;
		seen = r.seen;
		seconds_pass(&r, SECONDS, period_ns);
		calls = r.seen - seen + (double)(r.estimate.told.calls - before.calls);
		errors[i] = fabs(calls / (r.made - made) - 1);
		told[i] = (2 * sqrt((double)(r.estimate.told.variance - before.variance)) +
			   (double)(r.estimate.told.bias - before.bias)) /
			  calls;
	}
}

static const struct {
	const char *name;
	struct program program;
	uint64_t period_ms;
	double most; /* median error, and median of what is told as error, at most */
	double told_most;
} rows[] = {
	{ "steady, 10 k/s", { .rate = 1e4, .wander = 0.1, .cost = 1, .cpu_noise_ns = 4e6 }, 600, 0.10, 0.15 },
	{ "steady, 100 k/s, dearer probes",
	  { .rate = 1e5, .wander = 0.1, .cost = 1.1, .cpu_noise_ns = 4e6 },
	  1000,
	  0.10,
	  0.15 },
	{ "bursts of 2 to 200 ms",
	  { .rate = 1e5, .wander = 0.1, .busy_ms_least = 2, .busy_ms_most = 200, .cost = 1, .cpu_noise_ns = 2e6 },
	  500,
	  0.30,
	  0.40 },
	{ "bursts of 20 ms to 1 s",
	  { .rate = 1e5, .wander = 0.3, .busy_ms_least = 20, .busy_ms_most = 1000, .cost = 1, .cpu_noise_ns = 2e6 },
	  500,
	  0.30,
	  0.40 },
	{ "a rate that wanders", { .rate = 5e4, .wander = 0.8, .cost = 1, .cpu_noise_ns = 4e6 }, 500, 0.30, 0.40 },
};

static void trials_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double errors[TRIALS], told[TRIALS];
		int n_covered = 0;

		trials_run(&rows[i].program, rows[i].period_ms * MS, errors, told);
		for (int k = 0; k < TRIALS; k++)
			n_covered += errors[k] <= told[k];
		qsort(errors, TRIALS, sizeof(*errors), error_order);
		qsort(told, TRIALS, sizeof(*told), error_order);
		printf("%s: error %.3f (p95 %.3f), told %.3f, covered %d of %d\n", rows[i].name, errors[TRIALS / 2],
		       errors[TRIALS * 95 / 100], told[TRIALS / 2], n_covered, TRIALS);
		CHECK(rows[i].name, errors[TRIALS * 9 / 10] <= rows[i].most);
		CHECK(rows[i].name, told[TRIALS / 2] <= rows[i].told_most);
		CHECK_INT_IN(rows[i].name, n_covered, TRIALS * 9 / 10, TRIALS);
	}
}

/* Nothing is told before a window was seen, time and bytes follow the calls, and nothing shrinks. */
static void sums_test(void)
{
	const struct program program = { .rate = 1e5, .cost = 1 };
	struct run r = { .program = &program, .factor = 1 };
	struct left_out before = { .calls = 0 };

	random_state = 1;
	read_interval(&r, 100 * MS, /* is_attached= */ false);
	CHECK_INT_EQ("no window: no calls", r.estimate.told.calls, 0);
	CHECK_INT_EQ("but left out", r.estimate.told.ms, 100);
	for (int i = 0; i < 50; i++) {
		read_interval(&r, 20 * MS, /* is_attached= */ true);
		read_interval(&r, 100 * MS, /* is_attached= */ false);
		CHECK("calls grow", r.estimate.told.calls >= before.calls);
		CHECK("variance grows", r.estimate.told.variance >= before.variance);
		CHECK("bias grows", r.estimate.told.bias >= before.bias);
		before = r.estimate.told;
	}
	CHECK_INT_IN("time", before.ns, before.calls * 1990, before.calls * 2010);
	CHECK_INT_IN("bytes", before.bytes, before.calls * 9, before.calls * 11);
}

/* Calls that are seen while their operation is being attached or detached are not told twice. */
static void seen_test(void)
{
	struct estimate estimate = { .calls = 0 };
	const struct estimate_interval window = { .calls = 1000, .group_calls = 1000, .ms = 20 };
	const struct estimate_interval left = { .calls = 400, .group_calls = 400, .group_expected = 1000, .ms = 20 };
	const struct estimate_interval none = { .ms = 20 };

	estimate_window(&estimate, &window);
	estimate_left(&estimate, &left);
	CHECK_INT_EQ("the others", estimate.told.calls, 600);
	estimate_left(&estimate, &none);
	CHECK_INT_EQ("no CPU time, no call", estimate.told.calls, 600);
}

int main(void)
{
	trials_test();
	sums_test();
	seen_test();
	return check_result();
}
