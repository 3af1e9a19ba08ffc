// SPDX-License-Identifier: Apache-2.0
/* Losses, in the words of bpf/losses.def. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

enum lost_kind {
	LOST_COUNTS, /* calls missing from the figures */
	LOST_DETAIL, /* figures are exact; records of single calls, times or causes are missing */
	LOST_BEFORE, /* calls that began before the attach: nothing could have counted them */
	LOST_KIND_COUNT
};

struct lost_reason {
	const char *field; /* field of the message */
	enum lost_kind kind;
	const char *one;  /* words after a 1: "call not counted (...)" */
	const char *many; /* words after any other number */
};

/** lost_reason_get() - Return: the i-th reason, or NULL after the last */
const struct lost_reason *lost_reason_get(size_t i);
/** lost_words() - the words after the number n */
const char *lost_words(const struct lost_reason *reason, uint64_t n);
/** lost_count() - losses of one reason; 0 for a NULL message */
uint64_t lost_count(const Ingero__V1__Lost *lost, const struct lost_reason *reason);
/** lost_sum() - losses of all reasons of a kind */
uint64_t lost_sum(const Ingero__V1__Lost *lost, enum lost_kind kind);
/** lost_append() - append "every call counted · nothing lost", or the losses, separated by " · " */
void lost_append(struct buf *out, const Ingero__V1__Lost *lost);
/** lost_gap_append() - append what is missing of a time, and why: "12 single calls not recorded (...)" */
void lost_gap_append(struct buf *out, const Ingero__V1__Gap *gap);
