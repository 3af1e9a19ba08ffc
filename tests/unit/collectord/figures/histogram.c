// SPDX-License-Identifier: Apache-2.0
#include "figures/histogram.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static void edges(void)
{
	static const struct {
		const char *name;
		uint64_t ns;
		uint32_t bucket;
	} cases[] = {
		{ "zero", 0, 0 },
		{ "last of the first", 67, 0 },
		{ "second", 68, 1 },
		{ "first of the next octave", 128, 16 },
		{ "last before it", 127, 15 },
		{ "last there is", (1ull << 36) - 1, HISTOGRAM_BUCKETS - 1 },
		{ "above clamps", 1ull << 36, HISTOGRAM_BUCKETS - 1 },
		{ "far above clamps", UINT64_MAX, HISTOGRAM_BUCKETS - 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ(cases[i].name, histogram_bucket_of(cases[i].ns), cases[i].bucket);

	for (uint32_t b = 1; b < HISTOGRAM_BUCKETS; b++) {
		uint64_t low_ns = histogram_bucket_low_ns(b), next_ns = histogram_bucket_low_ns(b + 1);

		if (histogram_bucket_of(low_ns) != b || histogram_bucket_of(low_ns - 1) != b - 1)
			CHECK_INT_EQ("a bucket begins where it says", b, histogram_bucket_of(low_ns));
		if ((next_ns - low_ns) * 16 > next_ns)
			CHECK_INT_EQ("a bucket is at most 1/16 wide", next_ns - low_ns, next_ns / 16);
	}
}

static void quantiles(void)
{
	static const struct {
		const char *name;
		struct {
			uint64_t ns;
			uint64_t n;
		} calls[4];
		double ratio;
		uint64_t max_ns;
		uint64_t low_ns, high_ns; /* the answer lies between */
	} cases[] = {
		{ "empty", { { 0 } }, 0.5, UINT64_MAX, 0, 0 },
		{ "all alike", { { 5000, 1000 } }, 0.5, UINT64_MAX, 4864, 5120 },
		{ "all alike, high", { { 5000, 1000 } }, 0.99, 5000, 4864, 5000 },
		{ "never above the longest", { { 5000, 1 } }, 1.0, 5000, 5000, 5000 },
		{ "median between two", { { 1000, 50 }, { 9000, 50 } }, 0.5, UINT64_MAX, 992, 1024 },
		{ "just above it", { { 1000, 50 }, { 9000, 50 } }, 0.51, UINT64_MAX, 8704, 9216 },
		{ "one in a hundred is not p99", { { 1000, 99 }, { 1000000, 1 } }, 0.99, UINT64_MAX, 992, 1024 },
		{ "two in a hundred is", { { 1000, 98 }, { 1000000, 2 } }, 0.99, UINT64_MAX, 983040, 1048576 },
		{ "too short to tell apart", { { 0, 500 }, { 60, 500 } }, 0.5, UINT64_MAX, 0, 68 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(histogram_done) struct histogram h = HISTOGRAM_INIT;

		for (size_t k = 0; k < ARRAY_SIZE(cases[i].calls) && cases[i].calls[k].n; k++)
			(void)histogram_add(&h, histogram_bucket_of(cases[i].calls[k].ns), cases[i].calls[k].n);
		CHECK_INT_IN(cases[i].name, histogram_quantile(&h, cases[i].ratio, cases[i].max_ns), cases[i].low_ns,
			     cases[i].high_ns);
	}
}

static void grows_both_ways_and_subtracts(void)
{
	CLEANUP(histogram_done) struct histogram h = HISTOGRAM_INIT, earlier = HISTOGRAM_INIT;
	static const uint32_t buckets[] = { 200, 17, 479, 0, 200 };

	for (size_t i = 0; i < 2; i++)
		(void)histogram_add(&h, buckets[i], i + 1);
	CHECK_INT_EQ("copy", histogram_copy(&h, &earlier), 0);
	for (size_t i = 2; i < ARRAY_SIZE(buckets); i++)
		(void)histogram_add(&h, buckets[i], i + 1);

	CHECK_INT_EQ("sum", h.sum, 15);
	CHECK_INT_EQ("same bucket twice", histogram_count(&h, 200), 6);
	CHECK_INT_EQ("outside any range", histogram_count(&earlier, 479), 0);
	histogram_subtract(&h, &earlier);
	CHECK_INT_EQ("since then", h.sum, 12);
	CHECK_INT_EQ("bucket since then", histogram_count(&h, 200), 5);
	CHECK_INT_EQ("bucket not since then", histogram_count(&h, 17), 0);
}

static void holds_any_count(void)
{
	static const uint64_t counts[] = { 1, UINT8_MAX, 1, UINT16_MAX, 1, UINT32_MAX, 1, 1ull << 40 };
	CLEANUP(histogram_done) struct histogram h = HISTOGRAM_INIT, copy = HISTOGRAM_INIT, earlier = HISTOGRAM_INIT;
	uint64_t sum = 0;

	(void)histogram_add(&h, 30, 7);
	CHECK_INT_EQ("a copy of few", histogram_copy(&h, &earlier), 0);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		CHECK_INT_EQ("added", histogram_add(&h, 20, counts[i]), 0);
		sum += counts[i];
		CHECK_INT_EQ("as many", histogram_count(&h, 20), sum);
		CHECK_INT_EQ("another bucket has its own", histogram_count(&h, 30), 7);
	}
	CHECK_INT_EQ("a copy of many", histogram_copy(&h, &copy), 0);
	CHECK_INT_EQ("is the same", histogram_count(&copy, 20), sum);
	histogram_subtract(&copy, &earlier);
	CHECK_INT_EQ("few taken from many", histogram_count(&copy, 30), 0);
	CHECK_INT_EQ("room", histogram_reserve(&copy, 470, HISTOGRAM_BUCKETS, 1), 0);
	CHECK_INT_EQ("takes nothing away", histogram_count(&copy, 20), sum);
	CHECK_INT_EQ("and adds nothing", histogram_count(&copy, 475), 0);
}

/* In counts of each width, and in a range that is no multiple of a word. */
static void walks_and_merges(void)
{
	static const struct {
		const char *name;
		uint64_t count; /* of each bucket below */
		uint32_t n;
		uint32_t buckets[6];
	} cases[] = {
		{ "none", 1, 0, { 0 } },
		{ "the first", 1, 1, { 0 } },
		{ "the last", 1, 1, { HISTOGRAM_BUCKETS - 1 } },
		{ "neighbours", 200, 4, { 31, 32, 33, 34 } },
		{ "in a word's middle", UINT16_MAX, 3, { 19, 21, 300 } },
		{ "of four bytes", UINT32_MAX, 5, { 3, 64, 65, 250, 479 } },
		{ "of eight bytes", 1ull << 40, 3, { 40, 41, 43 } },
	};

	static const uint64_t before[] = { 5, 1000, 70000, 1ull << 41 }; /* counts of each width */

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(histogram_done) struct histogram h = HISTOGRAM_INIT;
		uint32_t at = 0, last = cases[i].n ? cases[i].buckets[cases[i].n - 1] : HISTOGRAM_BUCKETS;

		if (cases[i].n)
			(void)histogram_reserve(&h, cases[i].buckets[0], last + 1, cases[i].count);
		for (uint32_t k = 0; k < cases[i].n; k++)
			(void)histogram_add(&h, cases[i].buckets[k], cases[i].count);
		for (uint32_t k = 0; k < cases[i].n; k++, at++) {
			at = histogram_next(&h, at);
			CHECK_INT_EQ(cases[i].name, at, cases[i].buckets[k]);
		}
		CHECK_INT_EQ(cases[i].name, histogram_next(&h, at), HISTOGRAM_BUCKETS);
		CHECK_INT_EQ(cases[i].name, histogram_last(&h), last);

		for (size_t k = 0; k < ARRAY_SIZE(before); k++) {
			CLEANUP(histogram_done) struct histogram to = HISTOGRAM_INIT;

			(void)histogram_add(&to, 32, before[k]);
			CHECK_INT_EQ(cases[i].name, histogram_merge(&to, &h), 0);
			CHECK_INT_EQ(cases[i].name, to.sum, before[k] + h.sum);
			for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++)
				if (histogram_count(&to, b) != histogram_count(&h, b) + (b == 32 ? before[k] : 0))
					CHECK_INT_EQ(cases[i].name, histogram_count(&to, b), histogram_count(&h, b));
		}
	}
}

static void longest(void)
{
	static const struct {
		const char *name;
		uint64_t calls[2]; /* 0: none */
		uint64_t max_ns, want_ns;
	} cases[] = {
		{ "empty", { 0 }, 5000, 0 },
		{ "the longest is in it", { 1000, 5000 }, 5000, 5000 },
		{ "it was before", { 1000 }, 5000, 1023 },
		{ "it is not counted yet", { 5000 }, 10, 4864 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(histogram_done) struct histogram h = HISTOGRAM_INIT;

		for (size_t k = 0; k < 2; k++)
			if (cases[i].calls[k])
				CHECK_INT_EQ(cases[i].name,
					     histogram_add(&h, histogram_bucket_of(cases[i].calls[k]), 1), 0);
		CHECK_INT_EQ(cases[i].name, histogram_longest_ns(&h, cases[i].max_ns), cases[i].want_ns);
	}
}

int main(void)
{
	walks_and_merges();
	longest();
	edges();
	holds_any_count();
	quantiles();
	grows_both_ways_and_subtracts();
	return check_result();
}
