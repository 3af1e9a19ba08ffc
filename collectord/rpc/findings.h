// SPDX-License-Identifier: Apache-2.0
/* Findings for a caller, and those that one Trace call has seen. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/array.h"
#include "detect/finding.h"
#include "ingero/v1/ingero.pb-c.h"

struct call_identity;
struct rpc_context;

/* The worst and latest; the database has all. */
#define FINDINGS_SEEN_MAX 100

struct findings_seen {
	ARRAY(struct finding) items;
	size_t n_more; /* number left out for lack of room */
};

/** findings_note() - store its current state; replaces the stored one of its id */
void findings_note(struct findings_seen *seen, const struct finding *finding);
void findings_done(struct findings_seen *seen);
/** findings_message() - make the message, without names hidden from the caller. Return: NULL without memory */
Ingero__V1__Finding *findings_message(const struct rpc_context *context, const struct call_identity *identity,
				      struct arena *arena, const struct finding *finding);
/** findings_fill() - add those seen to a summary, worst first. Return: 0 or -ENOMEM */
int findings_fill(const struct findings_seen *seen, const struct rpc_context *context,
		  const struct call_identity *identity, struct arena *arena, Ingero__V1__Summary *summary);
