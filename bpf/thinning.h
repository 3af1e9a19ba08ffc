// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls that do not become records, to keep the daemon's own CPU time within its limit: of users with many records a
 * part is kept, at random (collectord/probes/thinning.h). They are counted like all others.
 */
#pragma once

#include "shares.h"

SHARED __u32 is_thinning = 0;		    /* some part is set; set by the daemon, as the parts are */
SHARED __u32 keep_of[USER_SHARES] = {};	    /* by share of the user: part that is kept, of 2^32; 0: all */
SHARED __u32 left_out_of[USER_SHARES] = {}; /* calls that were left out, by share of the user */

/* Whether a call of the process in a slot may become a record. If not, that is counted. */
VERIFIED_ALONE int call_is_kept(__u32 slot)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);
	__u32 share, part;

	if (!s)
		return 1;
	share = share_index(slot, s);
	part = READ_ONCE(keep_of[share]);
	if (!part || bpf_get_prandom_u32() < part)
		return 1;
	__sync_fetch_and_add(&left_out_of[share], 1);
	__sync_fetch_and_add(&share_losses_of(slot)->thinned, 1);
	return 0;
}
