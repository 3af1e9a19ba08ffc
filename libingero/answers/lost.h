// SPDX-License-Identifier: Apache-2.0
/*
 * What was lost, in the words of bpf/losses.def.
 */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

enum lost_kind {
	LOST_COUNTS, /* figures lack these calls */
	LOST_DETAIL, /* counts are exact; records of single calls, times or causes are missing */
	LOST_BEFORE, /* began before anything was attached: nobody could have seen them */
	LOST_KIND_COUNT
};

struct lost_reason {
	const char *field; /* of the message */
	enum lost_kind kind;
	const char *one;  /* follows a 1: "call not counted (...)" */
	const char *many; /* follows any other number */
};

/** lost_reason_get() - the i-th reason, or NULL behind the last */
const struct lost_reason *lost_reason_get(size_t i);
/** lost_words() - what follows the number n */
const char *lost_words(const struct lost_reason *reason, uint64_t n);
/** lost_count() - how many of one reason; 0 for a NULL message */
uint64_t lost_count(const Ingero__V1__Lost *lost, const struct lost_reason *reason);
/** lost_sum() - of all reasons of a kind */
uint64_t lost_sum(const Ingero__V1__Lost *lost, enum lost_kind kind);
/** lost_append() - "every call counted · nothing lost", or what was, separated by " · " */
void lost_append(struct buf *out, const Ingero__V1__Lost *lost);
/** lost_gap_append() - why something of a time is missing, and how much: "12 single calls not kept (...)" */
void lost_gap_append(struct buf *out, const Ingero__V1__Gap *gap);
