// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Adds to the account of a thread: calls and waits between calls, each when it ends.
 *
 * Only the thread itself writes its account. `changes` is a sequence counter for readers on other CPUs: an odd half
 * means a change in progress, another value means a change since. Programs for returns of calls use the lower half and
 * need no atomic add; all other programs, which may interrupt them, add to the upper half.
 */
#pragma once

#include "maps.h"
#include "shares.h"

#define ACCOUNT_CHANGE 0x10000u
#define ACCOUNT_CHANGING 0x10001u /* bits that are set during a change */

/* Called before and after a change by a call. */
static __always_inline void account_calls_change(struct thread_state *t)
{
	__u16 *calls = (__u16 *)&t->account.changes; /* the lower half: all supported machines are little endian */

	barrier();
	WRITE_ONCE(*calls, *calls + 1);
	barrier();
}

/* Called before and after any other change. */
static __always_inline void account_change(struct thread_state *t)
{
	__sync_fetch_and_add(&t->account.changes, ACCOUNT_CHANGE);
}

VERIFIED_ALONE int account_blame(struct account_op *place, const struct call_frame *f)
{
	__u32 i;

	if (!place || !f)
		return 0;
	for (i = 1; i < BLAME_COUNT; i++)
		place->blame_ns[i] += f->blame_ns[i];
	return 0;
}

/*
 * Finds the place of an operation that is not at its first place. Return: its index, or ACCOUNT_OPS if other operations
 * have all places
 */
VERIFIED_ALONE __u32 account_place(struct thread_state *t, __u32 op)
{
	__u32 at, i;

	if (!t)
		return ACCOUNT_OPS;
	for (i = 0; i < ACCOUNT_TRIES; i++) {
		at = (op + i) & (ACCOUNT_OPS - 1);
		if (!t->account.ops[at].op)
			t->account.ops[at].op = op;
		if (t->account.ops[at].op == op)
			return at;
	}
	return ACCOUNT_OPS;
}

VERIFIED_ALONE int account_call_elsewhere(struct thread_state *t, const struct call_frame *f, __u64 raw_ns)
{
	struct account_op *place;
	__u32 at;

	if (!t || !f)
		return 0;
	at = account_place(t, f->op);
	place = at < ACCOUNT_OPS ? &t->account.ops[at & (ACCOUNT_OPS - 1)] : &t->account.rest;
	place->ns += raw_ns;
	if (f->is_dirty)
		account_blame(place, f);
	return 0;
}

/* A call at depth 0 has ended. Called between two account_calls_change(). */
static __always_inline void account_call(struct thread_state *t, const struct call_frame *f, __u32 op, __u64 raw_ns)
{
	struct account_op *place = &t->account.ops[op & (ACCOUNT_OPS - 1)];

	t->account.calls++;
	if (place->op != op) {
		account_call_elsewhere(t, f, raw_ns);
		return;
	}
	place->ns += raw_ns;
	if (f->is_dirty)
		account_blame(place, f);
}

/* Adds time off the CPU between calls. Called between two account_change(). */
static __always_inline void account_away(struct thread_state *t, __u64 class, __u64 ns)
{
	keep(class);
	if (ns && class < BLAME_COUNT)
		__sync_fetch_and_add(&t->account.away_ns[class], ns);
}

/* Starts the account, or restarts it, from now on. */
VERIFIED_ALONE int account_begin(struct thread_state *t, __u64 runtime_ns)
{
	__u64 *words;
	__u32 i;

	if (!t)
		return 0;
	account_change(t);
	words = (__u64 *)&t->account;
	for (i = 0; i < OFFSET_OF(struct thread_account, changes) / sizeof(*words); i++)
		WRITE_ONCE(words[i], 0);
	t->account.since_ns = t->slot == CALIBRATION_SLOT ? 0 : bpf_ktime_get_ns();
	t->account.since_runtime_ns = runtime_ns;
	account_change(t);
	return 0;
}

/* Marks an account that is not written yet: `changes` of the record and of its account differ. */
SHARED const volatile struct account_record account_blank = { .changes = 1 };

/* The account is complete: the thread ends, or executes another program. */
VERIFIED_ALONE int account_end(struct thread_state *t, __u64 runtime_ns)
{
	struct account_key key = {};
	struct account_record *r;
	__u32 share;

	if (!t || !t->account.since_ns)
		return 0;
	key.tid = t->tid;
	key.slot = t->slot;
	share = share_take_account(key.slot);
	if (share >= USER_SHARES)
		return 0;
	if (bpf_map_update_elem(&accounts_ended, &key, (const void *)&account_blank, BPF_NOEXIST)) {
		share_give_account(share);
		counter_add(LOSS_ACCOUNTS, 1);
		return 0;
	}
	r = bpf_map_lookup_elem(&accounts_ended, &key);
	if (!r)
		return 0;
	r->now_ns = bpf_ktime_get_ns();
	r->runtime_ns = runtime_ns;
	r->tgid = t->tgid;
	r->tid = t->tid;
	r->slot = t->slot;
	r->share = share;
	__builtin_memcpy(r->comm, t->comm, sizeof(r->comm));
	bpf_probe_read_kernel(&r->account, sizeof(r->account), &t->account);
	barrier();
	WRITE_ONCE(r->changes, r->account.changes);
	return 0;
}
