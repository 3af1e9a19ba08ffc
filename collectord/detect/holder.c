// SPDX-License-Identifier: Apache-2.0
#include "detect/holder.h"

#include "base/cleanup.h"
#include "figures/wait_chain.h"

/* Guess: a thread waits on one futex of a condition variable at most this many times for once on the other one. */
#define TURNS_RATIO_MOST 4

static const struct account *account_of(const struct detector_view *view, uint32_t tid)
{
	for (size_t i = 0; i < view->n_accounts && tid; i++)
		if (view->accounts[i].tid == tid)
			return &view->accounts[i];
	return NULL;
}

/* Time in which a thread works, or would if it had a CPU; a call may wait for the device, which works for it. */
static uint64_t works_ns(const struct account *account)
{
	struct driving d;

	driving_of(account, &d);
	return d.calls_ns + d.between_ns[BLAME_ON_CPU] + d.between_ns[BLAME_RUNNABLE] + d.between_ns[BLAME_QUOTA];
}

/*
 * Time in which a thread with calls gets nothing done: it sleeps, or waits for a disk or for memory. What else it waits
 * for may be its next work.
 */
static uint64_t stands_ns(const struct account *account)
{
	struct driving d;

	driving_of(account, &d);
	return d.between_ns[BLAME_SLEEP] + d.between_ns[BLAME_BLOCK_IO] + d.between_ns[BLAME_MEMORY];
}

bool holder_waits(const struct detector_view *view, uint32_t tid)
{
	const struct account *account = account_of(view, tid);
	uint64_t all_ns = 0, worked_ns = 0;

	for (size_t i = 0; i < view->n_waits; i++) {
		const struct account_wait *w = &view->waits[i];

		if (w->tid != tid || !w->is_meanwhile)
			continue;
		all_ns += account_wait_whole_ns(w);
		if (w->class == BLAME_ON_CPU || w->class == BLAME_RUNNABLE || w->class == BLAME_QUOTA)
			worked_ns += account_wait_whole_ns(w);
	}
	if (!all_ns && account) {
		all_ns = account->wall_ns;
		worked_ns = works_ns(account);
	}
	return !wait_is_most(worked_ns, all_ns);
}

bool holder_stands(const struct detector_view *view, uint32_t tid, uint64_t *ns)
{
	const struct account *account = account_of(view, tid);
	uint64_t stood_ns = account ? stands_ns(account) : *ns;

	if (!wait_is_most(stood_ns, *ns))
		return false;
	*ns = MIN(*ns, stood_ns);
	return true;
}

/* The futex beside it in the same 8 bytes. The words of a mutex or of a semaphore on which threads wait are the first.
 */
static uint64_t futex_beside(uint64_t futex)
{
	return futex ^ sizeof(uint32_t);
}

static uint64_t futex_count(const struct detector_view *view, const struct account_wait *w, uint64_t futex)
{
	for (size_t i = 0; i < FUTEXES_MAX; i++) {
		const struct futex_waits *f = &view->futexes[i];

		if (f->futex == futex && f->tid == w->tid && f->waker_tid == w->waker_tid &&
		    f->is_meanwhile == w->is_meanwhile)
			return f->count;
	}
	return 0;
}

static bool is_condition(const struct detector_view *view, const struct account_wait *w)
{
	uint64_t n = 0, beside = 0;

	if (w->kind == RESOURCE_FUTEX && w->resource) {
		n = futex_count(view, w, w->resource);
		beside = futex_count(view, w, futex_beside(w->resource));
	}
	return n && beside && MAX(n, beside) <= TURNS_RATIO_MOST * MIN(n, beside);
}

bool holder_paces(const struct detector_view *view, const struct account_wait *w)
{
	return is_condition(view, w) && holder_waits(view, w->waker_tid);
}
