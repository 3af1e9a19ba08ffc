// SPDX-License-Identifier: Apache-2.0
#include "archive/write/names.h"

#include <string.h>

void names_done(struct names *names)
{
	ARRAY_DONE(&names->items);
	number_map_done(&names->at);
}

/* Removes half of the entries: first those of processes that ended, then the oldest. */
static void names_forget(struct names *names)
{
	size_t surplus = names->items.n / 2, n = 0;

	number_map_done(&names->at);
	for (int only_gone = 1; only_gone >= 0; only_gone--) {
		size_t n_before = names->items.n;

		n = 0;
		for (size_t i = 0; i < n_before; i++)
			if (surplus && (!only_gone || names->items.items[i].gone_ns))
				surplus--;
			else
				names->items.items[n++] = names->items.items[i];
		names->items.n = n;
	}
	for (size_t i = 0; i < n; i++)
		if (number_map_put(&names->at, names->items.items[i].id, (uint32_t)i) < 0)
			names->items.n = i; /* the rest is removed, too */
}

void names_set(struct names *names, const struct batch_process *process)
{
	uint32_t at = number_map_get(&names->at, process->id);

	if (at != NUMBER_NONE) {
		names->items.items[at] = *process;
		return;
	}
	if (names->items.n >= NAMES_MAX)
		names_forget(names);
	if (ARRAY_PUSH(&names->items, *process) < 0)
		return;
	if (number_map_put(&names->at, process->id, (uint32_t)names->items.n - 1) < 0)
		names->items.n--;
}
