// SPDX-License-Identifier: Apache-2.0
/* Which processes to trace, and which calls become records. */
#define LOG_TOPIC "probes"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/log.h"
#include "probes/probe_set_state.h"

void probe_set_policy_changed(struct probe_set *set)
{
	__atomic_add_fetch(&set->bpf->data->policy, 1, __ATOMIC_SEQ_CST);
}

static int number_put(struct bpf_map *map, uint32_t key, uint32_t value)
{
	return bpf_map_update_elem(bpf_map__fd(map), &key, &value, BPF_ANY) ? -errno : 0;
}

static int number_remove(struct bpf_map *map, uint32_t key)
{
	if (bpf_map_delete_elem(bpf_map__fd(map), &key) && errno != ENOENT)
		return -errno;
	return 0;
}

int probe_set_target_add(struct probe_set *set, uint32_t tgid, struct process_wish wish)
{
	int r = hooks_update(set);

	wish.flags |= WISH_TRACED;
	if (r == 0)
		r = probe_set_target_put(set, tgid, &wish);
	probe_set_policy_changed(set);
	return r;
}

int probe_set_target_remove(struct probe_set *set, uint32_t tgid)
{
	int r = probe_set_target_drop(set, tgid);

	probe_set_policy_changed(set);
	return r;
}

/* Programs look up the map of users only while it has entries. */
static void users_count(struct probe_set *set)
{
	uint32_t key, n = 0, *previous = NULL;
	uint32_t last;

	while (bpf_map_get_next_key(bpf_map__fd(set->bpf->maps.users), previous, &key) == 0) {
		last = key;
		previous = &last;
		n++;
	}
	__atomic_store_n(&set->bpf->bss->n_users, n, __ATOMIC_SEQ_CST);
	probe_set_policy_changed(set);
}

int probe_set_user_add(struct probe_set *set, uint32_t uid, struct process_wish wish)
{
	int r = hooks_update(set);

	wish.flags |= WISH_TRACED;
	if (r == 0 && bpf_map_update_elem(bpf_map__fd(set->bpf->maps.users), &uid, &wish, BPF_ANY))
		r = -errno;
	users_count(set);
	return r;
}

int probe_set_user_remove(struct probe_set *set, uint32_t uid)
{
	int r = number_remove(set->bpf->maps.users, uid);

	users_count(set);
	return r;
}

static void everyone_set(struct probe_set *set, struct process_wish wish)
{
	struct ingero__bss *bss = set->bpf->bss;

	__atomic_store_n(&bss->everyone.sample_every, wish.sample_every, __ATOMIC_SEQ_CST);
	__atomic_store_n(&bss->everyone.flags, wish.flags, __ATOMIC_SEQ_CST);
	probe_set_policy_changed(set);
}

void probe_set_everyone_add(struct probe_set *set, struct process_wish wish)
{
	if (hooks_update(set) < 0)
		(void)log_warning(0,
				  "cannot follow exec, fork and exit; processes are only distinguished by their calls");
	wish.flags |= WISH_TRACED;
	everyone_set(set, wish);
}

void probe_set_everyone_remove(struct probe_set *set)
{
	everyone_set(set, (struct process_wish){});
}

void probe_set_thin_records(struct probe_set *set, bool is_thinned)
{
	if (set->bpf->bss->records_thinned == is_thinned)
		return;
	__atomic_store_n(&set->bpf->bss->records_thinned, is_thinned, __ATOMIC_SEQ_CST);
	probe_set_policy_changed(set);
}

int probe_set_guardian_add(struct probe_set *set, uint32_t tgid)
{
	return number_put(set->bpf->maps.guardians, tgid, 1);
}

int probe_set_guardian_remove(struct probe_set *set, uint32_t tgid)
{
	return number_remove(set->bpf->maps.guardians, tgid);
}

int probe_set_tracer_add(struct probe_set *set, uint32_t tgid)
{
	const uint64_t hidden_ns = 0;
	int r = bpf_map_update_elem(bpf_map__fd(set->bpf->maps.tracers), &tgid, &hidden_ns, BPF_ANY) ? -errno : 0;

	probe_set_policy_changed(set);
	return r;
}

int probe_set_tracer_hidden(const struct probe_set *set, uint32_t tgid, uint64_t *ret_ns)
{
	return bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.tracers), &tgid, ret_ns) ? -errno : 0;
}

int probe_set_tracer_remove(struct probe_set *set, uint32_t tgid)
{
	int r = number_remove(set->bpf->maps.tracers, tgid);

	probe_set_policy_changed(set);
	return r;
}

void probe_set_subordinate(struct probe_set *set, uint32_t first, uint32_t n)
{
	set->bpf->bss->subordinate = (struct share_range){ .first = first, .n = n };
}
