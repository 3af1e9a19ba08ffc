// SPDX-License-Identifier: Apache-2.0
/*
 * Who asked for what to be captured, and their union in the kernel.
 *
 * A lease is one caller's wish. What it names is added to the kernel's filter when it
 * is taken and removed when it ends, unless another lease names it too. Children of a
 * named process belong to the lease as well: the kernel half follows them by itself,
 * the lease hears of them by lease_set_fork().
 *
 * A lease has process ids and no entries of the process table: it names a process before
 * the entry is made, which happens when the first call or the figures are read, and that
 * may be after the exit of the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/probe_set.h"

struct lease;
struct lease_set;

struct lease_wish {
	const uint32_t *pids;
	size_t n_pids;
	const uint32_t *uids;
	size_t n_uids;
	bool all;
	struct process_wish each; /* of each process; WISH_HOLD: of those named by their id */
};

/** process_wish_of() - @sample_every: besides, one call in N of each thread; 0: none */
static inline struct process_wish process_wish_of(bool records, bool every_call, uint32_t sample_every)
{
	if (!records)
		return (struct process_wish){ .flags = WISH_TRACED };
	return (struct process_wish){ .flags = WISH_TRACED | WISH_RECORDS | (every_call ? WISH_EVERY_CALL : 0),
				      .sample_every = sample_every };
}

int lease_set_new(struct probe_set *probes, struct lease_set **ret_leases);
void lease_set_free(struct lease_set *leases);
/** lease_set_watch() - be told after each lease that is taken or ends */
void lease_set_watch(struct lease_set *leases, void (*func)(void *data), void *data);
size_t lease_set_count(const struct lease_set *leases);

/** lease_add() - Return: 0, or -errno with the kernel's filter as before */
int lease_add(struct lease_set *leases, const struct lease_wish *wish, struct lease **ret_lease);
/** lease_hold_end() - the lease goes on, and has nobody stopped any more */
void lease_hold_end(struct lease_set *leases, struct lease *lease);
/** lease_remove() - NULL is fine */
void lease_remove(struct lease_set *leases, struct lease *lease);
/**
 * lease_covers() - whether a process is among what the lease named
 * @start_boot_ns: tells a process that is gone from a later one with its number; 0: either
 */
bool lease_covers(const struct lease *lease, uint32_t tgid, uint32_t uid, uint64_t start_boot_ns);
/** lease_set_covers() - whether any lease covers a process that is alive; @uid: UINT32_MAX: nobody's by its owner */
bool lease_set_covers(const struct lease_set *leases, uint32_t tgid, uint32_t uid);
/** lease_set_is_by_owner() - whether any lease covers more than processes that it names: then an owner matters */
bool lease_set_is_by_owner(const struct lease_set *leases);
/** lease_names_owners() - whether it covers processes by their owner, but not everybody's */
bool lease_names_owners(const struct lease *lease);
/** lease_is_over() - whether it named processes and nothing else, and they and their children are all gone */
bool lease_is_over(const struct lease *lease);
/** lease_holds() - whether the lease had a process held while its libraries are attached */
bool lease_holds(const struct lease *lease, uint32_t tgid);
/** lease_follow() - a process that descends from a named one belongs to the lease. Return: 0 or -errno */
int lease_follow(struct lease_set *leases, struct lease *lease, uint32_t tgid);

/** lease_set_fork() - a process has a child: it belongs to every lease that named its parent */
void lease_set_fork(struct lease_set *leases, uint32_t parent, uint32_t child);
/** lease_set_exit() - a process is gone: it stays covered, a later one with its number is not */
void lease_set_exit(struct lease_set *leases, uint32_t tgid, uint64_t start_boot_ns);
