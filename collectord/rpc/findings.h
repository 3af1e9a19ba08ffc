// SPDX-License-Identifier: Apache-2.0
/*
 * Findings as they are, for a caller, and those that one Trace call has seen.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/array.h"
#include "detect/finding.h"
#include "ingero/v1/ingero.pb-c.h"

struct call_identity;
struct rpc_context;

/* The worst and latest; more of one trace nobody reads. The database keeps them all. */
#define FINDINGS_SEEN_MAX 100

struct findings_seen {
	ARRAY(struct finding) items;
	size_t n_more; /* that found no room */
};

/** findings_note() - keep it as it is now, in place of what was kept under its id */
void findings_note(struct findings_seen *seen, const struct finding *finding);
void findings_done(struct findings_seen *seen);
/** findings_message() - without the names that the caller may not know. Return: NULL without memory */
Ingero__V1__Finding *findings_message(const struct rpc_context *context, const struct call_identity *identity,
				      struct arena *arena, const struct finding *finding);
/** findings_fill() - those seen into a summary, worst first. Return: 0 or -ENOMEM */
int findings_fill(const struct findings_seen *seen, const struct rpc_context *context,
		  const struct call_identity *identity, struct arena *arena, Ingero__V1__Summary *summary);
