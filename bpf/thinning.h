// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls that do not become records, to keep the daemon's own CPU time within its limit: of users with many records a
 * part is kept, at random (collectord/probes/thinning.h). They are counted like all others. The first calls that fail
 * in each second are kept, since the daemon knows a failure from its record alone.
 */
#pragma once

#include "shares.h"

SHARED __u32 is_thinning = 0;		    /* some part is set; set by the daemon, as the parts are */
SHARED __u32 keep_of[USER_SHARES] = {};	    /* by share of the user: part that is kept, of 2^32; 0: all */
SHARED __u32 left_out_of[USER_SHARES] = {}; /* calls that were left out, by share of the user */
/*
 * Failed calls that were kept all the same, by slot, and by share: many processes keep no more than a user may. Second
 * of CLOCK_MONOTONIC << 32 | how many in it.
 */
SHARED __u64 failures_of_slot[PROCESS_SLOTS] = {}, failures_of_share[USER_SHARES] = {};

#define FAILURES_OF_PROCESS 64 /* in a second */
#define FAILURES_OF_USER 1024

/* Whether another one is kept. CPUs that ask at the same moment may exceed it by one each. */
static __always_inline bool failure_is_among(__u64 *kept, __u32 second, __u32 most)
{
	if (READ_ONCE(*kept) >> 32 != second)
		WRITE_ONCE(*kept, (__u64)second << 32);
	if ((__u32)READ_ONCE(*kept) >= most)
		return false;
	__sync_fetch_and_add(kept, 1);
	return true;
}

static __always_inline bool failure_is_kept(__u32 slot, __u32 share)
{
	__u32 second = (__u32)(bpf_ktime_get_ns() / 1000000000);

	return failure_is_among(&failures_of_slot[slot & (PROCESS_SLOTS - 1)], second, FAILURES_OF_PROCESS) &&
	       failure_is_among(&failures_of_share[share & (USER_SHARES - 1)], second, FAILURES_OF_USER);
}

/* Whether a call of the process in a slot may become a record, for these reasons. If not, that is counted. */
VERIFIED_ALONE int call_is_kept(__u32 slot, __u32 reason)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);
	__u32 share, part;

	if (!s)
		return 1;
	share = share_index(slot, s);
	part = READ_ONCE(keep_of[share]);
	if (!part || bpf_get_prandom_u32() < part)
		return 1;
	if ((reason & RECORD_REASON_ERROR) && failure_is_kept(slot, share))
		return 1;
	__sync_fetch_and_add(&left_out_of[share], 1);
	__sync_fetch_and_add(&share_losses_of(slot)->thinned, 1);
	return 0;
}
