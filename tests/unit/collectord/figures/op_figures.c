// SPDX-License-Identifier: Apache-2.0
/*
 * Figures with calls that were left out: what was counted and what is estimated add up, their difference and their sum
 * too, and the error that they tell.
 */
#include "figures/op_figures.h"

#include "base/array.h"
#include "tests/support/check.h"

#define CALLS 1000

static struct op_figures figures_of(uint64_t timed, uint64_t untimed, struct left_out left)
{
	struct op_figures op = { .untimed = untimed, .left_out = left, .durations = HISTOGRAM_INIT };

	op.total_ns = timed * 1000;
	op.bytes = timed * 10;
	if (timed)
		CHECK_INT_EQ("calls", histogram_add(&op.durations, 64, timed), 0);
	return op;
}

static const struct {
	const char *name;
	uint64_t timed, untimed;
	struct left_out left;
	uint64_t count, total_ns, bytes;
	bool is_exact;
	double count_error, time_error; /* -1: not known */
} rows[] = {
	{ "exact", CALLS, 0, { .ms = 0 }, 1000, 1000000, 10000, true, 0, 0 },
	{ "exact, some without a time", CALLS, 1, { .ms = 0 }, 1001, 1000000, 10000, true, 0, -1 },
	{ "never while it was attached: no estimate", 0, 0, { .ms = 7 }, 0, 0, 0, false, -1, -1 },
	{ "seen, but no estimate", CALLS, 0, { .ms = 7 }, 1000, 1000000, 10000, false, -1, -1 },
	{ "an estimate",
	  CALLS,
	  0,
	  { .calls = 9000, .ns = 9000000, .bytes = 90000, .variance = 10000, .bias = 300, .ms = 7 },
	  10000,
	  10000000,
	  100000,
	  false,
	  0.05,
	  0.05 },
	{ "an estimate of a time without windows",
	  0,
	  0,
	  { .calls = 1000, .ns = 5000, .variance = 2500, .ms = 7 },
	  1000,
	  5000,
	  0,
	  false,
	  0.1,
	  -1 },
};

static void check_about(const char *name, double got, double want)
{
	CHECK_INT_IN(name, (int64_t)(got * 1e6), (int64_t)(want * 1e6) - 1, (int64_t)(want * 1e6) + 1);
}

static void rows_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct op_figures op = figures_of(rows[i].timed, rows[i].untimed, rows[i].left);

		CHECK_INT_EQ(rows[i].name, op_figures_seen(&op), rows[i].timed + rows[i].untimed);
		CHECK_INT_EQ(rows[i].name, op_figures_count(&op), rows[i].count);
		CHECK_INT_EQ(rows[i].name, op_figures_total_ns(&op), rows[i].total_ns);
		CHECK_INT_EQ(rows[i].name, op_figures_bytes(&op), rows[i].bytes);
		CHECK_INT_EQ(rows[i].name, op_figures_is_exact(&op), rows[i].is_exact);
		check_about(rows[i].name, op_figures_count_error(&op), rows[i].count_error);
		check_about(rows[i].name, op_figures_time_error(&op), rows[i].time_error);
		op_figures_done(&op);
	}
}

/* The sum of two times has less error than each; subtracting one gives the other. */
static void sums_test(void)
{
	const struct left_out left = { .calls = 1000, .ns = 10, .bytes = 5, .variance = 10000, .bias = 1, .ms = 3 };
	struct op_figures sum = figures_of(CALLS, 0, left), one = figures_of(CALLS, 0, left);

	CHECK_INT_EQ("add", op_figures_add(&sum, &one), 0);
	CHECK_INT_EQ("calls", op_figures_count(&sum), 4000);
	CHECK("the error is less", op_figures_count_error(&sum) < op_figures_count_error(&one));
	CHECK("they differ", !op_figures_is_same(&sum, &one));
	op_figures_subtract(&sum, &one);
	CHECK_INT_EQ("subtracted", op_figures_count(&sum), 2000);
	check_about("its error", op_figures_count_error(&sum), op_figures_count_error(&one));
	CHECK("nothing of the second", sum.left_out.ns == 10 && sum.left_out.bytes == 5 && sum.left_out.ms == 3);
	sum.left_out.calls++;
	CHECK("one call more, left out", !op_figures_is_same(&sum, &one));
	op_figures_done(&sum);
	op_figures_done(&one);
}

int main(void)
{
	rows_test();
	sums_test();
	return check_result();
}
