// SPDX-License-Identifier: Apache-2.0
/* The share of its CPU time that tracing takes from a thread, in words: a range, or one figure of who knows no range.
 */
#include "libingero/answers/cost.h"

#include <string.h>

#include "base/array.h"
#include "tests/support/check.h"

static void share_test(void)
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
}

static void budget_test(void)
{
	static const struct {
		const char *name;
		double budget;
		const char *level; /* NULL: not told */
		const char *want, *header;
	} cases[] = {
		{ "no budget", 0, NULL, "", "cost 0.4 % to 0.8 %" },
		{ "everything", 0.02, "all", "budget 2.0 %", "cost 0.6 % of 2.0 %" },
		{ "first rung", 0.02, "no_request", "budget 2.0 %: trivial calls left out",
		  "cost 0.6 % of 2.0 %, not trivial calls" },
		{ "second rung", 0.1, "no_driver", "budget 10 %: driver calls left out",
		  "cost 0.6 % of 10 %, not the driver" },
		{ "last rung", 0.02, "duty", "budget 2.0 %: launches and copies sampled",
		  "cost 0.6 % of 2.0 %, sampled" },
		{ "very last rung", 0.02, "duty_all", "budget 2.0 %: all calls sampled",
		  "cost 0.6 % of 2.0 %, all sampled" },
		{ "a rung of a later daemon", 0.02, "thinner", "budget 2.0 %: some calls left out",
		  "cost 0.6 % of 2.0 %, not all calls" },
		{ "no rung", 0.02, NULL, "budget 2.0 %", "cost 0.6 % of 2.0 %" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Cost cost = INGERO__V1__COST__INIT;

		cost.probe_ratio = 0.006;
		cost.low_ratio = 0.004;
		cost.low_ratio_told_case = INGERO__V1__COST__LOW_RATIO_TOLD_LOW_RATIO;
		cost.high_ratio = 0.008;
		cost.high_ratio_told_case = INGERO__V1__COST__HIGH_RATIO_TOLD_HIGH_RATIO;
		cost.budget_ratio = cases[i].budget;
		cost.level = (char *)(uintptr_t)cases[i].level;
		if (cases[i].budget > 0)
			cost.budget_ratio_told_case = INGERO__V1__COST__BUDGET_RATIO_TOLD_BUDGET_RATIO;
		if (cases[i].level)
			cost.level_told_case = INGERO__V1__COST__LEVEL_TOLD_LEVEL;
		CHECK_STR_EQ(cases[i].name, cost_budget(&cost).text, cases[i].want);
		CHECK_STR_EQ(cases[i].name, cost_header(&cost).text, cases[i].header);
		CHECK_INT_EQ(cases[i].name, cost_is_thinned(&cost), strchr(cases[i].want, ':') != NULL);
	}
}

/* For whose sake calls are left out. */
static void forced_test(void)
{
	Ingero__V1__Cost cost = INGERO__V1__COST__INIT;

	cost.budget_ratio = 0.02;
	cost.budget_ratio_told_case = INGERO__V1__COST__BUDGET_RATIO_TOLD_BUDGET_RATIO;
	cost.level = (char *)(uintptr_t) "duty";
	cost.level_told_case = INGERO__V1__COST__LEVEL_TOLD_LEVEL;
	cost.forced_by_others_told_case = INGERO__V1__COST__FORCED_BY_OTHERS_TOLD_FORCED_BY_OTHERS;
	cost.forced_by_others = true;
	CHECK_STR_EQ("others", cost_budget(&cost).text,
		     "budget 2.0 %: launches and copies sampled for another user's process");
	cost.forced_by_others_told_case = INGERO__V1__COST__FORCED_BY_OTHERS_TOLD__NOT_SET;
	cost.forced_by_pid_told_case = INGERO__V1__COST__FORCED_BY_PID_TOLD_FORCED_BY_PID;
	cost.forced_by_pid = 7;
	CHECK_STR_EQ("own", cost_budget(&cost).text, "budget 2.0 %: launches and copies sampled");
}

/* What would keep the most important calls exact. */
static void remedy_test(void)
{
	static const struct {
		double ratio;
		const char *want;
	} cases[] = {
		{ 0.051, "budget 2.0 %: all calls sampled ('--budget 10%' counts each synchronise)" },
		{ 0.304, "budget 2.0 %: all calls sampled ('--budget off' counts each synchronise)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Cost cost = INGERO__V1__COST__INIT;

		cost.budget_ratio = 0.02;
		cost.budget_ratio_told_case = INGERO__V1__COST__BUDGET_RATIO_TOLD_BUDGET_RATIO;
		cost.level = (char *)(uintptr_t) "duty_all";
		cost.level_told_case = INGERO__V1__COST__LEVEL_TOLD_LEVEL;
		cost.exact_budget_ratio = cases[i].ratio;
		cost.exact_budget_ratio_told_case = INGERO__V1__COST__EXACT_BUDGET_RATIO_TOLD_EXACT_BUDGET_RATIO;
		CHECK_STR_EQ("remedy", cost_budget(&cost).text, cases[i].want);
	}
}

int main(void)
{
	share_test();
	remedy_test();
	forced_test();
	budget_test();
	return check_result();
}
