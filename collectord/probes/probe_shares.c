// SPDX-License-Identifier: Apache-2.0
/* Shares of users in the maps of the kernel half, and the losses that are counted there: bpf/shares.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "probes/probe_set_state.h"
#include "procs/owner.h"

/* The losses of a share. */
static const struct {
	enum loss_reason reason;
	size_t offset; /* in struct share_losses */
} share_reasons[] = {
	{ LOSS_WAITS, offsetof(struct share_losses, waits) },
	{ LOSS_WAKERS, offsetof(struct share_losses, wakers) },
	{ LOSS_ACCOUNTS, offsetof(struct share_losses, accounts) },
	{ LOSS_LIFE_FULL, offsetof(struct share_losses, lives) },
	{ LOSS_PATHS, offsetof(struct share_losses, paths) },
	{ LOSS_BEHIND, offsetof(struct share_losses, behind) },
	{ LOSS_STACKS, offsetof(struct share_losses, stacks) },
	{ LOSS_RING_FULL, offsetof(struct share_losses, calls) },
	{ LOSS_THINNED, offsetof(struct share_losses, thinned) },
	{ LOSS_PROCESS_SLOTS, offsetof(struct share_losses, slots) },
	{ LOSS_CELLS, offsetof(struct share_losses, cells) },
	{ LOSS_SWITCH_UNSEEN, offsetof(struct share_losses, switches) },
	{ LOSS_MEMORY, offsetof(struct share_losses, memory) },
};

static uint64_t *share_count(struct share_losses *losses, size_t k)
{
	return (uint64_t *)((char *)losses + share_reasons[k].offset);
}

static struct share_losses *share_at(const struct probe_set *set, uint32_t share)
{
	return &set->bpf->bss->losses_of[share % USER_SHARES];
}

static bool share_is_used(const struct probe_set *set, uint32_t share)
{
	return __atomic_load_n(&share_at(set, share)->is_used, __ATOMIC_SEQ_CST);
}

static uint64_t share_lost(const struct probe_set *set, uint32_t share, size_t k)
{
	return __atomic_load_n(share_count(share_at(set, share), k), __ATOMIC_RELAXED);
}

static int share_put_free(const struct probe_set *set, uint32_t share)
{
	return bpf_map_update_elem(bpf_map__fd(set->bpf->maps.free_shares), NULL, &share, BPF_ANY) ? -errno : 0;
}

int probe_set_shares_fill(struct probe_set *set)
{
	int r = 0;

	for (uint32_t i = SHARES_FIRST; i < USER_SHARES && r == 0; i++)
		r = share_put_free(set, i);
	return r;
}

static uint32_t share_user_of(const struct probe_set *set, uint32_t uid, uint32_t flags)
{
	const struct share_range *together = &set->bpf->bss->subordinate;

	return share_user(uid, flags, together->first, together->n);
}

/* The share of the losses of a slot's user. */
static uint32_t share_of_slot(const struct probe_set *set, uint32_t slot)
{
	return __atomic_load_n(&set->bpf->bss->slot_shares[slot % PROCESS_SLOTS], __ATOMIC_RELAXED) % USER_SHARES;
}

uint32_t probe_set_share(const struct probe_set *set, uint32_t slot)
{
	const struct process_slot *s = &set->slots[slot % PROCESS_SLOTS];

	return share_user_of(set, s->uid, s->flags) == SHARE_TOGETHER ? SHARE_OF_TOGETHER : share_of_slot(set, slot);
}

void probe_set_share_lose(struct probe_set *set, uint32_t slot, enum loss_reason reason)
{
	struct share_losses *losses = share_at(set, share_of_slot(set, slot));

	for (size_t k = 0; k < ARRAY_SIZE(share_reasons); k++)
		if (share_reasons[k].reason == reason)
			(void)__atomic_fetch_add(share_count(losses, k), 1, __ATOMIC_RELAXED);
}

/* ---- thinning ---- */

void probe_set_thin_shares(struct probe_set *set, const uint32_t keep[USER_SHARES], bool is_on)
{
	struct ingero__bss *bss = set->bpf->bss;

	for (size_t i = 0; i < USER_SHARES; i++)
		__atomic_store_n(&bss->keep_of[i], keep[i], __ATOMIC_RELAXED);
	__atomic_store_n(&bss->is_thinning, is_on, __ATOMIC_RELAXED);
}

uint32_t probe_set_thinned(const struct probe_set *set, uint32_t share)
{
	return __atomic_load_n(&set->bpf->bss->left_out_of[share % USER_SHARES], __ATOMIC_RELAXED);
}

/* ---- entries ---- */

int share_map_read(const struct bpf_map *map, uint32_t most, void *keys, void *values)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts, .elem_flags = 0);
	uint32_t n = most, position;

	/* -ENOENT means that it reached the end. */
	if (bpf_map_lookup_batch(bpf_map__fd(map), NULL, &position, keys, values, &n, &opts) && errno != ENOENT)
		return -errno;
	return (int)n;
}

void share_entries_read(const uint32_t *all, const uint32_t of[USER_SHARES], struct share_entries *ret)
{
	ret->all = __atomic_load_n(all, __ATOMIC_RELAXED);
	for (size_t i = 0; i < USER_SHARES; i++)
		ret->of[i] = __atomic_load_n(&of[i], __ATOMIC_RELAXED);
}

void share_entries_correct(uint32_t *all, uint32_t of[USER_SHARES], const struct share_entries *before,
			   const struct share_entries *left)
{
	(void)__atomic_fetch_add(all, left->all - before->all, __ATOMIC_RELAXED);
	for (size_t i = 0; i < USER_SHARES; i++)
		if (left->of[i] != before->of[i])
			(void)__atomic_fetch_add(&of[i], left->of[i] - before->of[i], __ATOMIC_RELAXED);
}

void share_entry_gone(uint32_t *all, uint32_t of[USER_SHARES], uint32_t share)
{
	(void)__atomic_fetch_sub(&of[share % USER_SHARES], 1, __ATOMIC_RELAXED);
	(void)__atomic_fetch_sub(all, 1, __ATOMIC_RELAXED);
}

/* ---- losses ---- */

void probe_set_rest_losses(const struct probe_set *set, uint64_t losses[LOSS_COUNT])
{
	for (size_t k = 0; k < ARRAY_SIZE(share_reasons); k++)
		losses[share_reasons[k].reason] += share_lost(set, SHARE_REST, k);
}

void probe_set_user_losses(const struct probe_set *set, uint32_t uid, uint64_t losses[LOSS_COUNT])
{
	for (uint32_t i = SHARES_FIRST; i < USER_SHARES; i++) {
		if (!share_is_used(set, i) || (uid != UINT32_MAX && share_at(set, i)->uid != uid))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(share_reasons); k++)
			losses[share_reasons[k].reason] += share_lost(set, i, k);
	}
}

/* ---- entries of targets ---- */

/* The share of a user, as share_claim() of bpf/shares.h. */
static uint32_t share_claim_of(struct probe_set *set, uint32_t uid)
{
	int users = bpf_map__fd(set->bpf->maps.user_shares);
	uint32_t share;

	if (bpf_map_lookup_elem(users, &uid, &share) == 0)
		return share % USER_SHARES;
	if (bpf_map_lookup_and_delete_elem(bpf_map__fd(set->bpf->maps.free_shares), NULL, &share))
		return SHARE_REST;
	if (bpf_map_update_elem(users, &uid, &share, BPF_NOEXIST)) {
		(void)share_put_free(set, share);
		return bpf_map_lookup_elem(users, &uid, &share) ? SHARE_REST : share % USER_SHARES;
	}
	share_at(set, share)->uid = uid;
	__atomic_store_n(&share_at(set, share)->is_used, 1, __ATOMIC_SEQ_CST);
	return share % USER_SHARES;
}

/* The share that a process takes; one whose owner cannot be read is nobody's. */
static uint32_t share_of_process(struct probe_set *set, uint32_t tgid)
{
	CLEANUP(closep) int proc_fd = procfs_open();
	CLEANUP(closep) int process_fd = proc_fd < 0 ? -1 : procfs_open_process(proc_fd, tgid);
	struct owner owner = { .is_guarded = true };

	if (process_fd < 0 || owner_read(process_fd, &owner) < 0)
		owner.is_guarded = true;
	if (share_user_of(set, owner.uid, owner.is_guarded ? PROCESS_GUARDED : 0) == SHARE_TOGETHER)
		return SHARE_OF_TOGETHER;
	return share_claim_of(set, owner.uid);
}

/* Changes the wish of a process that has an entry. The kernel half removes entries, too, but adds none before a fork.
 */
static int target_change(int map, uint32_t tgid, const struct process_wish *wish)
{
	struct target_entry entry;

	if (bpf_map_lookup_elem(map, &tgid, &entry))
		return -errno;
	entry.wish = *wish;
	return bpf_map_update_elem(map, &tgid, &entry, BPF_EXIST) ? -errno : 0;
}

int probe_set_target_put(struct probe_set *set, uint32_t tgid, const struct process_wish *wish)
{
	struct ingero__bss *bss = set->bpf->bss;
	int map = bpf_map__fd(set->bpf->maps.targets), r = target_change(map, tgid, wish);
	struct target_entry entry = { .wish = *wish };

	if (r != -ENOENT)
		return r;
	entry.share = share_of_process(set, tgid);
	if (!share_has_room(__atomic_load_n(&bss->targets_of[entry.share], __ATOMIC_RELAXED),
			    __atomic_load_n(&bss->n_targets, __ATOMIC_RELAXED), PROCESSES_MAX))
		return -ENOSPC;
	if (bpf_map_update_elem(map, &tgid, &entry, BPF_NOEXIST))
		return errno == EEXIST ? target_change(map, tgid, wish) : -errno;
	(void)__atomic_fetch_add(&bss->targets_of[entry.share], 1, __ATOMIC_RELAXED);
	(void)__atomic_fetch_add(&bss->n_targets, 1, __ATOMIC_RELAXED);
	return 0;
}

int probe_set_target_drop(struct probe_set *set, uint32_t tgid)
{
	int map = bpf_map__fd(set->bpf->maps.targets);
	struct target_entry entry;

	if (bpf_map_lookup_elem(map, &tgid, &entry) || bpf_map_delete_elem(map, &tgid))
		return errno == ENOENT ? 0 : -errno;
	share_entry_gone(&set->bpf->bss->n_targets, set->bpf->bss->targets_of, entry.share);
	return 0;
}

/* Whether a living process has an entry of the share. */
static bool share_has_entries(const struct probe_set *set, uint32_t share)
{
	return set->bpf->bss->processes_of[share] || set->bpf->bss->targets_of[share];
}

/* Whether a share has an entry or a loss. */
static bool share_is_needed(const struct probe_set *set, uint32_t share)
{
	const struct ingero__bss *bss = set->bpf->bss;
	bool is_needed = bss->waits_of[share] || bss->behind_of[share] || bss->wakers_of[share] ||
			 bss->accounts_ended_of[share] || bss->lives_of[share] || bss->slots_of[share] ||
			 bss->cells_of[share] || bss->spares_of[share] || share_has_entries(set, share);

	for (size_t k = 0; k < ARRAY_SIZE(share_reasons); k++)
		is_needed |= share_lost(set, share, k) != 0;
	return is_needed;
}

/*
 * A share leaves its user first, and is free the next time: until then a program that found it before has ended, and
 * its process has an entry. Shares with losses stay, since their totals are told.
 */
static void shares_free(struct probe_set *set)
{
	bool has_process[USER_SHARES] = { false };
	uint32_t n_subordinate = 0, n_with_process = 0, lone = SHARE_REST;

	for (uint32_t slot = 0; slot < PROCESS_SLOTS; slot++)
		if (set->slots[slot].state != PROCESS_SLOT_FREE)
			has_process[share_of_slot(set, slot)] = true;
	for (uint32_t i = 0; i < USER_SHARES; i++) {
		n_with_process += has_process[i];
		lone = has_process[i] ? i : lone;
	}
	__atomic_store_n(&set->bpf->bss->lone_share, n_with_process == 1 ? lone : SHARE_REST, __ATOMIC_RELAXED);
	for (uint32_t i = SHARES_FIRST; i < USER_SHARES; i++) {
		struct share_losses *share = share_at(set, i);

		if (set->shares_leaving[i]) {
			for (size_t k = 0; k < ARRAY_SIZE(share_reasons); k++) /* in the last moment: nobody's */
				(void)__atomic_fetch_add(share_count(share_at(set, SHARE_REST), k),
							 share_lost(set, i, k), __ATOMIC_RELAXED);
			*share = (struct share_losses){ .waits = 0 };
			set->losses_taken[i] = *share;
			set->shares_leaving[i] =
				has_process[i] || share_has_entries(set, i) || share_put_free(set, i) < 0;
		} else if (share_is_used(set, i)) {
			set->shares_leaving[i] =
				!has_process[i] && !share_is_needed(set, i) &&
				bpf_map_delete_elem(bpf_map__fd(set->bpf->maps.user_shares), &share->uid) == 0;
			if (set->shares_leaving[i])
				__atomic_store_n(&share->is_used, 0, __ATOMIC_SEQ_CST);
			else
				n_subordinate += share_user_of(set, share->uid, 0) == SHARE_TOGETHER;
		}
	}
	__atomic_store_n(&set->bpf->bss->n_shares_subordinate, n_subordinate, __ATOMIC_RELAXED);
}

void probe_set_user_losses_take(struct probe_set *set, probe_user_loss_func func, void *data)
{
	for (uint32_t i = SHARES_FIRST; i < USER_SHARES; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(share_reasons) && share_is_used(set, i); k++) {
			uint64_t *taken = share_count(&set->losses_taken[i], k), now = share_lost(set, i, k);

			if (now != *taken)
				func(share_at(set, i)->uid, share_reasons[k].reason, now - *taken, data);
			*taken = now;
		}
	}
	shares_free(set);
}
