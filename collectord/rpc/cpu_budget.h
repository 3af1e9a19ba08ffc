// SPDX-License-Identifier: Apache-2.0
/*
 * A budget of time for each user: an amount at once, and then a rate. It is of CPU time for questions, or of time that
 * others wait for the user's clients (tracers.c). Counted by uid; several processes at a time all count. Subordinate
 * uids have one budget together: one person has thousands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h" /* NSEC_PER_SEC */
#include "procs/subordinate.h"

/* Rate: a quarter of one CPU. Guess: a dashboard that asks each second uses a twentieth. */
#define CPU_BUDGET_SHARE 4
/* Minimum to start: a question that starts with nothing ends at once. */
#define CPU_BUDGET_LEAST_NS NSEC_PER_SEC

struct cpu_user {
	uint32_t uid;
	uint64_t used_ns; /* at that time */
	uint64_t at_ns;
};

struct cpu_budget {
	uint64_t size_ns; /* 0: no limit */
	struct subordinate together;
	struct cpu_user *users;
	size_t n_users;
	size_t room;
};

void cpu_budget_done(struct cpu_budget *budget);
/** cpu_budget_charge() - charge a user; without memory for a new user nothing is charged */
void cpu_budget_charge(struct cpu_budget *budget, uint32_t uid, uint64_t spent_ns, uint64_t now_ns);
/** cpu_budget_is_low() - whether the user has used half of it */
bool cpu_budget_is_low(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns);
/** cpu_budget_is_used() - whether nothing is left */
bool cpu_budget_is_used(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns);
/** cpu_budget_wait_ns() - time until the user may ask again; 0: now */
uint64_t cpu_budget_wait_ns(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns);
