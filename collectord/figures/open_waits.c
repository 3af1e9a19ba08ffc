// SPDX-License-Identifier: Apache-2.0
#include "figures/open_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SLOTS_LEAST 16

void open_waits_done(struct open_waits *w)
{
	ARRAY_DONE(&w->threads);
	free(w->slots);
	w->slots = NULL;
	w->n_slots = 0;
}

/* Place of a thread in the hash: its own, or the empty one where it belongs. */
static uint32_t *slot_of(struct open_waits *w, uint32_t tid)
{
	size_t at = tid * 2654435769u; /* 2^32 / the golden ratio: neighbours are spread */

	for (at ^= at >> 16;; at++) {
		uint32_t *slot = &w->slots[at & (w->n_slots - 1)];

		if (!*slot || w->threads.items[*slot - 1].tid == tid)
			return slot;
	}
}

static void slots_fill(struct open_waits *w)
{
	if (w->n_slots)
		memset(w->slots, 0, w->n_slots * sizeof(*w->slots));
	for (size_t i = 0; i < w->threads.n; i++)
		*slot_of(w, w->threads.items[i].tid) = (uint32_t)(i + 1);
}

static struct open_thread *thread_find(struct open_waits *w, uint32_t tid)
{
	uint32_t *slot = w->n_slots ? slot_of(w, tid) : NULL;

	return slot && *slot ? &w->threads.items[*slot - 1] : NULL;
}

/* Adds a thread that thread_find() does not find. */
static int thread_add(struct open_waits *w, const struct open_thread *t)
{
	size_t n = MAX(w->n_slots, SLOTS_LEAST / 2);
	uint32_t *slots;
	int r = ARRAY_PUSH(&w->threads, *t);

	if (r < 0)
		return r;
	if (w->threads.n * 2 <= w->n_slots) {
		*slot_of(w, t->tid) = (uint32_t)w->threads.n;
		return 0;
	}
	slots = reallocarray(w->slots, 2 * n, sizeof(*slots));
	if (!slots) {
		w->threads.n--;
		return -ENOMEM;
	}
	w->slots = slots;
	w->n_slots = 2 * n;
	slots_fill(w);
	return 0;
}

int open_waits_note(struct open_waits *w, const struct account_wait *wait, uint64_t since_ns, uint64_t reading,
		    struct account_wait **ret_wait)
{
	const struct open_wait fresh = { .wait = *wait, .since_ns = since_ns, .reading = reading };
	struct open_thread *t = thread_find(w, wait->tid);

	*ret_wait = NULL;
	if (!t) {
		int r = thread_add(w, &(struct open_thread){ .tid = wait->tid, .now = fresh });

		if (r < 0)
			return r;
		*ret_wait = &w->threads.items[w->threads.n - 1].now.wait;
		return 0;
	}
	if (t->now.since_ns && t->now.since_ns != since_ns) {
		t->over = t->now;
		t->now = fresh;
	} else if (!t->now.since_ns && t->over.since_ns == since_ns) {
		t->now = t->over; /* a reading had missed it */
		t->over.since_ns = 0;
	} else if (!t->now.since_ns) {
		t->now = fresh;
	} else if (!account_wait_is_same_resource(&t->now.wait, wait)) {
		return 0;
	}
	t->now.wait.ns = t->now.wait.max_ns = MAX(t->now.wait.ns, wait->ns);
	t->now.reading = reading;
	*ret_wait = &t->now.wait;
	return 0;
}

uint64_t open_waits_settle(struct open_waits *w, const struct account_wait *wait, uint64_t ns)
{
	struct open_thread *t = thread_find(w, wait->tid);
	struct open_wait *const both[] = { t ? &t->over : NULL, t ? &t->now : NULL };

	for (size_t i = 0; t && i < ARRAY_SIZE(both); i++) {
		struct open_wait *o = both[i];

		/* Both clocks agree within 1 %. */
		if (!o->since_ns || !account_wait_is_same_resource(&o->wait, wait) ||
		    ns < o->wait.ns - o->wait.ns / 100)
			continue;
		ns = MIN(o->told_ns, ns);
		o->since_ns = 0; /* the thread keeps its place until open_waits_end() */
		return ns;
	}
	return 0;
}

void open_waits_end(struct open_waits *w, uint64_t reading)
{
	size_t n = 0;

	for (size_t i = 0; i < w->threads.n; i++) {
		struct open_thread t = w->threads.items[i];

		if (t.now.since_ns && t.now.reading != reading) {
			t.over = t.now;
			t.now.since_ns = 0;
		}
		if (!t.over.told_ns)
			t.over.since_ns = 0; /* nothing to subtract */
		if (t.now.since_ns || t.over.since_ns)
			w->threads.items[n++] = t;
	}
	w->threads.n = n;
	slots_fill(w);
}

void open_waits_taken(struct open_waits *w)
{
	for (size_t i = 0; i < w->threads.n; i++)
		w->threads.items[i].now.told_ns = w->threads.items[i].now.wait.ns;
}
