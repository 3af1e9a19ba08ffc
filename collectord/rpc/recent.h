// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of the last while, for one Trace call: how things stood is remembered at steps, and the youngest that is old
 * enough is taken away from what is there now.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "rpc/since.h"

#define RECENT_MAX_NS (60 * NSEC_PER_SEC)
#define RECENT_STEPS 8 /* five in the span, the one before it, and room for late ones */

struct recent {
	uint64_t span_ns;		  /* 0: nothing is remembered */
	struct since steps[RECENT_STEPS]; /* the oldest first */
	size_t n;
};

void recent_done(struct recent *recent);
/**
 * recent_since() - where the last span_ns begin, as near as was remembered
 * @start: where the call began, which is the beginning as long as it is younger than that
 * Return: borrowed; NULL where nothing is remembered
 */
const struct since *recent_since(const struct recent *recent, const struct since *start, uint64_t now_ns);
/** recent_step() - remember now, if the last step is old enough; forget what is not looked at again. Return: 0 or
 * -ENOMEM */
int recent_step(struct recent *recent, const struct rpc_context *context, const struct call_identity *identity);
