// SPDX-License-Identifier: Apache-2.0
#include "rpc/cpu_budget.h"

#include <stdlib.h>

#include "base/array.h"

static uint64_t used_ns(const struct cpu_user *user, uint64_t now_ns)
{
	uint64_t back_ns = (now_ns - user->at_ns) / CPU_BUDGET_SHARE;

	return user->used_ns > back_ns ? user->used_ns - back_ns : 0;
}

static uint32_t user_of(const struct cpu_budget *budget, uint32_t uid)
{
	return subordinate_has(&budget->together, uid) ? budget->together.first : uid;
}

static struct cpu_user *user_find(const struct cpu_budget *budget, uint32_t uid)
{
	uid = user_of(budget, uid);
	for (size_t i = 0; i < budget->n_users; i++)
		if (budget->users[i].uid == uid)
			return &budget->users[i];
	return NULL;
}

static uint64_t used_by(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns)
{
	const struct cpu_user *user = user_find(budget, uid);

	return user ? used_ns(user, now_ns) : 0;
}

void cpu_budget_done(struct cpu_budget *budget)
{
	free(budget->users);
	*budget = (struct cpu_budget){ .size_ns = budget->size_ns, .together = budget->together };
}

/* Forgets users whose budget is full again, so that the table does not grow without limit. */
static void users_forget(struct cpu_budget *budget, uint64_t now_ns)
{
	for (size_t i = budget->n_users; i-- > 0;)
		if (!used_ns(&budget->users[i], now_ns))
			budget->users[i] = budget->users[--budget->n_users];
}

void cpu_budget_charge(struct cpu_budget *budget, uint32_t uid, uint64_t spent_ns, uint64_t now_ns)
{
	struct cpu_user *user = user_find(budget, uid);

	if (!budget->size_ns)
		return;
	if (!user) {
		users_forget(budget, now_ns);
		if (array_grow(&budget->users, budget->n_users, &budget->room, sizeof(*user)))
			return;
		user = &budget->users[budget->n_users++];
		*user = (struct cpu_user){ .uid = user_of(budget, uid) };
	}
	user->used_ns = used_ns(user, now_ns) + spent_ns;
	user->at_ns = now_ns;
}

bool cpu_budget_is_low(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns)
{
	return budget->size_ns && used_by(budget, uid, now_ns) >= budget->size_ns / 2;
}

bool cpu_budget_is_used(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns)
{
	return budget->size_ns && used_by(budget, uid, now_ns) >= budget->size_ns;
}

uint64_t cpu_budget_wait_ns(const struct cpu_budget *budget, uint32_t uid, uint64_t now_ns)
{
	uint64_t most_ns = budget->size_ns - MIN(CPU_BUDGET_LEAST_NS, budget->size_ns / 2);
	uint64_t n_ns = budget->size_ns ? used_by(budget, uid, now_ns) : 0;

	return n_ns > most_ns ? (n_ns - most_ns) * CPU_BUDGET_SHARE : 0;
}
