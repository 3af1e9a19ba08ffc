// SPDX-License-Identifier: Apache-2.0
#include "procs/loop_time.h"

#include "base/cleanup.h"

uint32_t loop_time_user(const struct loop_times *times, uint32_t uid)
{
	return subordinate_has(&times->together, uid) ? times->together.first : uid;
}

/* Index of the user's entry; their number: the user took none lately. */
static size_t user_index(const struct loop_times *times, uint32_t uid)
{
	size_t i = 0;

	uid = loop_time_user(times, uid);
	while (i < times->items.n && times->items.items[i].uid != uid)
		i++;
	return i;
}

uint64_t loop_time_ahead_ns(const struct loop_times *times, uint32_t uid, enum loop_use use, uint64_t now_ns)
{
	size_t i = user_index(times, uid);
	uint64_t until_ns = i < times->items.n ? times->items.items[i].until_ns[use] : 0;

	return until_ns > now_ns ? until_ns - now_ns : 0;
}

void loop_time_take(struct loop_times *times, uint32_t uid, enum loop_use use, uint64_t spent_ns, uint64_t most_ns,
		    uint64_t now_ns)
{
	const struct loop_user fresh = { .uid = loop_time_user(times, uid) };
	size_t i = user_index(times, uid);
	uint64_t *until_ns;

	if (i == times->items.n && ARRAY_PUSH(&times->items, fresh) < 0)
		return; /* without memory it is not counted */
	until_ns = times->items.items[i].until_ns;
	for (size_t k = use; k < LOOP_USE_COUNT; k++)
		until_ns[k] =
			MAX(until_ns[k], MIN(MAX(until_ns[k], now_ns) + LOOP_TIME_PART * spent_ns, now_ns + most_ns));
}

void loop_times_forget(struct loop_times *times, uint64_t now_ns)
{
	for (size_t i = times->items.n; i-- > 0;)
		if (times->items.items[i].until_ns[LOOP_REQUESTS] <= now_ns &&
		    times->items.items[i].until_ns[LOOP_STACKS] <= now_ns)
			ARRAY_REMOVE_SWAP(&times->items, i);
}

void loop_times_done(struct loop_times *times)
{
	ARRAY_DONE(&times->items);
}
