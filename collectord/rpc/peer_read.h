// SPDX-License-Identifier: Apache-2.0
/* Data of a client: bytes to frames, frames to calls, within the rate and the time of its user. */
#pragma once

#include <stdbool.h>

#include "rpc/peer.h"

/** peer_may_read() - whether the next frame may be handled: not while ending, paused, or with a full queue */
bool peer_may_read(const struct peer *peer);
/**
 * peer_read() - read once and handle the frames. A connection keeps only the bytes of an incomplete frame: everything
 * else is read into a shared buffer.
 * Return: 0, -errno, -ENODATA at the end, or -EPROTO when descriptors came
 */
int peer_read(struct peer *peer);
/** peer_read_kept() - handle the kept bytes, once the peer may be read from again */
void peer_read_kept(struct peer *peer);
