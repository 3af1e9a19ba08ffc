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
	LIBBPF_OPTS(bpf_map_batch_opts, opts, .elem_flags = 0);
	uint32_t n = WAITS_MAX, position;

	/* One call reads all entries; -ENOENT means that it reached the end. */
	if (bpf_map_lookup_batch(bpf_map__fd(set->bpf->maps.waits), NULL, &position, set->wait_keys, set->wait_values,
				 &n, &opts) &&
	    errno != ENOENT)
		return -errno;
	return (int)n;
}

/* Rows of all users and by user, as bpf/shares.h counts them. */
struct row_counts {
	uint32_t all, of[USER_SHARES];
};

static uint32_t *rows_of(const struct probe_set *set, struct row_counts *counts, const struct wait_key *key)
{
	const struct process_slot *slot = &set->slots[key->slot % PROCESS_SLOTS];
	const struct share_range *together = &set->bpf->bss->subordinate;

	return &counts->of[share_user(slot->uid, slot->flags, together->first, together->n) % USER_SHARES];
}

static void rows_by_user(const struct probe_set *set, int n, struct row_counts *ret)
{
	*ret = (struct row_counts){ .all = (uint32_t)n };
	for (int i = 0; i < n; i++)
		++*rows_of(set, ret, &set->wait_keys[i]);
}

static void shares_read(const struct probe_set *set, struct row_counts *ret)
{
	ret->all = __atomic_load_n(&set->bpf->bss->n_waits, __ATOMIC_RELAXED);
	for (size_t i = 0; i < USER_SHARES; i++)
		ret->of[i] = __atomic_load_n(&set->bpf->bss->waits_of[i], __ATOMIC_RELAXED);
}

/*
 * Corrects the kernel half's counts, which only grow there, by the difference between the rows that are left and the
 * counts before the rows were read. A row added during the reading is counted twice until the next time.
 */
static void shares_correct(struct probe_set *set, const struct row_counts *before, const struct row_counts *left)
{
	(void)__atomic_fetch_add(&set->bpf->bss->n_waits, left->all - before->all, __ATOMIC_RELAXED);
	for (size_t i = 0; i < USER_SHARES; i++)
		if (left->of[i] != before->of[i])
			(void)__atomic_fetch_add(&set->bpf->bss->waits_of[i], left->of[i] - before->of[i],
						 __ATOMIC_RELAXED);
}

/* Remove a row. If it comes back it begins anew at 0, so func is called with count 0. */
static void wait_remove(struct probe_set *set, const struct wait_key *key, struct row_counts *left,
			probe_wait_func func, void *data)
{
	static const struct wait_value none;
	struct wait_value last;

	if (bpf_map_lookup_and_delete_elem(bpf_map__fd(set->bpf->maps.waits), key, &last))
		return;
	left->all--;
	--*rows_of(set, left, key);
	func(key, &last, data);
	func(key, &none, data);
}

/* Remove the rows that have not grown for longest, since ended threads leave their rows behind. */
static void waits_make_room(struct probe_set *set, int n, struct row_counts *left, probe_wait_func func, void *data)
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
	struct row_counts before, left;
	int n, n_told = 0;

	shares_read(set, &before);
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
	shares_correct(set, &before, &left);
	return n_told;
}

void probe_set_user_losses(const struct probe_set *set, uint32_t uid, uint64_t losses[LOSS_COUNT])
{
	for (uint32_t i = 0; i < USER_SHARES; i++) {
		const struct share_losses *of = &set->bpf->bss->losses_of[i];

		if (uid != UINT32_MAX && uid % USER_SHARES != i)
			continue;
		losses[LOSS_WAITS] += __atomic_load_n(&of->waits, __ATOMIC_RELAXED);
		losses[LOSS_WAKERS] += __atomic_load_n(&of->wakers, __ATOMIC_RELAXED);
		losses[LOSS_ACCOUNTS] += __atomic_load_n(&of->accounts, __ATOMIC_RELAXED);
		losses[LOSS_LIFE_FULL] += __atomic_load_n(&of->lives, __ATOMIC_RELAXED);
		losses[LOSS_PATHS] += __atomic_load_n(&of->paths, __ATOMIC_RELAXED);
	}
}

static void loss_take(uint32_t uid, enum loss_reason reason, const __u64 *total, __u64 *taken,
		      probe_user_loss_func func, void *data)
{
	__u64 now = __atomic_load_n(total, __ATOMIC_RELAXED), n = now - *taken;

	*taken = now;
	if (n)
		func(uid, reason, n, data);
}

void probe_set_user_losses_take(struct probe_set *set, probe_user_loss_func func, void *data)
{
	for (size_t i = 0; i < USER_SHARES; i++) {
		const struct share_losses *of = &set->bpf->bss->losses_of[i];
		struct share_losses *taken = &set->losses_taken[i];

		loss_take(of->uid, LOSS_WAITS, &of->waits, &taken->waits, func, data);
		loss_take(of->uid, LOSS_WAKERS, &of->wakers, &taken->wakers, func, data);
		loss_take(of->uid, LOSS_ACCOUNTS, &of->accounts, &taken->accounts, func, data);
		loss_take(of->uid, LOSS_LIFE_FULL, &of->lives, &taken->lives, func, data);
		loss_take(of->uid, LOSS_PATHS, &of->paths, &taken->paths, func, data);
	}
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
	return bpf_map_update_elem(bpf_map__fd(set->bpf->maps.interpreters), &tgid, interpreter, BPF_ANY) ? -errno : 0;
}

int probe_set_interpreter(const struct probe_set *set, uint32_t tgid, struct interpreter *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(set->bpf->maps.interpreters), &tgid, ret) ? -errno : 0;
}
