// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Places where threads wait between calls, and how often waits there were long lately: the stack of a wait is taken
 * when it begins (wait_stack.h), before it is known how long it will last.
 *
 * A place is known by a hash of the process and of the thread's registers in the system call. Those of several places
 * may get into each other's way in the table, which costs a stack at most.
 */
#pragma once

#include "maps.h"

#define WAIT_PLACE_BITS 12
#define WAIT_PLACE_TRIES 7ull /* in an entry: so many short waits in a row until it is one of short waits */

SHARED __u64 wait_places[1 << WAIT_PLACE_BITS] = {};

static __always_inline __u64 *wait_place_entry(__u64 place)
{
	place >>= 64 - WAIT_PLACE_BITS;
	keep(place);
	return &wait_places[place & ((1 << WAIT_PLACE_BITS) - 1)];
}

/* Whether the entry is that of a place. */
static __always_inline bool wait_place_is(__u64 entry, __u64 place)
{
	return (entry & ~WAIT_PLACE_TRIES) == place;
}

/* The wait at t->away_place has ended. Waits for the GIL that are kept back go on (waits.h). */
static __always_inline void wait_place_note(struct thread_state *t, __u64 ns)
{
	__u64 place = t->away_place, entry = READ_ONCE(*wait_place_entry(place));

	if (ns >= WAIT_LEAST_NS || t->wait.carried_ns)
		entry = place | WAIT_PLACE_TRIES;
	else if (!wait_place_is(entry, place))
		entry = place;
	else if (entry & WAIT_PLACE_TRIES)
		entry--;
	WRITE_ONCE(*wait_place_entry(place), entry);
	t->away_place = 0;
	t->away_stack = 0;
}
