// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to capture, and their union in the kernel.
 *
 * A lease is the wish of one caller. The processes and users that it names are added to the kernel's filter when it is
 * taken, and removed when it ends, unless another lease names them too. Children of a named process belong to the lease
 * as well: the kernel half follows them by itself, the lease gets them by lease_set_fork().
 *
 * A lease holds process ids, not entries of the process table: it names a process before its entry exists. The entry is
 * made when the first call or the figures are read, possibly after the exit of the process.
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
	bool without_stacks;	  /* records have no stacks */
	struct process_wish each; /* wish for each process; WISH_HOLD only for processes named by their id */
};

/** process_wish_of() - make a wish. @sample_every: one more call in N of each thread; 0: none */
static inline struct process_wish process_wish_of(bool records, bool every_call, uint32_t sample_every)
{
	if (!records)
		return (struct process_wish){ .flags = WISH_TRACED };
	return (struct process_wish){ .flags = WISH_TRACED | WISH_RECORDS | (every_call ? WISH_EVERY_CALL : 0),
				      .sample_every = sample_every };
}

int lease_set_new(struct probe_set *probes, struct lease_set **ret_leases);
void lease_set_free(struct lease_set *leases);
/** lease_set_watch() - set a function that is called after a lease was taken or ended */
void lease_set_watch(struct lease_set *leases, void (*func)(void *data), void *data);
size_t lease_set_count(const struct lease_set *leases);

/** lease_add() - take a lease. Return: 0, or -errno with the kernel's filter unchanged */
int lease_add(struct lease_set *leases, const struct lease_wish *wish, struct lease **ret_lease);
/**
 * lease_hold_end() - stop no more processes for this lease, which continues
 * Return: whether a program of the kernel half that runs now may still stop one: after a grace period the ring has the
 * records of all processes that were stopped
 */
bool lease_hold_end(struct lease_set *leases, struct lease *lease);
/** lease_remove() - end a lease; NULL is allowed */
void lease_remove(struct lease_set *leases, struct lease *lease);
/**
 * lease_covers() - whether the lease covers a process
 * @start_boot_ns: distinguishes a gone process from a later one with its pid; 0: either
 */
bool lease_covers(const struct lease *lease, uint32_t tgid, uint32_t uid, uint64_t start_boot_ns);
/** lease_set_covers() - whether any lease covers a running process; @uid: its owner; UINT32_MAX: covered by no owner */
bool lease_set_covers(const struct lease_set *leases, uint32_t tgid, uint32_t uid);
/** lease_set_is_by_owner() - whether any lease covers processes other than those it names: then owners must be read */
bool lease_set_is_by_owner(const struct lease_set *leases);
/** lease_names_owners() - whether it covers processes by owner, but not those of all owners */
bool lease_names_owners(const struct lease *lease);
/** lease_is_over() - whether it named only processes, and all of them and their children are gone */
bool lease_is_over(const struct lease *lease);
/** lease_holds() - whether the lease asked to hold this process while its libraries are attached */
bool lease_holds(const struct lease *lease, uint32_t tgid);
/** lease_follow() - add a descendant of a named process to the lease. Return: 0 or -errno */
int lease_follow(struct lease_set *leases, struct lease *lease, uint32_t tgid);

/** lease_set_fork() - a process was forked: add the child to every lease that covers its parent */
void lease_set_fork(struct lease_set *leases, uint32_t parent, uint32_t child);
/** lease_set_exit() - a process is gone: it stays covered, but a later one with its pid is not */
void lease_set_exit(struct lease_set *leases, uint32_t tgid, uint64_t start_boot_ns);
/** lease_set_look() - note the named processes that are gone: records of their ends may have been lost. Return: how
 * many */
size_t lease_set_look(struct lease_set *leases);
