// SPDX-License-Identifier: Apache-2.0
/*
 * How figures of a bucket are written down: between the file that packs and the one that unpacks.
 *
 * Format byte, number of figures, number of behind, from format 2 on number of parts, number of waits; then columns
 * (column.h), one value for each of the figures unless said otherwise.
 */
#pragma once

#include "archive/codec/codec.h"

#define FIGURES_FORMAT 2
#define FIGURES_FORMAT_ACCOUNTS 2      /* the first with parts and waits */
#define FIGURES_ROWS_MAX (1u << 18)    /* of each kind in one blob */
#define FIGURES_BUCKETS_MAX (1u << 24) /* filled buckets of all its histograms */

/* Ids are for ever. */
enum figures_column {
	FIGURES_PROCESS = 1, /* minus the process before */
	FIGURES_OP,
	FIGURES_MEASURED,
	FIGURES_TOTAL,	     /* bound: figures_total_bound() */
	FIGURES_OVERHEAD,    /* raw minus total, folded; bound the same */
	FIGURES_MAX,	     /* minus figures_max_guess(), folded */
	FIGURES_BLAME = 8,   /* shape (blame_parts.h) */
	FIGURES_BLAME_PARTS, /* one for each bit of the shapes; bound: raw */
#define KEPT_FIGURE(name, id, member) FIGURES_##name = (id),
#include "events/columns.def"
	FIGURES_FILLED = 13,	/* buckets that are not empty */
	FIGURES_BUCKET,		/* one for each of these: the first, then the distance to the one before */
	FIGURES_COUNT,		/* likewise: calls in it, minus 1 */
	FIGURES_BEHIND_PROCESS, /* up to BEHIND_BETWEEN: for each of behind; minus the process before */
	FIGURES_BEHIND_TGID,
	FIGURES_BEHIND_UID,
	FIGURES_BEHIND_NS,
	FIGURES_BEHIND_COMM,	  /* first 8 bytes */
	FIGURES_BEHIND_COMM_REST, /* last 8 */
	FIGURES_BEHIND_BETWEEN,
	FIGURES_PART_PROCESS, /* for each part; minus the process before */
#define PART(name, member, most) FIGURES_PART_##name,
#include "archive/codec/account_columns.def"
	FIGURES_WAIT_PROCESS, /* for each wait; minus the process before */
#define WAIT(name, member, most) FIGURES_WAIT_##name,
#define WAIT_TEXT(name, member, at) FIGURES_WAIT_##name,
#include "archive/codec/account_columns.def"
};

/** figures_max_guess() - where the longest call must be if the histogram has it: its last filled bucket */
uint64_t figures_max_guess(const struct histogram *h);
/** figures_total_bound() - significant bits that calls of a count, none above max_ns, can sum to */
uint8_t figures_total_bound(uint64_t n_calls, uint64_t max_ns);
/** figures_compare_behind() - order of behind in a blob. Return: as memcmp */
int figures_compare_behind(const struct stored_behind *a, const struct stored_behind *b);
int figures_compare_part(const struct stored_part *a, const struct stored_part *b);
int figures_compare_wait(const struct stored_wait *a, const struct stored_wait *b);
