// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "lease"
#include "probes/lease.h"

#include <errno.h>

#include "base/array.h"
#include "base/log.h"

/* Processes that are gone and still covered, per lease; the oldest are forgotten, their figures are then too. */
#define LEASE_GONE_MAX 16384

struct gone_process {
	uint64_t start_boot_ns;
	uint32_t tgid;
};

struct lease {
	ARRAY(uint32_t) pids; /* named, and their descendants; alive */
	ARRAY(struct gone_process) gone;
	size_t gone_next; /* once full: the oldest */
	ARRAY(uint32_t) uids;
	struct probe_recording recording;
	bool all;
	bool hold;
};

struct lease_set {
	struct probe_set *probes;
	ARRAY(struct lease *) leases;
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
	for (size_t i = 0; i < set->leases.n; i++)
		lease_free(set->leases.items[i]);
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

bool lease_holds(const struct lease *lease, uint32_t tgid)
{
	return lease->hold && names_pid(lease, tgid);
}

/* The union of what the leases say of everybody at once. */
static void union_apply(struct lease_set *set)
{
	struct probe_recording recording = { .is_on = false };
	bool all = false;

	for (size_t i = 0; i < set->leases.n; i++) {
		const struct lease *lease = set->leases.items[i];
		const struct probe_recording *wish = &lease->recording;

		all |= lease->all;
		if (!wish->is_on)
			continue;
		recording.is_on = true;
		recording.all |= wish->all;
		if (wish->sample_every && (!recording.sample_every || wish->sample_every < recording.sample_every))
			recording.sample_every = wish->sample_every;
	}
	probe_set_trace_all(set->probes, all);
	probe_set_recording(set->probes, &recording);
}

/* Takes back what a lease named and no other does. The lease is no longer in the set. */
static void names_withdraw(struct lease_set *set, const struct lease *lease)
{
	for (size_t i = 0; i < lease->pids.n; i++) {
		bool is_named = false;

		for (size_t k = 0; k < set->leases.n; k++)
			is_named |= names_pid(set->leases.items[k], lease->pids.items[i]);
		if (!is_named)
			(void)probe_set_target_remove(set->probes, lease->pids.items[i]); /* may be gone already */
	}
	for (size_t i = 0; i < lease->uids.n; i++) {
		bool is_named = false;

		for (size_t k = 0; k < set->leases.n; k++)
			is_named |= names_uid(set->leases.items[k], lease->uids.items[i]);
		if (!is_named)
			(void)probe_set_user_remove(set->probes, lease->uids.items[i]);
	}
}

static int names_add(struct lease_set *set, struct lease *lease, const struct lease_wish *wish)
{
	int r;

	for (size_t i = 0; i < wish->n_pids; i++) {
		r = lease_follow(set, lease, wish->pids[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < wish->n_uids; i++) {
		r = ARRAY_PUSH(&lease->uids, wish->uids[i]);
		if (r < 0)
			return r;
		r = probe_set_user_add(set->probes, wish->uids[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int lease_add(struct lease_set *set, const struct lease_wish *wish, struct lease **ret_lease)
{
	CLEANUP(lease_freep) struct lease *lease = calloc(1, sizeof(*lease));
	int r;

	if (!lease)
		return -ENOMEM;
	lease->all = wish->all;
	lease->hold = wish->hold;
	lease->recording = wish->recording;

	r = names_add(set, lease, wish);
	if (r == 0)
		r = ARRAY_PUSH(&set->leases, lease);
	if (r < 0) {
		names_withdraw(set, lease);
		return r;
	}
	union_apply(set);
	*ret_lease = TAKE_PTR(lease);
	return 0;
}

void lease_remove(struct lease_set *set, struct lease *lease)
{
	if (!lease)
		return;
	for (size_t i = 0; i < set->leases.n; i++)
		if (set->leases.items[i] == lease)
			ARRAY_REMOVE_SWAP(&set->leases, i);
	names_withdraw(set, lease);
	union_apply(set);
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
	return probe_set_target_add(set->probes, tgid, lease->hold ? PROBE_TARGET_HOLD : 0);
}

void lease_set_fork(struct lease_set *set, uint32_t parent, uint32_t child)
{
	for (size_t i = 0; i < set->leases.n; i++) {
		struct lease *lease = set->leases.items[i];
		int r;

		if (!names_pid(lease, parent) || names_pid(lease, child))
			continue;
		r = ARRAY_PUSH(&lease->pids, child); /* the kernel half added it by itself */
		if (r < 0)
			(void)log_warning(r, "cannot follow process %u, its calls will be missing", child);
	}
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
	(void)probe_set_target_remove(set->probes, tgid); /* not there if the kernel half took it out at exit */
}
