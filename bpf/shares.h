// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shares of users in the slots of processes, in the cells of their operations (figures.h), in the maps `processes`,
 * `targets`, `waits`, `behind`, `wakers` and `accounts_ended`, and of the unread records on the rings `life`, `stacks`
 * (stack_ring.h) and `calls` (call_ring.h): one user's processes and threads leave places for other users, however many
 * they are. Checked only when an entry is added; a wait of an existing row, or of an existing waker, costs nothing
 * more.
 *
 * A user may have at most SHARE_OF_FREE times as many entries as are free: three quarters of a map while no other user
 * has any, and each user who comes later finds some free. A row and an account count for the user of the process in
 * their slot, a cell for the share that its slot took, a waker and a record for their own user. Several CPUs that add
 * entries at the same moment may exceed a share by one entry each.
 *
 * A person can run processes with thousands of user ids: subordinate ones. These have one share together, and so have
 * processes that belong to no user (share_user()). So one person has two shares, and others find at least a sixteenth
 * of a map free.
 *
 * A user takes a share with the first process that has an entry, makes a call, or is told of; his losses are counted in
 * it, too. The daemon frees the shares of users who have neither a process nor an entry nor a loss. Users for whom none
 * is left have SHARE_REST together; its losses are those of the machine.
 */
#pragma once

#include "maps.h"

#define SLOTS_MAX (CALIBRATION_SLOT - 1) /* slot 0 is never used */

/* Whether a user may have another entry; if so, it is counted. @n_own, @n_all: entries of the user, and of all */
static __always_inline bool share_take(__u32 *n_own, __u32 *n_all, __u32 n_most)
{
	if (!share_has_room(*n_own, *n_all, n_most))
		return false;
	__sync_fetch_and_add(n_own, 1);
	__sync_fetch_and_add(n_all, 1);
	return true;
}

/* There is no entry after all, or no more. */
static __always_inline void share_untake(__u32 *n_own, __u32 *n_all)
{
	__sync_fetch_and_add(n_own, -1);
	__sync_fetch_and_add(n_all, -1);
}

/*
 * Takes from a budget of unread bytes on a ring, at most n_most. Once the daemon has read up to `until`, the part
 * before is read, and a new part begins; until then all of both parts counts.
 * @consumed, @produced: positions on the ring
 * Return: whether there was room. CPUs that ask at the same moment may exceed it
 */
static __always_inline bool ring_budget_take(struct ring_budget *budget, __u64 consumed, __u64 produced, __u64 n_bytes,
					     __u64 n_most)
{
	__u64 until = READ_ONCE(budget->until);

	if (consumed >= until && __sync_val_compare_and_swap(&budget->until, until, produced) == until) {
		budget->n_before = consumed > budget->last ? 0 : budget->n_bytes;
		budget->n_bytes = 0;
	}
	if (budget->n_before + budget->n_bytes + n_bytes > n_most)
		return false;
	WRITE_ONCE(budget->last, produced);
	__sync_fetch_and_add(&budget->n_bytes, n_bytes);
	return true;
}

static __always_inline __u32 share_user_now(__u32 uid, __u32 flags)
{
	return share_user(uid, flags, READ_ONCE(subordinate.first), READ_ONCE(subordinate.n));
}

/* Index of the share in which a user's losses are counted; the first time, a free one. */
VERIFIED_ALONE __u32 share_claim(__u32 uid)
{
	__u32 idx = SHARE_REST, *there;

	there = bpf_map_lookup_elem(&user_shares, &uid);
	if (there)
		return *there;
	if (share_user_now(uid, 0) == SHARE_TOGETHER) {
		if (READ_ONCE(n_shares_subordinate) >= SHARES_SUBORDINATE)
			return SHARE_REST;
		__sync_fetch_and_add(&n_shares_subordinate, 1);
	}
	if (bpf_map_pop_elem(&free_shares, &idx))
		return SHARE_REST;
	if (bpf_map_update_elem(&user_shares, &uid, &idx, BPF_NOEXIST)) {
		bpf_map_push_elem(&free_shares, &idx, BPF_ANY);
		there = bpf_map_lookup_elem(&user_shares, &uid); /* another CPU was first */
		return there ? *there : SHARE_REST;
	}
	losses_of[idx & (USER_SHARES - 1)].uid = uid;
	WRITE_ONCE(losses_of[idx & (USER_SHARES - 1)].is_used, 1);
	return idx;
}

/* Index of the share that an entry takes whose process has no slot yet. @flags: PROCESS_GUARDED, or 0 */
static __always_inline __u32 share_taker(__u32 uid, __u32 flags)
{
	if (share_user_now(uid, flags) == SHARE_TOGETHER)
		return SHARE_OF_TOGETHER;
	return share_claim(uid) & (USER_SHARES - 1);
}

static __always_inline __u32 share_of_losses(__u32 slot)
{
	return READ_ONCE(slot_shares[slot & (PROCESS_SLOTS - 1)]) & (USER_SHARES - 1);
}

static __always_inline struct share_losses *share_losses_of(__u32 slot)
{
	return &losses_of[share_of_losses(slot)];
}

/* Index of the share that an entry takes. @s: the slot of its process */
static __always_inline __u32 share_index(__u32 slot, const struct process_slot *s)
{
	return share_user_now(s->uid, s->flags) == SHARE_TOGETHER ? SHARE_OF_TOGETHER : share_of_losses(slot);
}

/*
 * share_take_wait() - whether there is room for another row of `waits`; if so, the row is counted, else its loss
 * @slot: as in the key of the row
 * @tgid: its process. If the slot was released meanwhile there is no row: the next process in it is not told
 */
VERIFIED_ALONE int share_take_wait(__u32 slot, __u32 tgid)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);

	if (!s || s->tgid != tgid)
		return 0;
	if (share_take(&waits_of[share_index(slot, s)], &n_waits, WAITS_MAX))
		return 1;
	__sync_fetch_and_add(&share_losses_of(slot)->waits, 1);
	return 0;
}

/*
 * share_take_behind() - whether there is room for another row of `behind`; if so, the row is counted
 * @n_most: places that such rows may take
 */
static __always_inline bool share_take_behind(__u32 slot, __u32 n_most)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);

	return s && s->tgid && share_take(&behind_of[share_index(slot, s)], &n_behind, n_most);
}

/*
 * share_take_account() - whether there is room for another entry of `accounts_ended`; if so, the entry is counted, else
 * its loss
 * Return: index of the share that has it; USER_SHARES: no room
 */
VERIFIED_ALONE __u32 share_take_account(__u32 slot)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);
	__u32 share;

	if (!s)
		return USER_SHARES;
	share = share_index(slot, s);
	if (share_take(&accounts_ended_of[share], &n_accounts_ended, ACCOUNTS_ENDED))
		return share;
	__sync_fetch_and_add(&share_losses_of(slot)->accounts, 1);
	return USER_SHARES;
}

/* There is no entry after all. */
static __always_inline void share_give_account(__u32 share)
{
	share_untake(&accounts_ended_of[share & (USER_SHARES - 1)], &n_accounts_ended);
}

/*
 * slot_take() - a free slot for a process, which counts for its user
 * @flags: PROCESS_GUARDED, or 0
 * Return: 0: no room in the share of the user, or no free slot
 */
VERIFIED_ALONE __u32 slot_take(__u32 uid, __u32 flags)
{
	__u32 own = share_claim(uid) & (USER_SHARES - 1), slot = 0;
	__u32 share = share_user_now(uid, flags) == SHARE_TOGETHER ? SHARE_OF_TOGETHER : own;

	if (!share_take(&slots_of[share], &n_slots, SLOTS_MAX))
		return 0;
	if (bpf_map_pop_elem(&free_slots, &slot)) {
		share_untake(&slots_of[share], &n_slots);
		return 0;
	}
	WRITE_ONCE(slot_shares[slot & (PROCESS_SLOTS - 1)], own);
	WRITE_ONCE(slot_takers[slot & (PROCESS_SLOTS - 1)], share);
	if (READ_ONCE(lone_share) != own)
		WRITE_ONCE(lone_share, SHARE_REST);
	return slot;
}

static __always_inline __u32 slot_taker(__u32 slot)
{
	return READ_ONCE(slot_takers[slot & (PROCESS_SLOTS - 1)]) & (USER_SHARES - 1);
}

/* No process is in the slot after all. */
static __always_inline void slot_give(__u32 slot)
{
	share_untake(&slots_of[slot_taker(slot)], &n_slots);
	bpf_map_push_elem(&free_slots, &slot, BPF_ANY);
}

/* A call, or a process, without a slot: a loss of its user. */
VERIFIED_ALONE int slot_lose(__u32 uid)
{
	__sync_fetch_and_add(&losses_of[share_claim(uid) & (USER_SHARES - 1)].slots, 1);
	return 0;
}

/*
 * process_add() - adds an entry of `processes`, unless there is one or its user's share is full
 * @flags: PROCESS_GUARDED, also if the user is not known, or 0
 */
VERIFIED_ALONE int process_add(__u32 tgid, __u32 uid, __u32 flags)
{
	struct process_entry fresh = { .share = share_taker(uid, flags) };
	__u32 *n_own = &processes_of[fresh.share & (USER_SHARES - 1)];

	if (share_take(n_own, &n_processes, PROCESSES_MAX) &&
	    bpf_map_update_elem(&processes, &tgid, &fresh, BPF_NOEXIST))
		share_untake(n_own, &n_processes);
	return 0;
}

/* Return: whether there was an entry, and nobody else has removed it */
VERIFIED_ALONE int process_remove(__u32 tgid)
{
	const struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);
	__u32 share;

	if (!entry)
		return 0;
	share = entry->share;
	if (bpf_map_delete_elem(&processes, &tgid))
		return 0;
	share_untake(&processes_of[share & (USER_SHARES - 1)], &n_processes);
	return 1;
}

/*
 * target_inherit() - adds an entry of `targets` for a new process: a copy of its parent's wish
 * @uid, @flags: of the new process; PROCESS_GUARDED, or 0
 * Return: whether it has one; if not, but its parent has, this is a loss of its user
 */
VERIFIED_ALONE int target_inherit(__u32 tgid, __u32 child_tgid, __u32 uid, __u32 flags)
{
	const struct target_entry *parent = bpf_map_lookup_elem(&targets, &tgid);
	struct target_entry *there, fresh = {};
	__u32 *n_own;

	if (!parent)
		return 0;
	there = bpf_map_lookup_elem(&targets, &child_tgid);
	if (there) { /* the daemon was first */
		there->wish = parent->wish;
		return 1;
	}
	fresh.wish = parent->wish;
	fresh.share = share_taker(uid, flags);
	n_own = &targets_of[fresh.share & (USER_SHARES - 1)];
	if (share_take(n_own, &n_targets, PROCESSES_MAX)) {
		if (bpf_map_update_elem(&targets, &child_tgid, &fresh, BPF_NOEXIST) == 0)
			return 1;
		share_untake(n_own, &n_targets);
		if (bpf_map_lookup_elem(&targets, &child_tgid))
			return 1;
	}
	slot_lose(uid);
	return 0;
}

VERIFIED_ALONE int target_remove(__u32 tgid)
{
	const struct target_entry *target = bpf_map_lookup_elem(&targets, &tgid);
	__u32 share;

	if (!target)
		return 0;
	share = target->share;
	if (bpf_map_delete_elem(&targets, &tgid) == 0)
		share_untake(&targets_of[share & (USER_SHARES - 1)], &n_targets);
	return 0;
}

/*
 * share_take_life() - whether there is room for another record of a user on the ring `life`; if so, the record is
 * counted, else its loss
 * @flags: LIFE_GUARDED, or 0
 * @is_kept: the record has room whatever its user's share
 * Return: share of the record, 1 + its index; 0: no room
 */
VERIFIED_ALONE __u32 share_take_life(__u32 uid, __u32 flags, __u32 is_kept)
{
	__u32 own = share_claim(uid) & (USER_SHARES - 1), *n_own;
	__u32 share = share_user_now(uid, flags) == SHARE_TOGETHER ? SHARE_OF_TOGETHER : own;

	n_own = &lives_of[share];
	if (!is_kept && !share_has_room(*n_own, n_lives, LIVES_MAX)) {
		__sync_fetch_and_add(&losses_of[own].lives, 1);
		return 0;
	}
	__sync_fetch_and_add(n_own, 1);
	__sync_fetch_and_add(&n_lives, 1);
	return share + 1;
}

/* There is no record after all: the ring is full. */
VERIFIED_ALONE int share_lose_life(__u32 uid, __u32 share)
{
	share_untake(&lives_of[(share - 1) & (USER_SHARES - 1)], &n_lives);
	__sync_fetch_and_add(&losses_of[share_claim(uid) & (USER_SHARES - 1)].lives, 1);
	return 0;
}

static const struct waker_state waker_none = {};

/*
 * Adds an entry for a thread, of the user of the process in that slot. Return: NULL: no room, which is counted as a
 * loss
 */
static __always_inline struct waker_state *waker_add(__u32 tid, __u32 slot)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct waker_state *w;
	__u32 share, *n_own;

	if (!s)
		return NULL;
	share = share_index(slot, s);
	n_own = &wakers_of[share];
	if (!share_has_room(*n_own, n_wakers, WAKERS_MAX)) {
		__sync_fetch_and_add(&share_losses_of(slot)->wakers, 1);
		return NULL;
	}
	if (bpf_map_update_elem(&wakers, &tid, &waker_none, BPF_NOEXIST)) {
		counter_add(LOSS_WAKERS, 1);
		return NULL;
	}
	__sync_fetch_and_add(n_own, 1);
	__sync_fetch_and_add(&n_wakers, 1);
	__sync_fetch_and_add(waker_mark(tid), 1);
	w = bpf_map_lookup_elem(&wakers, &tid);
	if (!w)
		return NULL;
	w->share = share;
	return w;
}

/* Removes the entry of a thread, if it has one. */
VERIFIED_ALONE int waker_remove(__u32 tid)
{
	const struct waker_state *w = bpf_map_lookup_elem(&wakers, &tid);
	__u32 share;

	if (!w)
		return 0;
	share = w->share;
	if (bpf_map_delete_elem(&wakers, &tid))
		return 0;
	share_untake(&wakers_of[share & (USER_SHARES - 1)], &n_wakers);
	__sync_fetch_and_add(waker_mark(tid), -1);
	return 0;
}
