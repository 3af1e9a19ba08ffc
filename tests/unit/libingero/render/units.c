// SPDX-License-Identifier: Apache-2.0
/* Rounding, at the edges where a digit, a unit or a column more would appear. */
#include "libingero/render/units.h"

#include <math.h>

#include "base/cleanup.h"
#include "libingero/render/text.h"
#include "tests/support/check.h"

#define S NSEC_PER_SEC
#define MIN_NS (60 * S)
#define H_NS (3600 * S)
#define D_NS (86400 * S)

static const struct {
	const char *name;
	uint64_t ns;
	const char *prose;
	const char *tight;
} durations[] = {
	{ "nothing", 0, "0 ns", "0ns" },
	{ "last ns", 999, "999 ns", "999ns" },
	{ "first us", 1000, "1.0 µs", "1.0µs" },
	{ "tenths round down", 4149, "4.1 µs", "4.1µs" },
	{ "tenths round up", 4150, "4.2 µs", "4.2µs" },
	{ "no tenths from ten", 9950, "10 µs", "10µs" },
	{ "below ten", 9949, "9.9 µs", "9.9µs" },
	{ "whole us", 61000, "61 µs", "61µs" },
	{ "carry to ms", 999500, "1.0 ms", "1.0ms" },
	{ "last us", 999499, "999 µs", "999µs" },
	{ "whole ms", 142 * NSEC_PER_MSEC, "142 ms", "142ms" },
	{ "carry to s", 999500000, "1.0 s", "1.0s" },
	{ "seconds keep tenths", 10240 * NSEC_PER_MSEC, "10.2 s", "10.2s" },
	{ "last tenth", 59 * S + 449 * NSEC_PER_MSEC, "59.4 s", "59.4s" },
	{ "carry to minutes", 59 * S + 950 * NSEC_PER_MSEC, "1 min 0 s", "1m00s" },
	{ "minutes", 72 * S, "1 min 12 s", "1m12s" },
	{ "last minute", 59 * MIN_NS + 59 * S, "59 min 59 s", "59m59s" },
	{ "carry to hours", H_NS - 1, "1 h 0 min", "1h00m" },
	{ "hours", 2 * H_NS + 5 * MIN_NS, "2 h 5 min", "2h05m" },
	{ "carry to days", D_NS - 1, "1 d 0 h", "1d00h" },
	{ "days", 3 * D_NS + 4 * H_NS, "3 d 4 h", "3d04h" },
	{ "many days", 365 * D_NS, "365 d", "365d" },
	{ "all there is", UINT64_MAX, "213504 d", "213504d" },
};

static const struct {
	const char *name;
	uint64_t part_ns;
	uint64_t whole_ns;
	const char *want;
} parts[] = {
	{ "same unit", 97 * NSEC_PER_MSEC, 142 * NSEC_PER_MSEC, "97 of 142 ms" },
	{ "small part", 300 * NSEC_PER_USEC, 142 * NSEC_PER_MSEC, "300 µs of 142 ms" },
	{ "tenths", 4100 * NSEC_PER_MSEC, 4600 * NSEC_PER_MSEC, "4.1 of 4.6 s" },
	{ "minutes", 30 * S, 72 * S, "30.0 s of 1 min 12 s" },
	{ "none", 0, 142 * NSEC_PER_MSEC, "0.0 of 142 ms" },
};

static const struct {
	const char *name;
	uint64_t n;
	const char *grouped;
} counts[] = {
	{ "zero", 0, "0" },
	{ "three digits", 999, "999" },
	{ "four", 9829, "9 829" },
	{ "six", 412883, "412 883" },
	{ "seven", 1234567, "1 234 567" },
	{ "all there is", UINT64_MAX, "18 446 744 073 709 551 615" },
};

static const struct {
	const char *name;
	double per_s;
	const char *want;
} rates[] = {
	{ "none", 0, "0/s" },	      { "seldom", 0.3, "0.3/s" },     { "one", 1, "1/s" },
	{ "tenths", 1.26, "1.3/s" },  { "hundreds", 136.2, "136/s" }, { "thousands", 5700, "5.7k/s" },
	{ "carry", 999.7, "1.0k/s" }, { "many", 57000, "57k/s" },     { "millions", 1.2e6, "1.2M/s" },
	{ "no number", NAN, "?" },    { "backwards", -1, "?" },
};

static const struct {
	const char *name;
	uint64_t bytes;
	const char *want;
} sizes[] = {
	{ "bytes", 512, "512 B" },
	{ "KiB", 1536, "1.5 KiB" },
	{ "MiB", 24ull << 20, "24 MiB" },
	{ "carry", (1ull << 20) - 1, "1.0 MiB" },
	{ "all there is", UINT64_MAX, "16 EiB" },
};

static const struct {
	const char *name;
	double ratio;
	const char *prose;
	const char *tight;
} ratios[] = {
	{ "nothing", 0, "0 %", "0 %" },
	{ "next to nothing", 0.0001, "<0.1 %", "<1 %" },
	{ "tenths", 0.006, "0.6 %", "1 %" },
	{ "whole", 0.71, "71 %", "71 %" },
	{ "next to all", 0.9999, "99 %", "99 %" },
	{ "all", 1, "100 %", "100 %" },
	{ "eight threads", 7.8, "780 %", "780 %" },
	{ "no number", NAN, "?", "?" },
	{ "too large", INFINITY, "?", "?" },
	{ "below zero", -0.1, "?", "?" },
};

/* Every power of two and its neighbours stays within the columns that tables give it. */
static void widths_test(void)
{
	for (unsigned int bit = 0; bit < 64; bit++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t n = (1ull << bit) + (uint64_t)off;
			char name[32];

			(void)snprintf(name, sizeof(name), "2^%u%+d", bit, off);
			CHECK_INT_IN(name, text_columns(units_ns(n, UNITS_TIGHT).text), 2, 7);
			CHECK_INT_IN(name, strlen(units_rate((double)n).text), 1, 7);
			CHECK_INT_IN(name, strlen(units_bytes(n).text), 3, 8);
		}
	}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		CHECK_STR_EQ(durations[i].name, units_ns(durations[i].ns, 0).text, durations[i].prose);
		CHECK_STR_EQ(durations[i].name, units_ns(durations[i].ns, UNITS_TIGHT).text, durations[i].tight);
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		CHECK_STR_EQ(parts[i].name, units_part_ns(parts[i].part_ns, parts[i].whole_ns).text, parts[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		CHECK_STR_EQ(counts[i].name, units_count(counts[i].n).text, counts[i].grouped);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		CHECK_STR_EQ(rates[i].name, units_rate(rates[i].per_s).text, rates[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		CHECK_STR_EQ(sizes[i].name, units_bytes(sizes[i].bytes).text, sizes[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(ratios); i++) {
		CHECK_STR_EQ(ratios[i].name, units_ratio(ratios[i].ratio, 0).text, ratios[i].prose);
		CHECK_STR_EQ(ratios[i].name, units_ratio(ratios[i].ratio, UNITS_TIGHT).text, ratios[i].tight);
	}
	widths_test();
	return check_result();
}
