// SPDX-License-Identifier: Apache-2.0
#include "rpc/room.h"

#include "rpc/peer.h"

static bool is_idle(const struct peer *peer)
{
	return LIST_EMPTY(&peer->calls);
}

static bool may_go(const struct peer *peer, uint32_t uid, unsigned int n_held)
{
	if (peer->peer_uid == 0 || peer->is_in_turn)
		return false;
	if (!n_held)
		return true;
	return is_idle(peer) && (peer->peer_uid == uid || quota_connections(peer->quota_user) > n_held);
}

/*
 * @b: older than a The age of a busy connection does not count: a client with many uids could otherwise end the traces
 * of all users.
 */
static bool goes_first(const struct peer *b, const struct peer *a)
{
	unsigned int held_a = quota_connections(a->quota_user), held_b = quota_connections(b->quota_user);

	if (held_a != held_b)
		return held_b > held_a;
	if (!is_idle(b))
		return false;
	return !is_idle(a) || b->asked_ns <= a->asked_ns;
}

struct peer *room_find(struct peer *first, uint32_t uid, unsigned int n_held)
{
	struct peer *found = NULL;

	for (struct peer *peer = first; peer; peer = LIST_NEXT(peer, link)) {
		if (may_go(peer, uid, n_held) && (!found || goes_first(peer, found)))
			found = peer;
	}
	return found;
}
