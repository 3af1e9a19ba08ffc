// SPDX-License-Identifier: Apache-2.0
#include "rpc/askers.h"

#include <stddef.h>

static struct asker *running_find(struct askers *askers, uint32_t pid)
{
	for (size_t i = 0; i < ASKERS_MAX; i++)
		if (askers->items[i].pid == pid && !askers->items[i].gone_ns)
			return &askers->items[i];
	return NULL;
}

/* Return: a free entry, otherwise the entry of the process that ended first; NULL: all processes run */
static struct asker *entry_find(struct askers *askers)
{
	struct asker *found = NULL;

	for (size_t i = 0; i < ASKERS_MAX; i++) {
		struct asker *one = &askers->items[i];

		if (!one->pid)
			return one;
		if (one->gone_ns && (!found || one->gone_ns < found->gone_ns))
			found = one;
	}
	return found;
}

void askers_begin(struct askers *askers, uint32_t pid, uint32_t uid)
{
	struct asker *one = entry_find(askers);

	if (one)
		*one = (struct asker){ .pid = pid, .uid = uid };
}

void askers_charge(struct askers *askers, uint32_t pid, uint64_t cpu_ns, uint64_t now_ns)
{
	struct asker *one = running_find(askers, pid);

	if (!one || cpu_ns <= one->charged_ns)
		return;
	cpu_budget_charge(&askers->budget, one->uid, cpu_ns - one->charged_ns, now_ns);
	one->charged_ns = cpu_ns;
}

void askers_gone(struct askers *askers, uint32_t pid, uint64_t cpu_ns, uint64_t now_ns)
{
	struct asker *one = running_find(askers, pid);

	askers_charge(askers, pid, cpu_ns, now_ns);
	if (one)
		one->gone_ns = now_ns;
}

bool askers_find(const struct askers *askers, uint32_t pid, bool is_named_so, uint64_t now_ns, uint32_t *ret_uid)
{
	const struct asker *found = NULL;

	for (size_t i = 0; i < ASKERS_MAX; i++) {
		const struct asker *one = &askers->items[i];
		bool is_known = !one->gone_ns || (is_named_so && now_ns - one->gone_ns < ASKER_KNOWN_NS);

		if (pid && one->pid == pid && is_known && (!found || !one->gone_ns || found->gone_ns < one->gone_ns))
			found = one;
	}
	if (found)
		*ret_uid = found->uid;
	return found != NULL;
}
