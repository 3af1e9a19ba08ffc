// SPDX-License-Identifier: Apache-2.0
/* Losses, in the words of bpf/losses.def. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

enum lost_kind {
	LOST_COUNTS, /* calls missing from the figures */
	LOST_DETAIL, /* figures are exact; records of single calls, times or causes are missing */
	LOST_BEFORE, /* calls that began before the attach: nothing could have counted them */
	LOST_KIND_COUNT
};

/** lost_sum() - losses of all reasons of a kind */
uint64_t lost_sum(const Ingero__V1__Lost *lost, enum lost_kind kind);
/**
 * lost_append() - append "every call counted · nothing lost", or the losses, separated by " · "
 * @late: what to say in parentheses of libraries that were attached late, instead of what to do; "": nothing; NULL:
 * what to do
 * @is_whole: the recording misses nothing of what was captured; else there is no "nothing lost"
 */
void lost_append(struct buf *out, const Ingero__V1__Lost *lost, const char *late, bool is_whole);
/** lost_gap_is_recording() - whether data of a gap was captured, and is missing in the file: a full queue or disk, ...
 */
bool lost_gap_is_recording(const Ingero__V1__Gap *gap);
/** lost_gap_append() - append what is missing of a time, and why: "12 single calls not recorded (...)" */
void lost_gap_append(struct buf *out, const Ingero__V1__Gap *gap);
