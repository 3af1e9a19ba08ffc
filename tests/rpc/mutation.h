// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that are almost right: what a stranger sends who knows the protocol and looks for gaps.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Of somebody else: what a caller would have to name to get at it. */
struct mutation_bait {
	uint32_t pid;
	uint32_t uid;
	const char *call_id;
	const char *name; /* the beginning of one */
};

/** mutation_seed() - the same seed, the same mutations */
void mutation_seed(uint64_t seed);
/** mutation_random() - 0…below-1 */
uint64_t mutation_random(uint64_t below);

/** mutation_message() - change a packed message: fields, their values, single bytes; some stay as they are */
void mutation_message(struct buf *message, const struct mutation_bait *bait);
/** mutation_frame() - change bytes of whole frames, so that nothing behind them makes sense */
void mutation_frame(struct buf *frames);
