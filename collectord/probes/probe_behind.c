// SPDX-License-Identifier: Apache-2.0
/* Which processes ran while threads were ready to run: map `behind` of the kernel half. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "probes/probe_set_state.h"

/* One user's threads have at most three quarters (bpf/shares.h): beyond this is room for the rows of one second. */
#define BEHIND_MOST_KEPT (BEHIND_ROWS_MAX / 2)

/* Return: number of entries or -errno */
static int behind_read(struct probe_set *set)
{
	return share_map_read(set->bpf->maps.behind, BEHIND_ROWS_MAX, set->behind_keys, set->behind_values);
}

/* Remove a row. If it comes back it begins anew at 0, so func is called with time 0. */
static void behind_remove(struct probe_set *set, const struct behind_key *key, struct share_entries *left,
			  probe_behind_func func, void *data)
{
	static const struct behind_value none;
	struct behind_value last;

	if (bpf_map_lookup_and_delete_elem(bpf_map__fd(set->bpf->maps.behind), key, &last))
		return;
	left->all--;
	left->of[probe_set_share(set, key->slot)]--;
	func(key, &last, data);
	func(key, &none, data);
}

/* Remove the rows that have not grown in so many readings: processes that ended leave their rows behind. */
static void behind_make_room(struct probe_set *set, int n, uint32_t reading, struct share_entries *left,
			     probe_behind_func func, void *data)
{
	static const uint32_t quiet[] = { 60, 5, 1 };

	for (size_t k = 0; k < ARRAY_SIZE(quiet) && left->all > BEHIND_MOST_KEPT; k++) {
		for (int i = 0; i < n; i++) {
			if (!set->behind_values[i].ns || reading - set->behind_values[i].reading < quiet[k])
				continue;
			behind_remove(set, &set->behind_keys[i], left, func, data);
			set->behind_values[i].ns = 0;
		}
	}
}

int probe_set_behind(struct probe_set *set, probe_behind_func func, void *data)
{
	uint32_t reading = __atomic_fetch_add(&set->bpf->bss->behind_reading, 1, __ATOMIC_RELAXED);
	struct share_entries before, left;
	int n;

	share_entries_read(&set->bpf->bss->n_behind, set->bpf->bss->behind_of, &before);
	n = behind_read(set);
	if (n < 0)
		return n;
	left = (struct share_entries){ .all = (uint32_t)n };
	for (int i = 0; i < n; i++) {
		left.of[probe_set_share(set, set->behind_keys[i].slot)]++;
		if (set->behind_values[i].ns) /* else it is being written */
			func(&set->behind_keys[i], &set->behind_values[i], data);
	}
	behind_make_room(set, n, reading, &left, func, data);
	share_entries_correct(&set->bpf->bss->n_behind, set->bpf->bss->behind_of, &before, &left);
	return n;
}

void probe_set_behind_forget(struct probe_set *set, uint32_t slot)
{
	int n = behind_read(set);

	for (int i = 0; i < n; i++)
		if (set->behind_keys[i].slot == slot)
			(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.behind), &set->behind_keys[i]);
}
