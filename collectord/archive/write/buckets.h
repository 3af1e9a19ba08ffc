// SPDX-License-Identifier: Apache-2.0
/*
 * Figures by time: 10 s, a minute, an hour, for each owner.
 *
 * New figures are a part, about a second long, of a bucket of 10 s. A part is written when it arrives, so that no
 * commit writes earlier parts again, and is added to its bucket here. When the 10 s are over, the row of the bucket is
 * written, and the bucket is added to its minute, later the minute to its hour. Coarser rows are stored beside the
 * finer rows, so a window is answered from the finest rows that still exist. Parts stay for BUCKET_PARTS_NS, for
 * comparisons of short runs; where a bucket is large, its row replaces them. A bucket that grows too large is written
 * early; another bucket with the same number continues it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "archive/write/batch.h"

#define BUCKET_LEVELS 4
#define BUCKET_PARTS 0			     /* the level of parts */
#define BUCKET_PARTS_NS (120 * NSEC_PER_SEC) /* maximum age of parts of 10 s */
#define BUCKET_PARTS_BYTES (64u * 1024)	     /* of a bucket with more the parts are deleted at once */
#define BUCKET_ROWS_MAX                                                                                                \
	32768 /* maximum rows of all kinds in one bucket; guess: 20 MiB of memory for short-lived processes */
extern const uint32_t bucket_level_s[BUCKET_LEVELS];

struct bucket {
	uint32_t uid;
	int64_t number; /* intervals of its level since 1970 */
	uint64_t t0_ns, t1_ns;
	struct figures_blob blob;
};

/* A row of table figures. */
struct bucket_row {
	int64_t id; /* 0: not numbered yet */
	uint32_t level_s;
	uint32_t uid;
	uint32_t n;
	uint32_t crc;
	uint64_t t0_ns, t1_ns;
	struct buf data;
};

struct buckets {
	ARRAY(struct bucket) open[BUCKET_LEVELS]; /* buckets that still grow; none of BUCKET_PARTS */
	ARRAY(struct bucket_row) rows;		  /* to be written, in this order */
	struct figures_encoder *encoder;	  /* NULL: not needed yet */
};

void buckets_done(struct buckets *buckets);
/** buckets_add() - add a batch's part of one bucket; completed buckets are closed. Return: 0 or -ENOMEM */
int buckets_add(struct buckets *buckets, const struct batch_figures *figures);
/** buckets_add_row() - add a finer row, decoded, to its bucket of a level. Return: 0 or -ENOMEM */
int buckets_add_row(struct buckets *buckets, int level, uint32_t uid, int64_t number, uint64_t t0_ns, uint64_t t1_ns,
		    const struct figures_blob *blob);
/** buckets_close() - close all buckets, when a session ends; rows remain to be written. Return: 0 or -ENOMEM */
int buckets_close(struct buckets *buckets);
/** buckets_written() - release the rows after their commit */
void buckets_written(struct buckets *buckets);
