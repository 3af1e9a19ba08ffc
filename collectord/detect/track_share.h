// SPDX-License-Identifier: Apache-2.0
/*
 * How many tracks each user's processes have. A user may have at most TRACK_SHARE_OF_FREE times as many as are free, so
 * that findings of others find room; subordinate user ids have one share together.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "procs/subordinate.h"

#define TRACKS_OF_ALL_MAX 4096 /* a track has 8 KiB */
#define TRACK_SHARE_OF_FREE 3

struct track_shares;

/* Of one user; borrowed by each of its tracks. */
struct track_share {
	struct track_shares *all;
	uint32_t uid;
	size_t n;
};

/* Zeroed memory has no users. */
struct track_shares {
	struct subordinate together;
	size_t n; /* tracks of all users */
	ARRAY(struct track_share *) items;
};

/** track_share_take() - one more track of a user. Return: NULL: the share is used up, or there is no memory */
struct track_share *track_share_take(struct track_shares *shares, uint32_t uid);
/** track_share_give() - one fewer; the share is freed with the last. NULL is allowed */
void track_share_give(struct track_share *share);
/** track_shares_done() - all tracks have been given back */
void track_shares_done(struct track_shares *shares);
