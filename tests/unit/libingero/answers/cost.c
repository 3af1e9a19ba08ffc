// SPDX-License-Identifier: Apache-2.0
/* The share of its CPU time that tracing takes from a thread, in words: a range, or one figure of who knows no range.
 */
#include "libingero/answers/cost.h"

#include "base/array.h"
#include "tests/support/check.h"

int main(void)
{
	static const struct {
		const char *name;
		double ratio, low, high;
		bool has_low, has_high;
		const char *want;
	} cases[] = {
		{ "a range", 0.015, 0.01, 0.02, true, true, "1.0 % to 2.0 %" },
		{ "from nothing on", 0.0002, 0, 0.0004, true, true, "0 % to <0.1 %" },
		{ "no cost", 0, 0, 0, true, true, "0 %" },
		{ "limits that look alike", 0.0061, 0.00609, 0.00611, true, true, "0.6 %" },
		{ "an older daemon", 0.006, 0, 0, false, false, "0.6 %" },
		{ "half a range", 0.006, 0.004, 0, true, false, "0.6 %" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Cost cost = INGERO__V1__COST__INIT;

		cost.probe_ratio = cases[i].ratio;
		cost.low_ratio = cases[i].low;
		cost.high_ratio = cases[i].high;
		if (cases[i].has_low)
			cost.low_ratio_told_case = INGERO__V1__COST__LOW_RATIO_TOLD_LOW_RATIO;
		if (cases[i].has_high)
			cost.high_ratio_told_case = INGERO__V1__COST__HIGH_RATIO_TOLD_HIGH_RATIO;
		CHECK_STR_EQ(cases[i].name, cost_share(&cost).text, cases[i].want);
	}
	return check_result();
}
