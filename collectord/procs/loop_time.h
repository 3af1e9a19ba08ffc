// SPDX-License-Identifier: Apache-2.0
/*
 * Time of the loop that each user takes: for requests, and for new stacks of the user's programs. A user may take a
 * quarter of it for both together, and an amount at once. Requests come first: what stacks took does not delay them,
 * what they took is missing to stacks. Subordinate user ids have one share together. Zeroed memory has no users.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "procs/subordinate.h"

#define LOOP_TIME_PART 4 /* one of so many nanoseconds is the user's */

enum loop_use { LOOP_REQUESTS, LOOP_STACKS, LOOP_USE_COUNT };

struct loop_user {
	uint32_t uid;
	/* Each nanosecond that was taken advances it by LOOP_TIME_PART; requests advance both. CLOCK_MONOTONIC */
	uint64_t until_ns[LOOP_USE_COUNT];
};
struct loop_times {
	struct subordinate together;
	ARRAY(struct loop_user) items;
};

/** loop_time_user() - the user id that stands for all which share with this one */
uint32_t loop_time_user(const struct loop_times *times, uint32_t uid);
/**
 * loop_time_ahead_ns() - time until the user is within the quarter again; 0: now. @now_ns: monotonic, as below
 */
uint64_t loop_time_ahead_ns(const struct loop_times *times, uint32_t uid, enum loop_use use, uint64_t now_ns);
/**
 * loop_time_take() - the user took some time
 * @most_ns: it does not make loop_time_ahead_ns() longer than that
 */
void loop_time_take(struct loop_times *times, uint32_t uid, enum loop_use use, uint64_t spent_ns, uint64_t most_ns,
		    uint64_t now_ns);
/** loop_times_forget() - forget users who took none lately */
void loop_times_forget(struct loop_times *times, uint64_t now_ns);
void loop_times_done(struct loop_times *times);
