// SPDX-License-Identifier: Apache-2.0
#include "detect/track_share.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"

static struct track_share *track_share_of(const struct track_shares *shares, uint32_t uid)
{
	for (size_t i = 0; i < shares->items.n; i++)
		if (shares->items.items[i]->uid == uid)
			return shares->items.items[i];
	return NULL;
}

static struct track_share *track_share_new(struct track_shares *shares, uint32_t uid)
{
	struct track_share *share = calloc(1, sizeof(*share));

	if (!share)
		return NULL;
	share->all = shares;
	share->uid = uid;
	if (ARRAY_PUSH(&shares->items, share) < 0) {
		free(share);
		return NULL;
	}
	return share;
}

struct track_share *track_share_take(struct track_shares *shares, uint32_t uid)
{
	uint32_t whose = subordinate_has(&shares->together, uid) ? shares->together.first : uid;
	struct track_share *share = track_share_of(shares, whose);

	if ((share ? share->n : 0) >= TRACK_SHARE_OF_FREE * (TRACKS_OF_ALL_MAX - shares->n))
		return NULL;
	if (!share)
		share = track_share_new(shares, whose);
	if (!share)
		return NULL;
	share->n++;
	shares->n++;
	return share;
}

void track_share_give(struct track_share *share)
{
	struct track_shares *shares;

	if (!share)
		return;
	shares = share->all;
	shares->n--;
	if (--share->n)
		return;
	for (size_t i = 0; i < shares->items.n; i++)
		if (shares->items.items[i] == share) {
			ARRAY_REMOVE_SWAP(&shares->items, i);
			break;
		}
	free(share);
}

void track_shares_done(struct track_shares *shares)
{
	assert(!shares->items.n);
	ARRAY_DONE(&shares->items);
}
