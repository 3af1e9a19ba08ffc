// SPDX-License-Identifier: Apache-2.0
#include "archive/write/life_share.h"

#include "base/cleanup.h"

static struct life_share *life_share_of(struct life_shares *shares, uint32_t uid, uint64_t now_ns)
{
	struct life_share fresh = { .uid = uid, .left = LIFE_SHARE_MOST, .filled_ns = now_ns };

	for (size_t i = 0; i < shares->items.n; i++)
		if (shares->items.items[i].uid == uid)
			return &shares->items.items[i];
	return ARRAY_PUSH(&shares->items, fresh) < 0 ? NULL : &shares->items.items[shares->items.n - 1];
}

bool life_share_take(struct life_shares *shares, uint32_t uid, uint64_t now_ns)
{
	const uint64_t one_ns = NSEC_PER_SEC / LIFE_SHARE_PER_S;
	uint32_t whose = subordinate_has(&shares->together, uid) ? shares->together.first : uid;
	struct life_share *share = life_share_of(shares, whose, now_ns);
	uint64_t n;

	if (!share)
		return false;
	n = now_ns > share->filled_ns ? (now_ns - share->filled_ns) / one_ns : 0;
	share->left = (uint32_t)MIN(n + share->left, LIFE_SHARE_MOST);
	share->filled_ns += n * one_ns;
	if (!share->left)
		return false;
	share->left--;
	return true;
}
