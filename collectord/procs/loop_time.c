// SPDX-License-Identifier: Apache-2.0
#include "stacks/user_time.h"

#include "base/cleanup.h"

uint32_t user_times_share(const struct user_times *times, uint32_t uid)
{
	return subordinate_has(&times->together, uid) ? times->together.first : uid;
}

/* Return: NULL: the user took none lately */
static struct user_time *user_time_find(struct user_times *times, uint32_t uid)
{
	uid = user_times_share(times, uid);
	for (size_t i = 0; i < times->items.n; i++)
		if (times->items.items[i].uid == uid)
			return &times->items.items[i];
	return NULL;
}

bool user_time_is_left(struct user_times *times, uint32_t uid, uint64_t now_ns)
{
	const struct user_time *time = user_time_find(times, uid);

	return !time || time->paid_until_ns < now_ns + USER_TIME_PART * USER_TIME_MOST_NS;
}

void user_time_add(struct user_times *times, uint32_t uid, uint64_t ns, uint64_t now_ns)
{
	struct user_time *time = user_time_find(times, uid);
	const struct user_time fresh = { .uid = user_times_share(times, uid) };

	if (!time && ARRAY_PUSH(&times->items, fresh) < 0)
		return; /* without memory it is not counted */
	time = time ? time : &times->items.items[times->items.n - 1];
	time->paid_until_ns = MAX(time->paid_until_ns, now_ns) + USER_TIME_PART * ns;
}

void user_times_second(struct user_times *times, uint64_t now_ns)
{
	for (size_t i = times->items.n; i-- > 0;)
		if (times->items.items[i].paid_until_ns <= now_ns)
			ARRAY_REMOVE_SWAP(&times->items, i);
}

void user_times_done(struct user_times *times)
{
	ARRAY_DONE(&times->items);
}
