// SPDX-License-Identifier: Apache-2.0
/*
 * What a user's questions may compute: so much at once, then as much as comes back; his alone.
 */
#include "rpc/cpu_budget.h"

#include "tests/support/check.h"

#define NOW_NS 1000000000000ull
#define SIZE_NS (10 * NSEC_PER_SEC)
#define S NSEC_PER_SEC

static const struct {
	const char *name;
	uint64_t size_ns;
	uint64_t spent_ns[3]; /* one after another */
	uint64_t between_ns;  /* after each */
	bool is_low, is_used;
	uint64_t wait_ns;
} cases[] = {
	{ "nothing spent", SIZE_NS, {}, 0, false, false, 0 },
	{ "less than half", SIZE_NS, { S, S, S }, 0, false, false, 0 },
	{ "half of it", SIZE_NS, { 2 * S, 3 * S }, 0, true, false, 0 },
	{ "nearly all", SIZE_NS, { SIZE_NS - CPU_BUDGET_LEAST_NS }, 0, true, false, 0 },
	{ "too little is left", SIZE_NS, { SIZE_NS - CPU_BUDGET_LEAST_NS + 1 }, 0, true, false, CPU_BUDGET_SHARE },
	{ "all of it", SIZE_NS, { SIZE_NS }, 0, true, true, CPU_BUDGET_SHARE *CPU_BUDGET_LEAST_NS },
	{ "more, by what ran at the same time",
	  SIZE_NS,
	  { SIZE_NS, 2 * S },
	  0,
	  true,
	  true,
	  CPU_BUDGET_SHARE *(2 * S + CPU_BUDGET_LEAST_NS) },
	{ "all of it, and as much came back", SIZE_NS, { SIZE_NS }, CPU_BUDGET_SHARE *SIZE_NS, false, false, 0 },
	{ "no more comes back than was there", SIZE_NS, { S, SIZE_NS }, CPU_BUDGET_SHARE *S, true, false, 0 },
	{ "a small one", S / 10, { S / 10 }, 0, true, true, CPU_BUDGET_SHARE *S / 20 },
	{ "no limit", 0, { 1000 * S }, 0, false, false, 0 },
};

static void test_case(size_t i)
{
	struct cpu_budget budget = { .size_ns = cases[i].size_ns };
	uint64_t now_ns = NOW_NS;

	cpu_budget_charge(&budget, 1001, 1000 * S, now_ns);
	for (size_t k = 0; k < ARRAY_SIZE(cases[i].spent_ns) && cases[i].spent_ns[k]; k++) {
		cpu_budget_charge(&budget, 1000, cases[i].spent_ns[k], now_ns);
		now_ns += cases[i].between_ns;
	}
	CHECK_INT_EQ(cases[i].name, cpu_budget_is_low(&budget, 1000, now_ns), cases[i].is_low);
	CHECK_INT_EQ(cases[i].name, cpu_budget_is_used(&budget, 1000, now_ns), cases[i].is_used);
	CHECK_INT_EQ(cases[i].name, cpu_budget_wait_ns(&budget, 1000, now_ns), cases[i].wait_ns);
	CHECK_INT_EQ(cases[i].name, cpu_budget_wait_ns(&budget, 1000, now_ns + cases[i].wait_ns), 0);
	cpu_budget_done(&budget);
}

/* Subordinate uids are one user: whichever computes, all pay. */
static void test_together(void)
{
	static const struct {
		const char *name;
		uint32_t uid;
		bool is_used;
	} rows[] = {
		{ "before the first", 99999, false },		{ "the first", 100000, true },
		{ "one that has asked nothing", 100001, true }, { "the last", 165535, true },
		{ "behind the last", 165536, false },		{ "root", 0, false },
	};
	struct cpu_budget budget = { .size_ns = SIZE_NS, .together = { 100000, 65536 } };

	for (uint32_t uid = 100002; uid < 100012; uid++)
		cpu_budget_charge(&budget, uid, S, NOW_NS);
	CHECK_INT_EQ("one user", budget.n_users, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_INT_EQ(rows[i].name, cpu_budget_is_used(&budget, rows[i].uid, NOW_NS), rows[i].is_used);
	cpu_budget_done(&budget);
}

/* Many uids leave nothing behind once they have everything back. */
static void test_forgets(void)
{
	struct cpu_budget budget = { .size_ns = SIZE_NS };

	for (uint32_t uid = 0; uid < 1000; uid++)
		cpu_budget_charge(&budget, uid, S, NOW_NS);
	CHECK_INT_EQ("all of them", budget.n_users, 1000);
	cpu_budget_charge(&budget, 5000, S, NOW_NS + CPU_BUDGET_SHARE * S);
	CHECK_INT_EQ("the last one", budget.n_users, 1);
	cpu_budget_done(&budget);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(i);
	test_together();
	test_forgets();
	return check_result();
}
