// SPDX-License-Identifier: Apache-2.0
/* What threads waited for, and which threads ended their waits: map `waits` of the kernel half. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "clock.h"
#include "probes/probe_set_state.h"

/* One user's threads have at most three quarters (bpf/shares.h): beyond this is room for their waits of one second. */
#define WAITS_MOST_KEPT (WAITS_MAX / 2)

/* Return: number of entries read, or -errno */
static int waits_read(struct probe_set *set)
{
	return share_map_read(set->bpf->maps.waits, WAITS_MAX, set->wait_keys, set->wait_values);
}

static void rows_by_user(const struct probe_set *set, int n, struct share_entries *ret)
{
	*ret = (struct share_entries){ .all = (uint32_t)n };
	for (int i = 0; i < n; i++)
		ret->of[probe_set_share(set, set->wait_keys[i].slot)]++;
}

/* Remove a row. If it comes back it begins anew at 0, so func is called with count 0. */
static void wait_remove(struct probe_set *set, const struct wait_key *key, struct share_entries *left,
			probe_wait_func func, void *data)
{
	static const struct wait_value none;
	struct wait_value last;

	if (bpf_map_lookup_and_delete_elem(bpf_map__fd(set->bpf->maps.waits), key, &last))
		return;
	left->all--;
	left->of[probe_set_share(set, key->slot)]--;
	func(key, &last, data);
	func(key, &none, data);
}

/* Remove the rows that have not grown for longest, since ended threads leave their rows behind. */
static void waits_make_room(struct probe_set *set, int n, struct share_entries *left, probe_wait_func func, void *data)
{
	static const uint32_t quiet_s[] = { 60, 5 };
	uint64_t now_s = clock_now_ns() / NSEC_PER_SEC;

	for (size_t k = 0; k < ARRAY_SIZE(quiet_s) && left->all > WAITS_MOST_KEPT; k++) {
		for (int i = 0; i < n; i++) {
			struct wait_value *value = &set->wait_values[i];

			if (!value->count || value->last_s + quiet_s[k] > now_s)
				continue;
			wait_remove(set, &set->wait_keys[i], left, func, data);
			value->count = 0;
		}
	}
}

int probe_set_waits(struct probe_set *set, probe_wait_func func, void *data)
{
	struct share_entries before, left;
	int n, n_told = 0;

	share_entries_read(&set->bpf->bss->n_waits, set->bpf->bss->waits_of, &before);
	n = waits_read(set);
	if (n < 0)
		return n;
	rows_by_user(set, n, &left);
	for (int i = 0; i < n; i++) {
		if (!set->wait_values[i].count)
			continue; /* the row is being written */
		func(&set->wait_keys[i], &set->wait_values[i], data);
		n_told++;
	}
	waits_make_room(set, n, &left, func, data);
	share_entries_correct(&set->bpf->bss->n_waits, set->bpf->bss->waits_of, &before, &left);
	return n_told;
}

void probe_set_waits_forget(struct probe_set *set, uint32_t slot)
{
	int n = waits_read(set);

	for (int i = 0; i < n; i++)
		if (set->wait_keys[i].slot == slot)
			(void)bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.waits), &set->wait_keys[i]);
}

int probe_set_interpreter_note(struct probe_set *set, uint32_t tgid, const struct interpreter *interpreter)
{
	if (bpf_map_update_elem(bpf_map__fd(set->bpf->maps.interpreters), &tgid, interpreter, BPF_ANY))
		return -errno;
	(void)__atomic_add_fetch(&set->bpf->bss->interpreters_noted, 1, __ATOMIC_SEQ_CST);
	return 0;
}

int probe_set_interpreter(const struct probe_set *set, uint32_t tgid, struct interpreter *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.interpreters), &tgid, ret) ? -errno : 0;
}
