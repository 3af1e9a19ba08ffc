// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "lease"
#include "probes/lease.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "base/array.h"
#include "base/log.h"

/* Gone processes that a lease still covers, at most; the oldest are forgotten, with their figures. */
#define LEASE_GONE_MAX 16384

struct gone_process {
	uint64_t start_boot_ns;
	uint32_t tgid;
};

struct lease {
	ARRAY(uint32_t) pids; /* running processes that the lease names, and their descendants */
	ARRAY(struct gone_process) gone;
	size_t gone_next; /* once the list is full: index of the oldest entry */
	ARRAY(uint32_t) uids;
	struct process_wish each;
	bool all;
	bool may_hold; /* processes may be held for it; false once its end began */
};

struct lease_set {
	struct probe_set *probes;
	ARRAY(struct lease *) leases;
	void (*on_change)(void *data);
	void *data;
};

static void lease_free(struct lease *lease)
{
	if (!lease)
		return;
	ARRAY_DONE(&lease->pids);
	ARRAY_DONE(&lease->uids);
	ARRAY_DONE(&lease->gone);
	free(lease);
}

static void lease_freep(struct lease **lease)
{
	lease_free(*lease);
}

int lease_set_new(struct probe_set *probes, struct lease_set **ret_leases)
{
	struct lease_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->probes = probes;
	*ret_leases = set;
	return 0;
}

void lease_set_free(struct lease_set *set)
{
	if (!set)
		return;
	assert(!set->leases.n);
	ARRAY_DONE(&set->leases);
	free(set);
}

size_t lease_set_count(const struct lease_set *set)
{
	return set->leases.n;
}

static bool list_has(const uint32_t *items, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (items[i] == value)
			return true;
	return false;
}

static bool names_pid(const struct lease *lease, uint32_t tgid)
{
	return list_has(lease->pids.items, lease->pids.n, tgid);
}

static bool names_uid(const struct lease *lease, uint32_t uid)
{
	return list_has(lease->uids.items, lease->uids.n, uid);
}

static bool named_gone(const struct lease *lease, uint32_t tgid, uint64_t start_boot_ns)
{
	for (size_t i = 0; i < lease->gone.n; i++)
		if (lease->gone.items[i].tgid == tgid &&
		    (!start_boot_ns || lease->gone.items[i].start_boot_ns == start_boot_ns))
			return true;
	return false;
}

bool lease_covers(const struct lease *lease, uint32_t tgid, uint32_t uid, uint64_t start_boot_ns)
{
	return lease->all || names_uid(lease, uid) || names_pid(lease, tgid) || named_gone(lease, tgid, start_boot_ns);
}

bool lease_set_covers(const struct lease_set *set, uint32_t tgid, uint32_t uid)
{
	for (size_t i = 0; i < set->leases.n; i++) {
		const struct lease *lease = set->leases.items[i];

		if (lease->all || names_uid(lease, uid) || names_pid(lease, tgid))
			return true;
	}
	return false;
}

bool lease_set_is_by_owner(const struct lease_set *set)
{
	for (size_t i = 0; i < set->leases.n; i++)
		if (set->leases.items[i]->all || set->leases.items[i]->uids.n)
			return true;
	return false;
}

bool lease_holds(const struct lease *lease, uint32_t tgid)
{
	return lease->may_hold && names_pid(lease, tgid);
}

/* Set the kernel's filter of a process that several leases may name: the union of their wishes. */

static int pid_apply(struct lease_set *set, uint32_t tgid)
{
	struct process_wish wish = {};

	for (size_t i = 0; i < set->leases.n; i++)
		if (names_pid(set->leases.items[i], tgid))
			process_wish_add(&wish, &set->leases.items[i]->each);
	return wish.flags ? probe_set_target_add(set->probes, tgid, wish) : probe_set_target_remove(set->probes, tgid);
}

static int uid_apply(struct lease_set *set, uint32_t uid)
{
	struct process_wish wish = {};

	for (size_t i = 0; i < set->leases.n; i++)
		if (names_uid(set->leases.items[i], uid))
			process_wish_add(&wish, &set->leases.items[i]->each);
	return wish.flags ? probe_set_user_add(set->probes, uid, wish) : probe_set_user_remove(set->probes, uid);
}

static void everyone_apply(struct lease_set *set)
{
	struct process_wish wish = {};

	for (size_t i = 0; i < set->leases.n; i++)
		if (set->leases.items[i]->all)
			process_wish_add(&wish, &set->leases.items[i]->each);
	if (wish.flags)
		probe_set_everyone_add(set->probes, wish);
	else
		probe_set_everyone_remove(set->probes);
}

/* Children that the daemon does not know yet have copies of their parents' wishes; all copies name the guardian. */
static int guardian_apply(struct lease_set *set, uint32_t guardian)
{
	for (size_t i = 0; i < set->leases.n; i++) {
		const struct process_wish *each = &set->leases.items[i]->each;

		if (each->flags & WISH_HOLD && each->guardian == guardian)
			return probe_set_guardian_add(set->probes, guardian);
	}
	return probe_set_guardian_remove(set->probes, guardian);
}

/*
 * Apply the names of a lease that was added or removed. Return: 0, or the first error; the rest is applied nevertheless
 */
static int names_apply(struct lease_set *set, const struct lease *lease)
{
	int result = 0, r;

	for (size_t i = 0; i < lease->pids.n; i++) {
		r = pid_apply(set, lease->pids.items[i]);
		result = result < 0 ? result : r;
	}
	for (size_t i = 0; i < lease->uids.n; i++) {
		r = uid_apply(set, lease->uids.items[i]);
		result = result < 0 ? result : r;
	}
	if (lease->all)
		everyone_apply(set);
	r = lease->may_hold ? guardian_apply(set, lease->each.guardian) : 0;
	return result < 0 ? result : r;
}

void lease_set_watch(struct lease_set *set, void (*func)(void *data), void *data)
{
	set->on_change = func;
	set->data = data;
}

static void set_changed(struct lease_set *set)
{
	if (set->on_change)
		set->on_change(set->data);
}

static int names_copy(struct lease *lease, const struct lease_wish *wish)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < wish->n_pids; i++)
		if (!names_pid(lease, wish->pids[i]))
			r = ARRAY_PUSH(&lease->pids, wish->pids[i]);
	for (size_t i = 0; r == 0 && i < wish->n_uids; i++)
		if (!names_uid(lease, wish->uids[i]))
			r = ARRAY_PUSH(&lease->uids, wish->uids[i]);
	return r;
}

static void lease_withdraw(struct lease_set *set, const struct lease *lease)
{
	size_t i = 0;

	while (i < set->leases.n && set->leases.items[i] != lease)
		i++;
	assert(i < set->leases.n); /* else the lease was removed twice */
	ARRAY_REMOVE_SWAP(&set->leases, i);
	(void)names_apply(set, lease); /* a process may be gone already */
}

int lease_add(struct lease_set *set, const struct lease_wish *wish, struct lease **ret_lease)
{
	CLEANUP(lease_freep) struct lease *lease = calloc(1, sizeof(*lease));
	int r;

	if (!lease)
		return -ENOMEM;
	lease->all = wish->all;
	lease->each = wish->each;

	lease->each.flags |= WISH_TRACED;
	if (lease->each.flags & WISH_RECORDS && !wish->without_stacks)
		lease->each.flags |= WISH_STACKS;
	lease->may_hold = lease->each.flags & WISH_HOLD;

	r = names_copy(lease, wish);
	if (r == 0)
		r = ARRAY_PUSH(&set->leases, lease);
	if (r < 0)
		return r;
	r = names_apply(set, lease);
	if (r < 0) {
		lease_withdraw(set, lease);
		return r;
	}
	set_changed(set);
	*ret_lease = TAKE_PTR(lease);
	return 0;
}

bool lease_hold_end(struct lease_set *set, struct lease *lease)
{
	if (!(lease->each.flags & WISH_HOLD))
		return false;
	lease->each.flags &= ~WISH_HOLD;
	(void)names_apply(set, lease); /* a process may be gone already */
	return !lease_is_over(lease);
}

void lease_remove(struct lease_set *set, struct lease *lease)
{
	if (!lease)
		return;
	lease_withdraw(set, lease);
	set_changed(set);
	lease_free(lease);
}

int lease_follow(struct lease_set *set, struct lease *lease, uint32_t tgid)
{
	int r;

	if (names_pid(lease, tgid))
		return 0;
	r = ARRAY_PUSH(&lease->pids, tgid);
	if (r < 0)
		return r;
	return pid_apply(set, tgid);
}

void lease_set_fork(struct lease_set *set, uint32_t parent, uint32_t child)
{
	for (size_t i = 0; i < set->leases.n; i++) {
		struct lease *lease = set->leases.items[i];
		int r;

		if (!names_pid(lease, parent) || names_pid(lease, child))
			continue;
		r = ARRAY_PUSH(&lease->pids, child); /* the kernel half has added the child already */
		if (r < 0)
			(void)log_warning(r, "cannot follow process %u, its calls will be missing", child);
	}
}

bool lease_names_owners(const struct lease *lease)
{
	return lease->uids.n && !lease->all;
}

bool lease_is_over(const struct lease *lease)
{
	return !lease->all && lease->uids.n == 0 && lease->pids.n == 0;
}

static void gone_remember(struct lease *lease, uint32_t tgid, uint64_t start_boot_ns)
{
	struct gone_process gone = { .tgid = tgid, .start_boot_ns = start_boot_ns };

	if (lease->gone.n < LEASE_GONE_MAX) {
		int r = ARRAY_PUSH(&lease->gone, gone);

		if (r < 0)
			(void)log_warning(r, "cannot remember process %u, its figures will be missing", tgid);
		return;
	}
	lease->gone.items[lease->gone_next] = gone;
	lease->gone_next = (lease->gone_next + 1) % LEASE_GONE_MAX;
}

void lease_set_exit(struct lease_set *set, uint32_t tgid, uint64_t start_boot_ns)
{
	for (size_t i = 0; i < set->leases.n; i++) {
		struct lease *lease = set->leases.items[i];

		for (size_t k = 0; k < lease->pids.n; k++)
			if (lease->pids.items[k] == tgid) {
				ARRAY_REMOVE_SWAP(&lease->pids, k);
				gone_remember(lease, tgid, start_boot_ns);
				break;
			}
	}
	(void)probe_set_target_remove(set->probes, tgid); /* fails if the kernel half removed it at exit */
}

size_t lease_set_look(struct lease_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->leases.n; i++) {
		const struct lease *lease = set->leases.items[i];

		for (size_t k = lease->pids.n; k-- > 0;) {
			uint32_t tgid = lease->pids.items[k];

			if (kill((pid_t)tgid, 0) == 0 || errno != ESRCH)
				continue;
			lease_set_exit(set, tgid,
				       0); /* when it started is not known; the end of one that called is told */
			n++;
		}
	}
	return n;
}
