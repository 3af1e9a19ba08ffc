// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ring of calls, waits and paths, and the room that a user has on it.
 *
 * While less than a quarter of the ring is unread, records are counted for nobody, and cost what the wake-up needs
 * anyway. What comes beyond that counts for its user, who may have SHARE_OF_FREE times as much of it as is free. So one
 * user takes 13 sixteenths of the ring at most, and the next one finds room. A user who is the only one with processes
 * that make calls has all of it (lone_share).
 */
#pragma once

#include "shares.h"

SHARED struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} calls SEC(".maps");

/* By share of the user: what came while more than a quarter was unread. */
SHARED struct ring_budget call_budgets[USER_SHARES] = {};
SHARED __u32 calls_woken = 0; /* the daemon was woken and has not emptied the ring yet */

/* Unread bytes, for the next two. */
static __always_inline __u64 calls_unread(void)
{
	return bpf_ringbuf_query(&calls, BPF_RB_AVAIL_DATA);
}

VERIFIED_ALONE int calls_share_take(__u32 slot, __u32 n_bytes)
{
	__u64 consumed = bpf_ringbuf_query(&calls, BPF_RB_CONS_POS);
	__u64 produced = bpf_ringbuf_query(&calls, BPF_RB_PROD_POS);
	__u64 unread = produced - consumed, size = 4 * ring_wake_bytes;
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);
	__u32 lone = READ_ONCE(lone_share);

	if (!s || unread > size)
		return 0;
	if (lone != SHARE_REST && lone == share_of_losses(slot))
		return 1;
	return ring_budget_take(&call_budgets[share_index(slot, s)], consumed, produced, n_bytes + BPF_RINGBUF_HDR_SZ,
				SHARE_OF_FREE * (size - unread));
}

/* Whether the user of a slot has room for a record of n bytes; it is taken then. */
static __always_inline bool calls_have_room(__u64 unread, __u32 slot, __u32 n_bytes)
{
	return unread < ring_wake_bytes || calls_share_take(slot, n_bytes);
}

/* A record found no room in the share of its user, or on the ring. */
static __always_inline int calls_lost(__u32 slot)
{
	__sync_fetch_and_add(&share_losses_of(slot)->calls, 1);
	return 0;
}

/*
 * The daemon reads the ring by a timer; a ring that fills faster wakes it, once per fill. Return: flags with which to
 * submit
 */
static __always_inline __u64 calls_wake_flags(__u64 unread)
{
	if (unread < ring_wake_bytes) {
		if (calls_woken)
			calls_woken = 0;
	} else if (!calls_woken) {
		calls_woken = 1;
		return BPF_RB_FORCE_WAKEUP;
	}
	return BPF_RB_NO_WAKEUP;
}
