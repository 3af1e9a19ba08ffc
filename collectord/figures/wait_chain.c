// SPDX-License-Identifier: Apache-2.0
#include "figures/wait_chain.h"

#include "base/cleanup.h"

/* Same class of blame and resource, and ended by the same thread. */
static bool is_same_way(const struct account_wait *a, const struct account_wait *b)
{
	return a->class == b->class && a->kind == b->kind && a->waker_tid == b->waker_tid;
}

/* Short waits for a disk, whose file is not known, are taken for what the long ones are. */
static bool is_taken_for(const struct account_wait *wait, const struct account_wait *way)
{
	return wait->class == BLAME_BLOCK_IO && wait->class == way->class && !wait->kind && way->kind;
}

/* @ret_known_ns: without the short waits that are only taken for it */
static uint64_t way_ns(const struct account_wait *waits, size_t n, const struct account_wait *way,
		       uint64_t *ret_known_ns)
{
	uint64_t known_ns = 0, taken_ns = 0;

	for (size_t i = 0; i < n; i++) {
		if (waits[i].tid != way->tid || waits[i].is_meanwhile != way->is_meanwhile)
			continue;
		if (is_same_way(&waits[i], way))
			known_ns += waits[i].ns;
		else if (is_taken_for(&waits[i], way))
			taken_ns += waits[i].ns;
	}
	*ret_known_ns = known_ns;
	return known_ns + taken_ns;
}

bool wait_has_meanwhile(const struct account_wait *waits, size_t n, uint32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (waits[i].tid == tid && waits[i].is_meanwhile)
			return true;
	return false;
}

/* Find what the hop's thread did longest. @wait_ns: how long another thread waited for it */
static void hop_did(const struct account_wait *waits, size_t n, uint64_t wait_ns, struct wait_hop *hop)
{
	uint32_t tid = hop->ended->waker_tid;
	uint64_t all_ns = 0, most_ns = 0, named_ns = 0;
	bool is_known = wait_has_meanwhile(waits, n, tid);

	for (size_t i = 0; i < n; i++) {
		const struct account_wait *w = &waits[i];
		uint64_t ns, known_ns;

		if (w->tid != tid || w->is_meanwhile != is_known)
			continue;
		all_ns += w->ns;
		ns = way_ns(waits, n, w, &known_ns);
		if (ns < most_ns || (ns == most_ns && hop->did && w->ns <= hop->did->ns))
			continue;
		most_ns = ns;
		named_ns = known_ns;
		hop->did = w;
	}
	/* For a thread with an account @waits has only its longer waits: the rest of the time it computed. */
	if (!is_known)
		all_ns = MAX(all_ns, hop->ended->ns);
	if (!is_known && !wait_is_most(most_ns, hop->ended->ns))
		hop->did = NULL;
	if (!hop->did)
		return;
	hop->ns = (uint64_t)((double)wait_ns * ((double)most_ns / (double)all_ns));
	hop->is_one = hop->did->ns >= named_ns / 2;
}

static bool was_there(const struct account_wait *wait, const struct wait_hop *hops, size_t n, uint32_t tid)
{
	bool found = wait->tid == tid;

	for (size_t i = 0; i < n; i++)
		found = found || hops[i].ended->waker_tid == tid;
	return found;
}

size_t wait_chain(const struct account_wait *waits, size_t n, const struct account_wait *wait,
		  struct wait_hop ret[WAIT_HOPS_MOST])
{
	const struct account_wait *ended = wait;
	uint64_t ns = wait->ns;
	size_t n_hops = 0;

	/* The holder of the GIL computes: the chain ends there. */
	while (ended && n_hops < WAIT_HOPS_MOST && ended->waker_tid && ended->kind != RESOURCE_GIL &&
	       !was_there(wait, ret, n_hops, ended->waker_tid)) {
		struct wait_hop *hop = &ret[n_hops++];

		*hop = (struct wait_hop){ .ended = ended };
		hop_did(waits, n, ns, hop);
		ended = hop->did;
		ns = hop->ns;
	}
	return n_hops;
}
