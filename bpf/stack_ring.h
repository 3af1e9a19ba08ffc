// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ring of stacks and code objects, and the room that a user has on it: unread records of one take three quarters of
 * it at most.
 */
#pragma once

#include "shares.h"
#include "stack_record.h"

#define STACK_RING_BYTES (8u << 20)
#define STACK_COPIES_BYTES (STACK_RING_BYTES / 2)
#define STACK_SHARE_BYTES (STACK_RING_BYTES / 4 * 3)
#define STACK_WAKE_BYTES (STACK_RING_BYTES / 8) /* of unread stacks: the daemon is woken, once */

SHARED struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STACK_RING_BYTES);
} stacks SEC(".maps");

SHARED struct ring_budget stack_budgets[USER_SHARES] = {}; /* by share of the user */
SHARED __u32 stacks_woken = 0;				   /* the daemon was woken and has not emptied the ring yet */

/* Takes from a budget of this ring, as ring_budget_take(). */
static __always_inline bool stack_budget_take(struct ring_budget *budget, __u64 n_bytes, __u64 n_most)
{
	__u64 consumed = bpf_ringbuf_query(&stacks, BPF_RB_CONS_POS);
	__u64 produced = bpf_ringbuf_query(&stacks, BPF_RB_PROD_POS);

	return ring_budget_take(budget, consumed, produced, n_bytes, n_most);
}

/* @is_urgent: the daemon is woken at once */
static __always_inline __u64 stacks_wake_flags(bool is_urgent)
{
	if (is_urgent)
		return BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) < STACK_WAKE_BYTES) {
		if (stacks_woken)
			stacks_woken = 0;
	} else if (!stacks_woken) {
		stacks_woken = 1;
		return BPF_RB_FORCE_WAKEUP;
	}
	return BPF_RB_NO_WAKEUP;
}

/* Whether the user of a slot has room for a record of n bytes; it is taken then. */
static __always_inline bool stacks_have_room(__u32 idx, __u64 n)
{
	const struct process_slot *slot = bpf_map_lookup_elem(&slots, &idx);

	return slot && stack_budget_take(&stack_budgets[share_index(idx, slot)], n, STACK_SHARE_BYTES);
}
