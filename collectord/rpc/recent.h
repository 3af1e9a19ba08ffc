// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of the last seconds, for one Trace call: copies are kept at steps, and the youngest copy that is old enough
 * is subtracted from the current figures.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "rpc/since.h"

#define RECENT_MAX_NS (60 * NSEC_PER_SEC)
#define RECENT_STEPS 8 /* five in the span, the one before it, and room for late ones */

struct recent {
	uint64_t span_ns;		  /* 0: no copies are kept */
	struct since steps[RECENT_STEPS]; /* the oldest first */
	size_t n;
};

void recent_done(struct recent *recent);
/**
 * recent_since() - figures span_ns ago, by the nearest copy
 * @start: figures at the start of the call, used while the call is younger
 * Return: borrowed; NULL without copies
 */
const struct since *recent_since(const struct recent *recent, const struct since *start, uint64_t now_ns);
/**
 * recent_step() - keep a copy, if the last step is old enough; drop copies that are no longer needed
 * @has_room: false: no copy is kept, and answers cover a longer time, from the nearest copy that is left
 * Return: 0 or -ENOMEM
 */
int recent_step(struct recent *recent, const struct rpc_context *context, const struct call_identity *identity,
		bool has_room);
/** recent_bytes() - memory that the copies hold */
size_t recent_bytes(const struct recent *recent);
