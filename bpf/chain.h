// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chains of wakers: what a thread did while another thread waited for it. Example: "main waits for loader 4720, which
 * reads /data/train.bin".
 *
 * A thread that ended a long wait of a thread that makes calls becomes a waker: from then on its own waits are noted
 * (map `wakers`). When the waker next ends a long wait, its activity since that wait began is counted in rows of
 * `waits` (is_meanwhile) that sum to that wait: its waits of 1 ms and more by cause, shorter waits by class, its time
 * ready to run, and the rest on the CPU. A thread that ends a long wait of a waker becomes a waker, too, up to
 * WAIT_HOPS_MOST steps from the thread that makes calls.
 *
 * The rows belong to the process whose thread waited. Only threads that the user of that process may inspect become
 * wakers, so no user learns what another user's thread waits for.
 */
#pragma once

#include "credentials.h"
#include "shares.h"
#include "waits.h"

#define WAKER_HOP_S 5 /* a waker keeps its distance (hop) to the thread that makes calls for this long */
#define SHARE_BITS 10 /* fixed-point share: 1.0 is 1 << SHARE_BITS */

static __always_inline void waker_short_add(struct waker_state *w, __u64 class, __u64 ns)
{
	keep(class);
	if (class < BLAME_COUNT)
		w->short_ns[class] += ns;
}

static __always_inline bool is_same_cause(const struct thread_wait *a, const struct thread_wait *b)
{
	return a->resource == b->resource && a->device == b->device && a->kind == b->kind &&
	       a->waker_tid == b->waker_tid;
}

/*
 * Adds the wait that just ended, w->now, to the entry of its cause. A new cause replaces the entry with the least time.
 */
VERIFIED_ALONE int waker_wait_add(struct waker_state *w, __u64 now_ns)
{
	struct waker_wait *place;
	__u64 least_ns = ~0ull;
	__u32 at = 0, i;

	if (!w)
		return 0;
	for (i = 0; i < WAKER_WAITS; i++) {
		place = &w->waits[i];
		if (place->ns && place->class == w->class && is_same_cause(&place->cause, &w->now)) {
			at = i;
			break;
		}
		if (place->ns < least_ns) {
			least_ns = place->ns;
			at = i;
		}
	}
	place = &w->waits[at & (WAKER_WAITS - 1)];
	if (i == WAKER_WAITS) {
		waker_short_add(w, place->class, place->ns);
		place->cause = w->now;
		place->class = w->class;
		place->from_ns = w->out_ns;
		place->ns = 0;
	}
	place->ns += now_ns - w->out_ns;
	place->to_ns = now_ns;
	return 0;
}

/* Of the current thread, for process w->tgid. @i: index of the cause in w->waits; WAKER_WAITS: only the class is known
 */
VERIFIED_ALONE int meanwhile_row(struct waker_state *w, __u32 slot, __u32 class, __u32 i, __u64 ns)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct wait_value *value;
	const struct thread_wait *cause;
	struct wait_key key = {};
	bool is_known = i < WAKER_WAITS;

	if (!w || !ns)
		return 0;
	cause = &w->waits[i & (WAKER_WAITS - 1)].cause;
	key.tid = waker->pid;
	key.slot = slot;
	key.class = class;
	key.is_meanwhile = 1;
	if (is_known)
		wait_key_cause(&key, cause);
	value = wait_row(&key, w->tgid);
	if (!value)
		return 0;
	if (is_known)
		wait_row_cause(value, cause, waker->tgid);
	wait_row_add(value, ns);
	return 0;
}

/*
 * Counts what the current thread, a waker, did since another thread, of process w->tgid, began to wait for it.
 * @run_delay: of its sched_info, now
 */
VERIFIED_ALONE int meanwhile_count(struct waker_state *w, __u32 slot, __u64 from_ns, __u64 run_delay)
{
	__u64 now_ns = bpf_ktime_get_ns(), span_ns, left_ns, share, ns;
	__u32 i;

	if (!w)
		return 0;
	span_ns = now_ns - w->since_ns;
	if (from_ns < w->since_ns)
		from_ns = w->since_ns;
	left_ns = now_ns - from_ns;
	/* Times known only as sums are scaled by the part of the span in which the other thread waited. */
	share = left_ns < span_ns && span_ns ? (left_ns << SHARE_BITS) / span_ns : 1 << SHARE_BITS;
	_Pragma("clang loop unroll(full)") for (i = 0; i < WAKER_WAITS; i++)
	{
		const struct waker_wait *wait = &w->waits[i];
		__u64 begin_ns = wait->from_ns > from_ns ? wait->from_ns : from_ns;

		if (!wait->ns || wait->to_ns <= begin_ns)
			continue;
		ns = wait->ns < wait->to_ns - begin_ns ? wait->ns : wait->to_ns - begin_ns;
		ns = ns < left_ns ? ns : left_ns;
		left_ns -= ns;
		meanwhile_row(w, slot, wait->class, i, ns);
	}
	w->short_ns[BLAME_RUNNABLE] = run_delay - w->run_delay;
	/* Linux 6.1 refuses a loop whose last branch the compiler moved to its top. */
	_Pragma("clang loop unroll(full)") for (i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
	{
		ns = (w->short_ns[i] >> SHARE_BITS) * share;
		ns = ns < left_ns ? ns : left_ns;
		left_ns -= ns;
		meanwhile_row(w, slot, i, WAKER_WAITS, ns);
	}
	meanwhile_row(w, slot, BLAME_ON_CPU, WAKER_WAITS, left_ns);
	return 0;
}

/* Clears the notes: the waker's activity is noted from now on. */
static __always_inline void waker_begin(struct waker_state *w, const struct task_struct *waker)
{
	__u32 i;

	w->since_ns = bpf_ktime_get_ns();
	w->last_s = w->since_ns / NS_IN_SECOND;
	w->run_delay = waker->sched_info.run_delay;
	for (i = 0; i < BLAME_COUNT; i++)
		w->short_ns[i] = 0;
	for (i = 0; i < WAKER_WAITS; i++)
		w->waits[i].ns = 0;
}

/* Whether the thread belongs to the user of the process in that slot, and that user may inspect it. */
static __always_inline bool may_be_waker(struct task_struct *waker, __u32 slot, __u32 tgid)
{
	const struct process_slot *s = bpf_map_lookup_elem(&slots, &slot);
	const struct cred *cred = waker->real_cred;

	if (!s || s->state != PROCESS_SLOT_LIVE || s->tgid != tgid || !cred || cred->uid.val != s->uid)
		return false;
	return credentials_are_own(waker);
}

/*
 * chain_serve() - the current thread has ended a long wait
 * @slot, @tgid: the process whose thread waited, directly or through other wakers
 * @from_ns: start of the wait
 * @hop: 1: a thread that makes calls waited; 2: a waker of such a thread waited; ...
 */
VERIFIED_ALONE int chain_serve(__u32 slot, __u32 tgid, __u64 from_ns, __u32 hop)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, waker, 0, 0);
	const struct cred *cred = waker->real_cred;
	__u32 tid = waker->pid;
	struct waker_state *w;

	/* A thread that makes calls is no waker: its waits are counted in its own rows. */
	if (hop > WAIT_HOPS_MOST || !slot || slot >= CALIBRATION_SLOT || waker->flags & PF_EXITING || t)
		return 0;
	if (!cred || !may_be_waker(waker, slot, tgid))
		return 0;
	w = bpf_map_lookup_elem(&wakers, &tid);
	if (w) {
		/*
		 * A waker that sends a request to the next one in the chain ends a wait of that one, too; nobody waited
		 * for that.
		 */
		if (hop > w->hop && bpf_ktime_get_ns() / NS_IN_SECOND <= w->last_s + WAKER_HOP_S)
			return 0;
		w->tgid = tgid;
		meanwhile_count(w, slot, from_ns, waker->sched_info.run_delay);
		w->hop = hop;
	} else {
		w = waker_add(tid, slot);
		if (!w)
			return 0;
		w->hop = hop;
	}
	w->slot = slot;
	w->tgid = tgid;
	waker_begin(w, waker);
	return 0;
}
