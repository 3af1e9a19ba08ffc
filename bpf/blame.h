// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Splits a thread's time off the CPU by class of blame. The split is made late: at the thread's next switch-out, or
 * when its call returns. The time off the CPU is last arrival - switch-out; the growth of run_delay in that time was
 * spent ready, the rest blocked. Switch-in events are not needed, so a lost one does no harm.
 */
#pragma once

#include "abi.h"
#include "account.h"
#include "off.h"
#include "repeat.h"
#include "shares.h"
#include "waits.h"

#define BEHIND_SINGLY (BEHIND_ROWS_MAX / 4 * 3) /* places of rows of one process; the others are for sums */
#define BEHIND_FLOOR_NS 10000			/* shorter waits are not attributed: a wake-up alone takes this long */
#define SETTLE_TRIES 4

static __always_inline __u64 rq_clock(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = task->se.cfs_rq;
	struct rq *rq;

	if (!cfs_rq)
		return 0;
	rq = cfs_rq->rq;
	return rq ? rq->clock : 0;
}

struct behind_walk {
	__u64 next;  /* index of the next entry to examine, plus 1 */
	__u64 until; /* time after this is already attributed */
	__u64 from;  /* start of the wait */
	__u32 slot;
	__u32 is_between; /* 1: the wait was between calls */
	__u32 is_short;	  /* some time has no row: no room */
	__u32 pad;
};

static const struct behind_value behind_none = {};

/* Row for a key; NULL: the share of the slot's user is full. @n_most: places that such rows may take */
static __always_inline struct behind_value *behind_row(const struct behind_key *key, __u32 slot, __u32 n_most)
{
	struct behind_value *value = bpf_map_lookup_elem(&behind, key);

	if (value)
		return value;
	if (!share_take_behind(slot, n_most))
		return NULL;
	(void)bpf_map_update_elem(&behind, key, &behind_none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&behind, key);
}

/* Adds time to the row of a process, without room for it to the sum of its user. Return: 0; 1: no room for that either
 */
static __always_inline int behind_count(struct behind_key *key, const struct ran_entry *entry, __u64 ns)
{
	struct behind_value *value = behind_row(key, key->slot, BEHIND_SINGLY);

	if (!value) {
		key->is_sum = 1;
		key->tgid = share_user_now(entry->uid, 0);
		value = behind_row(key, key->slot, BEHIND_ROWS_MAX);
	}
	if (!value)
		return 1;
	__sync_fetch_and_add(&value->ns, ns);
	value->reading = behind_reading;
	if (key->is_sum) {
		value->uid = key->tgid;
		return 0;
	}
	/*
	 * The newest name and owner of this process id: before exec(2) the process had its parent's name, and an
	 * earlier process may have had the same id. They are written together, since the owner decides which users see
	 * the name.
	 */
	value->uid = entry->uid;
	value->is_guarded = entry->is_guarded;
	__builtin_memcpy(value->comm, entry->comm, sizeof(value->comm));
	return 0;
}

/* Return: 1 when the wait is attributed as far as the ring goes. */
VERIFIED_ALONE int behind_charge(struct behind_walk *walk)
{
	struct behind_key key = {};
	struct ran_entry *entry;
	__u64 begin, ns, *hidden_ns;
	__u32 at;

	if (!walk || !walk->next)
		return 1;
	walk->next--;
	at = walk->next & (ran_entries - 1);
	entry = bpf_map_lookup_elem(&ran, &at);
	if (!entry)
		return 1;
	begin = entry->clock;
	if (begin >= walk->until)
		return 0; /* the thread's own arrival */
	if (begin < walk->from)
		begin = walk->from;
	ns = walk->until - begin;
	walk->until = begin;
	key.slot = walk->slot;
	key.is_between = walk->is_between;
	key.tgid = entry->tgid;
	if (!key.tgid)
		return begin <= walk->from;
	hidden_ns = bpf_map_lookup_elem(&tracers, &key.tgid);
	if (hidden_ns)
		__sync_fetch_and_add(hidden_ns, ns);
	else if (behind_count(&key, entry, ns))
		walk->is_short = 1;
	return begin <= walk->from;
}

static long behind_step(__u32 i, struct behind_walk *walk)
{
	(void)i;
	return behind_charge(walk) ? 1 : 0;
}

/* The ring has every switch-in up to now: while the thread runs, no other task is switched in on its CPU. */
VERIFIED_ALONE int behind_add(__u32 slot, __u64 from, __u64 until, __u32 is_between)
{
	struct behind_walk walk = { .until = until, .from = from, .slot = slot, .is_between = is_between };
	__u32 zero = 0;
	const struct ran_head *head;

	head = bpf_map_lookup_elem(&ran_head, &zero);
	if (!head)
		return 0;
	walk.next = head->n;
	repeat(ran_entries, RAN_ENTRIES_MAX, behind_step, &walk);
	/*
	 * A ring that was never full has lost no entry: what is missing then ran before the hook was attached, which is
	 * no loss.
	 */
	if (walk.until > walk.from && head->n > ran_entries)
		counter_add(LOSS_BEHIND, 1);
	else if (walk.is_short)
		__sync_fetch_and_add(&share_losses_of(slot)->behind, 1);
	return 0;
}

/* An interval off the CPU that has ended. */
struct off_interval {
	__u64 out_ns; /* when it began */
	__u64 ready_ns, blocked_ns;
	__u32 ready; /* enum blame_class of ready_ns; `blocked`: of blocked_ns */
	__u32 blocked;
};

VERIFIED_ALONE int frame_blame(struct call_frame *f, const struct off_interval *off)
{
	__u32 ready, blocked;

	if (!f || !off)
		return 0;
	ready = READ_ONCE(off->ready);
	blocked = READ_ONCE(off->blocked);
	barrier(); /* the checked values must be the ones used */
	if (ready >= BLAME_COUNT || blocked >= BLAME_COUNT)
		return 0;
	/* The interval began before the call, or while its frame was being opened. */
	if (!f->start_ns || f->start_ns > off->out_ns)
		return 0;
	if (off->ready_ns)
		__sync_fetch_and_add(&f->blame_ns[ready], off->ready_ns);
	if (off->blocked_ns)
		__sync_fetch_and_add(&f->blame_ns[blocked], off->blocked_ns);
	f->is_dirty = 1;
	return 0;
}

/*
 * settle() - add the interval noted at the last switch-out to the blame of the open frames
 * @arrival, @delay: last_arrival and run_delay of the thread's sched_info, now
 * @end_ns: end of the innermost call if it is returning now, else 0; intervals that began later are not added to it
 */
VERIFIED_ALONE int settle(struct thread_state *t, __u64 arrival, __u64 delay, __u64 end_ns)
{
	__u64 out = 0, run_delay = 0;
	struct off_interval off = {};
	struct off_parts parts;
	__u32 class = 0, depth, i;
	bool is_between;

	if (!t)
		return 0;
	depth = t->depth;
	for (i = 0; i < SETTLE_TRIES; i++) {
		out = READ_ONCE(t->out_clock);
		if (!out)
			return 0;
		run_delay = READ_ONCE(t->out_run_delay);
		off.out_ns = READ_ONCE(t->out_ns);
		class = READ_ONCE(t->out_class);
		account_change(t);
		/* Only the program that takes the clock settles; the hook may have settled the interval since. */
		if (__sync_val_compare_and_swap(&t->out_clock, out, 0) == out)
			break;
		account_change(t);
	}
	if (i == SETTLE_TRIES)
		return 0;
	if (arrival <= out) {
		account_change(t);
		return 0; /* the thread never left: it was switched to itself */
	}
	parts = off_split(arrival - out, delay - run_delay, class);
	off.ready_ns = parts.runnable_ns;
	off.blocked_ns = parts.blocked_ns;
	off.ready = class == BLAME_QUOTA ? BLAME_QUOTA : BLAME_RUNNABLE;
	off.blocked = class;
	if (end_ns && off.out_ns > end_ns)
		depth--;
	for (i = 0; i < CALL_DEPTH_MAX; i++)
		if (i < depth)
			frame_blame(&t->frames[i], &off);
	/* The interval began before the outermost call, or after its end: it is between calls. */
	is_between = !depth || READ_ONCE(t->frames[0].start_ns) - 1 >= off.out_ns;
	if (is_between) {
		account_away(t, off.ready, off.ready_ns);
		account_away(t, off.blocked, off.blocked_ns);
	}
	account_change(t);
	if (off.ready == BLAME_RUNNABLE && off.ready_ns >= BEHIND_FLOOR_NS)
		behind_add(t->slot, arrival - off.ready_ns, arrival, is_between);
	wait_end(t, is_between ? 0 : t->frames[0].op, off.blocked,
		 off.blocked == BLAME_QUOTA ? off.ready_ns : off.blocked_ns);
	return 0;
}
