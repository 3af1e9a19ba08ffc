// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

typedef int (*parse_func)(const char *text, uint64_t *ret_value);

static int parse_u16(const char *text, uint64_t *ret_value)
{
	return parse_u64(text, UINT16_MAX, ret_value);
}

static int parse_any(const char *text, uint64_t *ret_value)
{
	return parse_u64(text, UINT64_MAX, ret_value);
}

static const struct {
	const char *name;
	parse_func func;
	const char *text;
	int r;
	uint64_t value;
} cases[] = {
	{ "zero", parse_any, "0", 0, 0 },
	{ "largest", parse_any, "18446744073709551615", 0, UINT64_MAX },
	{ "one more", parse_any, "18446744073709551616", -ERANGE, 0 },
	{ "far more", parse_any, "99999999999999999999999", -ERANGE, 0 },
	{ "at a bound", parse_u16, "65535", 0, 65535 },
	{ "over a bound", parse_u16, "65536", -ERANGE, 0 },
	{ "bound smaller than a digit's room", parse_u16, "655350", -ERANGE, 0 },
	{ "nothing", parse_any, "", -EINVAL, 0 },
	{ "sign", parse_any, "-1", -EINVAL, 0 },
	{ "plus", parse_any, "+1", -EINVAL, 0 },
	{ "space before", parse_any, " 1", -EINVAL, 0 },
	{ "rest", parse_any, "1x", -EINVAL, 0 },
	{ "hexadecimal", parse_u64_hex, "7fFf", 0, 0x7fff },
	{ "hexadecimal with prefix", parse_u64_hex, "0x10", -EINVAL, 0 },
	{ "hexadecimal too long", parse_u64_hex, "10000000000000000", -ERANGE, 0 },
	{ "seconds", parse_duration, "90s", 0, 90 * NSEC_PER_SEC },
	{ "hours and minutes", parse_duration, "1h30m", 0, 5400 * NSEC_PER_SEC },
	{ "days and hours", parse_duration, "3d12h", 0, (3 * 86400 + 12 * 3600) * NSEC_PER_SEC },
	{ "week", parse_duration, "1w", 0, 604800 * NSEC_PER_SEC },
	{ "milliseconds are not minutes", parse_duration, "5ms", 0, 5 * NSEC_PER_MSEC },
	{ "minutes then milliseconds", parse_duration, "1m5ms", 0, 60 * NSEC_PER_SEC + 5 * NSEC_PER_MSEC },
	{ "bare zero", parse_duration, "0", 0, 0 },
	{ "no unit", parse_duration, "90", -EINVAL, 0 },
	{ "unit alone", parse_duration, "s", -EINVAL, 0 },
	{ "unknown unit", parse_duration, "3y", -EINVAL, 0 },
	{ "fraction", parse_duration, "1.5s", 0, 1500 * NSEC_PER_MSEC },
	{ "fraction of an hour", parse_duration, "1.25h30m", 0, 105 * 60 * NSEC_PER_SEC },
	{ "fraction of a week", parse_duration, "0.000000001w", 0, 604800 },
	{ "fraction finer than a nanosecond", parse_duration, "0.00000000099s", 0, 0 },
	{ "all digits of a fraction", parse_duration, "0.123456789s", 0, 123456789 },
	{ "micro sign", parse_duration, "5\xc2\xb5s", 0, 5000 },
	{ "Greek mu", parse_duration, "5\xce\xbcs", 0, 5000 },
	{ "point without digits", parse_duration, "1.s", -EINVAL, 0 },
	{ "point alone", parse_duration, ".s", -EINVAL, 0 },
	{ "two points", parse_duration, "1.5.5s", -EINVAL, 0 },
	{ "fraction without unit", parse_duration, "1.5", -EINVAL, 0 },
	{ "most there is", parse_duration, "18446744073.709551615s", 0, UINT64_MAX },
	{ "one more", parse_duration, "18446744073.709551616s", -ERANGE, 0 },
	{ "empty duration", parse_duration, "", -EINVAL, 0 },
	{ "product too large", parse_duration, "40000w", -ERANGE, 0 },
	{ "sum too large", parse_duration, "30000w30000w", -ERANGE, 0 },
	{ "bytes", parse_size, "65536", 0, 65536 },
	{ "kibibytes", parse_size, "64k", 0, 65536 },
	{ "upper case with b", parse_size, "10MB", 0, 10u << 20 },
	{ "gibibytes", parse_size, "2g", 0, 2ull << 30 },
	{ "plain b", parse_size, "12b", 0, 12 },
	{ "size too large", parse_size, "18446744073709551615k", -ERANGE, 0 },
	{ "size with rest", parse_size, "1kk", -EINVAL, 0 },
	{ "size empty", parse_size, "", -EINVAL, 0 },
};

static void check_lists(void)
{
	static const struct {
		const char *text;
		int r;
	} lists[] = {
		{ "7:0:99", 0 },	{ "7:0", -EINVAL },	{ "7:0:99:1", -EINVAL }, { "7:0:100", -EINVAL },
		{ "7::99", -EINVAL },	{ ":0:99", -EINVAL },	{ "7:0:", -EINVAL },	 { "", -EINVAL },
		{ "7:0:99 ", -EINVAL }, { "7:-1:99", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		uint64_t values[3] = { 0 };

		CHECK_INT_EQ(lists[i].text, parse_u64_list(lists[i].text, 99, values, ARRAY_SIZE(values)), lists[i].r);
		if (lists[i].r == 0)
			CHECK("each value", values[0] == 7 && values[1] == 0 && values[2] == 99);
	}
}

int main(void)
{
	check_lists();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 12345;

		CHECK_INT_EQ(cases[i].name, cases[i].func(cases[i].text, &value), cases[i].r);
		CHECK_INT_EQ(cases[i].name, value, cases[i].r < 0 ? 12345 : cases[i].value);
	}
	return check_result();
}
