// SPDX-License-Identifier: Apache-2.0
/*
 * How many processes without calls one user may have stored. Such a process costs a row of table process and an event,
 * and a user can start thousands of them a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "procs/subordinate.h"

#define LIFE_SHARE_MOST 4096 /* stored at once: several builds or data loaders */
#define LIFE_SHARE_PER_S 4   /* in the long run: 1.5 MB an hour */

struct life_share {
	uint32_t uid;
	uint32_t left;
	uint64_t filled_ns; /* `left` is of this time */
};

struct life_shares {
	struct subordinate together; /* these have one share */
	ARRAY(struct life_share) items;
};

/** life_share_take() - room for one more process of a user. Return: whether there is room; false without memory */
bool life_share_take(struct life_shares *shares, uint32_t uid, uint64_t now_ns);
