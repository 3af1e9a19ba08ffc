// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whose share of a map an entry takes, and whether there is room in it: the same for the kernel half (shares.h) and the
 * daemon.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#include <stdbool.h>
#endif

/*
 * Shares of users (shares.h), a power of two. The first ones are taken: by users for whom none is left, and by those
 * that have one share together.
 */
#define USER_SHARES 1024
enum user_share { SHARE_REST, SHARE_OF_TOGETHER, SHARES_FIRST };

/* So many subordinate ids have a share, for their own losses; those of further ones are counted for the machine. */
#define SHARES_SUBORDINATE (USER_SHARES / 4)

/* User ids that have one share together: subordinate ones, of which a user has thousands. n 0: none */
struct share_range {
	__u32 first, n;
};
#define SHARE_TOGETHER 0xffffffffu /* (uid_t)-1, which no process has */

/*
 * A flag of a slot. By the rule of ptrace(2) only root may inspect the process, not its user: other ids, more
 * capabilities, or not dumpable. A process stays guarded until its next exec.
 */
#define PROCESS_GUARDED 0x1u

/*
 * share_user() - user whose share an entry takes
 * @flags: of the slot of its process. A guarded process belongs to no user: all of them have that one share, too
 */
static inline __u32 share_user(__u32 uid, __u32 flags, __u32 first, __u32 n)
{
	return (flags & PROCESS_GUARDED) || uid - first < n ? SHARE_TOGETHER : uid;
}

#define SHARE_OF_FREE 3 /* a user may have so many times as many entries as are free */

/*
 * share_has_room() - whether a user may have another entry (shares.h)
 * @n_own, @n_used: entries of the user, and of all
 * @n_most: entries that there may be
 */
static inline bool share_has_room(__u32 n_own, __u32 n_used, __u32 n_most)
{
	return n_used < n_most && n_own < SHARE_OF_FREE * (n_most - n_used);
}

/*
 * What found no room in the share of its user, or on a ring; paths and stacks that were not sent, for any reason; calls
 * that were left out (thinning.h); waits between calls, and page allocations and reclaims, without a cell.
 */
struct share_losses {
	__u64 waits, wakers, accounts, lives, paths, behind, stacks, calls, thinned, slots, cells, switches, memory;
	__u32 uid;     /* whose share it is */
	__u32 is_used; /* by that user */
};
