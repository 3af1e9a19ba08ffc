// SPDX-License-Identifier: Apache-2.0
/*
 * Figures by time: 10 s, a minute, an hour, each owner's apart.
 *
 * What comes is added to the 10 s it belongs to; when these are over they are added to
 * their minute, and that to its hour. Coarser rows add to the finer ones and never take their
 * place, so a window is answered from the finest that is still there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/batch.h"

#define BUCKET_LEVELS 3
extern const uint32_t bucket_level_s[BUCKET_LEVELS];

struct bucket {
	uint32_t uid;
	bool is_dirty;
	int64_t number; /* of its level since 1970 */
	uint64_t t0_ns, t1_ns;
	struct figures_blob blob;
};

/* As it goes into table figures. */
struct bucket_row {
	uint32_t level_s;
	uint32_t uid;
	uint32_t n;
	uint32_t crc;
	uint64_t t0_ns, t1_ns;
	struct buf data;
};

struct buckets {
	ARRAY(struct bucket) open[BUCKET_LEVELS];
	ARRAY(struct bucket_row) rows; /* to be written */
};

void buckets_done(struct buckets *buckets);
/** buckets_add() - a batch's part of one bucket; whatever is over by then is closed. Return: 0 or -ENOMEM */
int buckets_add(struct buckets *buckets, const struct batch_figures *figures);
/** buckets_add_row() - a finer row, decoded, to its bucket of a level. Return: 0 or -ENOMEM */
int buckets_add_row(struct buckets *buckets, int level, uint32_t uid, int64_t number, uint64_t t0_ns, uint64_t t1_ns,
		    const struct figures_blob *blob);
/** buckets_pack() - rows of what is still open and has changed; the finest level alone. Return: 0 or -ENOMEM */
int buckets_pack(struct buckets *buckets);
/** buckets_close() - everything, as at the end of a session; rows are left to be written. Return: 0 or -ENOMEM */
int buckets_close(struct buckets *buckets);
/** buckets_written() - the rows are committed */
void buckets_written(struct buckets *buckets);
