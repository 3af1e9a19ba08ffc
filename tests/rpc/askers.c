// SPDX-License-Identifier: Apache-2.0
/*
 * For whom a process answers, by its number: while it runs, and for a moment after, if the number is still its own; and
 * each user pays once for what his used.
 */
#include "rpc/askers.h"

#include "tests/support/check.h"

#define NOW_NS 1000000000000ull
#define PID 4711
#define NOBODY UINT32_MAX

/* Of a process for user 1000 that is gone at NOW_NS, or of one that runs. */
static const struct {
	const char *name;
	uint32_t pid;
	bool is_gone, is_named_so;
	uint32_t again_for; /* its number is given again to one for this user; 0: it is not */
	uint64_t later_ns;
	uint32_t uid;
} cases[] = {
	{ "it runs", PID, false, true, 0, 0, 1000 },
	{ "it runs and has not got its name yet", PID, false, false, 0, 0, 1000 },
	{ "it has run for long", PID, false, true, 0, 100 * ASKER_KNOWN_NS, 1000 },
	{ "another one", PID + 1, false, true, 0, 0, NOBODY },
	{ "nobody", 0, false, true, 0, 0, NOBODY },
	{ "it is gone", PID, true, true, 0, ASKER_KNOWN_NS - 1, 1000 },
	{ "it is gone for long", PID, true, true, 0, ASKER_KNOWN_NS, NOBODY },
	{ "a program has its number", PID, true, false, 0, 1, NOBODY },
	{ "a question of another's has its number", PID, true, true, 1001, 1, 1001 },
};

static void test_case(size_t i)
{
	static struct askers askers;
	uint32_t uid = NOBODY;
	bool is_known;

	askers = (struct askers){ .budget.size_ns = 0 };
	askers_begin(&askers, PID, 1000);
	if (cases[i].is_gone)
		askers_gone(&askers, PID, 5, NOW_NS);
	if (cases[i].again_for)
		askers_begin(&askers, PID, cases[i].again_for);
	is_known = askers_find(&askers, cases[i].pid, cases[i].is_named_so, NOW_NS + cases[i].later_ns, &uid);
	CHECK_INT_EQ(cases[i].name, is_known, cases[i].uid != NOBODY);
	CHECK_INT_EQ(cases[i].name, uid, cases[i].uid);
}

static uint64_t used_ns(struct askers *askers, uint32_t uid)
{
	return askers->budget.size_ns + cpu_budget_wait_ns(&askers->budget, uid, NOW_NS) / CPU_BUDGET_SHARE;
}

static void test_charge(void)
{
	static struct askers askers = { .budget.size_ns = 2 };

	askers_begin(&askers, PID, 1000);
	askers_begin(&askers, PID + 1, 1001);
	askers_charge(&askers, PID, 1000, NOW_NS);
	askers_charge(&askers, PID, 3000, NOW_NS);
	askers_charge(&askers, PID, 0, NOW_NS); /* it cannot be told at the moment */
	askers_gone(&askers, PID, 4000, NOW_NS);
	askers_charge(&askers, PID, 9000, NOW_NS); /* it is gone */
	CHECK_INT_EQ("each nanosecond once", used_ns(&askers, 1000), 4000 + 1);
	CHECK_INT_EQ("to who asked", used_ns(&askers, 1001), 2);
	cpu_budget_done(&askers.budget);
}

/* More than there is room for: those that run are kept. */
static void test_crowd(void)
{
	static struct askers askers;
	uint32_t uid = 0;

	askers_begin(&askers, PID, 1000);
	for (uint32_t i = 1; i <= 2 * ASKERS_MAX; i++) {
		askers_begin(&askers, PID + i, 1000 + i);
		askers_gone(&askers, PID + i, 0, NOW_NS + i);
	}
	CHECK("the one that runs", askers_find(&askers, PID, true, NOW_NS, &uid) && uid == 1000);
	CHECK("the last", askers_find(&askers, PID + 2 * ASKERS_MAX, true, NOW_NS + 2 * ASKERS_MAX, &uid));
	CHECK("not the first", !askers_find(&askers, PID + 1, true, NOW_NS + 2 * ASKERS_MAX, &uid));
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(i);
	test_charge();
	test_crowd();
	return check_result();
}
