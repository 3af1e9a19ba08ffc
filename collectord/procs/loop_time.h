// SPDX-License-Identifier: Apache-2.0
/*
 * Time of the loop that new stacks of each user take: a quarter of it, as for requests (rpc/). Subordinate user ids
 * have one share together. Zeroed memory has no users.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "procs/subordinate.h"

#define USER_TIME_MOST_NS                                                                                              \
	500000000ull	 /* that a user may take at once; guess: the start of a large program takes less */
#define USER_TIME_PART 4 /* one of so many nanoseconds is the user's */

struct user_time {
	uint32_t uid;
	uint64_t paid_until_ns; /* each nanosecond that was taken advances it by USER_TIME_PART */
};
struct user_times {
	struct subordinate together;
	ARRAY(struct user_time) items;
};

/** user_times_share() - the user id that stands for all which share with this one */
uint32_t user_times_share(const struct user_times *times, uint32_t uid);
/** user_time_is_left() - whether the user may take more. @now_ns: monotonic, as the next */
bool user_time_is_left(struct user_times *times, uint32_t uid, uint64_t now_ns);
/** user_time_add() - the user took some time */
void user_time_add(struct user_times *times, uint32_t uid, uint64_t ns, uint64_t now_ns);
/** user_times_second() - forget users who took none lately */
void user_times_second(struct user_times *times, uint64_t now_ns);
void user_times_done(struct user_times *times);
