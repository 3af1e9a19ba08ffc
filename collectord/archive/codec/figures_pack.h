// SPDX-License-Identifier: Apache-2.0
/*
 * Format of the figures of a bucket: shared by the file that packs and the file that unpacks.
 *
 * A format byte; the numbers of figures, of rows of behind, and from format 2 on of parts and of waits; then columns
 * (column.h), with one value for each of the figures unless noted otherwise.
 */
#pragma once

#include "archive/codec/codec.h"

#define FIGURES_FORMAT 2
#define FIGURES_FORMAT_ACCOUNTS 2      /* the first with parts and waits */
#define FIGURES_ROWS_MAX (1u << 18)    /* of each kind in one blob */
#define FIGURES_BUCKETS_MAX (1u << 24) /* filled buckets of all its histograms */

/* Ids never change. */
enum figures_column {
	FIGURES_PROCESS = 1, /* difference from the previous process */
	FIGURES_OP,
	FIGURES_MEASURED,
	FIGURES_TOTAL,	     /* bound: figures_total_bound() */
	FIGURES_OVERHEAD,    /* raw minus total, folded; bound the same */
	FIGURES_MAX,	     /* difference from figures_max_guess(), folded */
	FIGURES_BLAME = 8,   /* shape (blame_parts.h) */
	FIGURES_BLAME_PARTS, /* one for each bit of the shapes; bound: raw */
#define KEPT_FIGURE(name, id, member) FIGURES_##name = (id),
#include "events/columns.def"
	FIGURES_FILLED = 13,	/* number of filled buckets of the histogram */
	FIGURES_BUCKET,		/* one for each filled bucket: the first, then the distance from the previous one */
	FIGURES_COUNT,		/* one for each filled bucket: its calls, minus 1 */
	FIGURES_BEHIND_PROCESS, /* up to BEHIND_BETWEEN: for each of behind; difference from the previous process */
	FIGURES_BEHIND_TGID,
	FIGURES_BEHIND_UID,
	FIGURES_BEHIND_NS,
	FIGURES_BEHIND_COMM,	  /* first 8 bytes */
	FIGURES_BEHIND_COMM_REST, /* last 8 */
	FIGURES_BEHIND_BETWEEN,
	FIGURES_PART_PROCESS, /* for each part; difference from the previous process */
#define PART(name, member, most) FIGURES_PART_##name,
#include "archive/codec/account_columns.def"
	FIGURES_WAIT_PROCESS, /* for each wait; difference from the previous process */
#define WAIT(name, member, most) FIGURES_WAIT_##name,
#define WAIT_TEXT(name, member, at) FIGURES_WAIT_##name,
#include "archive/codec/account_columns.def"
	FIGURES_BEHIND_GUARDED = 127, /* for each of behind; the last ids are its, ERROR_CODE's and LEFT_*, because
					 columns of waits may follow */
};

/** figures_max_guess() - guess of the longest call: the lower bound of the last filled bucket of the histogram */
uint64_t figures_max_guess(const struct histogram *h);
/** figures_total_bound() - significant bits of the sum of this number of calls, none above max_ns */
uint8_t figures_total_bound(uint64_t n_calls, uint64_t max_ns);
/** figures_compare_behind() - order of behind in a blob. Return: as memcmp */
int figures_compare_behind(const struct stored_behind *a, const struct stored_behind *b);
int figures_compare_part(const struct stored_part *a, const struct stored_part *b);
int figures_compare_wait(const struct stored_wait *a, const struct stored_wait *b);
