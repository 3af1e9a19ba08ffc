// SPDX-License-Identifier: Apache-2.0
#include "archive/write/buckets.h"

#include <errno.h>

const uint32_t bucket_level_s[BUCKET_LEVELS] = { 1, 10, 60, 3600 };

#define LEVEL_SUMS (BUCKET_PARTS + 1)

void buckets_written(struct buckets *buckets)
{
	for (size_t i = 0; i < buckets->rows.n; i++)
		buf_done(&buckets->rows.items[i].data);
	buckets->rows.n = 0;
}

void buckets_done(struct buckets *buckets)
{
	for (int level = 0; level < BUCKET_LEVELS; level++) {
		for (size_t i = 0; i < buckets->open[level].n; i++)
			figures_blob_done(&buckets->open[level].items[i].blob);
		ARRAY_DONE(&buckets->open[level]);
	}
	buckets_written(buckets);
	ARRAY_DONE(&buckets->rows);
	figures_encoder_free(buckets->encoder);
	buckets->encoder = NULL;
}

static int row_push(struct buckets *buckets, int level, uint32_t uid, uint64_t t0_ns, uint64_t t1_ns,
		    const struct figures_blob *blob)
{
	struct bucket_row row = { .level_s = bucket_level_s[level],
				  .uid = uid,
				  .n = (uint32_t)blob->figures.n,
				  .t0_ns = t0_ns,
				  .t1_ns = t1_ns,
				  .data = BUF_INIT };
	int r = buckets->encoder ? 0 : figures_encoder_new(&buckets->encoder);

	if (r == 0)
		figures_encoder_set_plain(buckets->encoder, level == BUCKET_PARTS);
	r = r ? r : figures_encode(buckets->encoder, blob, &row.data, &row.crc);
	if (r == 0)
		r = ARRAY_PUSH(&buckets->rows, row);
	if (r < 0)
		buf_done(&row.data);
	return r;
}

static int bucket_close(struct buckets *buckets, int level, size_t i)
{
	struct bucket b = buckets->open[level].items[i];
	int r = figures_blob_fold(&b.blob);

	ARRAY_REMOVE_SWAP(&buckets->open[level], i);
	r = r ? r : row_push(buckets, level, b.uid, b.t0_ns, b.t1_ns, &b.blob);
	if (r == 0 && level + 1 < BUCKET_LEVELS)
		r = buckets_add_row(buckets, level + 1, b.uid,
				    b.number / (bucket_level_s[level + 1] / bucket_level_s[level]), b.t0_ns, b.t1_ns,
				    &b.blob);
	figures_blob_done(&b.blob);
	return r;
}

int buckets_add_row(struct buckets *buckets, int level, uint32_t uid, int64_t number, uint64_t t0_ns, uint64_t t1_ns,
		    const struct figures_blob *blob)
{
	struct bucket *b = NULL;
	int r = 0;

	for (size_t i = 0; i < buckets->open[level].n; i++)
		if (buckets->open[level].items[i].uid == uid)
			b = &buckets->open[level].items[i];
	if (b && b->number == number && figures_blob_rows(&b->blob) + figures_blob_rows(blob) > BUCKET_ROWS_MAX)
		r = figures_blob_fold(&b->blob);
	if (r < 0)
		return r;
	if (b && (b->number != number || figures_blob_rows(&b->blob) + figures_blob_rows(blob) > BUCKET_ROWS_MAX)) {
		r = bucket_close(buckets, level, (size_t)(b - buckets->open[level].items));
		b = NULL;
	}
	if (r == 0 && !b) {
		r = ARRAY_PUSH(&buckets->open[level],
			       ((struct bucket){ .uid = uid, .number = number, .t0_ns = t0_ns }));
		b = &buckets->open[level].items[buckets->open[level].n - 1];
	}
	if (r < 0)
		return r;
	b->t1_ns = MAX(b->t1_ns, t1_ns);
	return figures_blob_merge(&b->blob, blob);
}

/* Closes buckets of all levels that do not contain @number, the new 10 s, also those of owners without new data. */
static int close_over(struct buckets *buckets, int64_t number)
{
	int r = 0;

	for (int level = LEVEL_SUMS; level < BUCKET_LEVELS; level++) {
		int64_t now = number / (bucket_level_s[level] / bucket_level_s[LEVEL_SUMS]);

		for (size_t i = buckets->open[level].n; i-- > 0;)
			if (buckets->open[level].items[i].number != now) {
				int one = bucket_close(buckets, level, i);

				r = r ? r : one;
			}
	}
	return r;
}

int buckets_add(struct buckets *buckets, const struct batch_figures *figures)
{
	int r = close_over(buckets, figures->bucket);

	for (size_t i = 0; i < figures->owners.n; i++) {
		const struct owner_figures *o = &figures->owners.items[i];
		int part = row_push(buckets, BUCKET_PARTS, o->uid, figures->t0_ns, figures->t1_ns, &o->blob);
		int sum = buckets_add_row(buckets, LEVEL_SUMS, o->uid, figures->bucket, figures->t0_ns, figures->t1_ns,
					  &o->blob);

		r = r ? r : part ? part : sum;
	}
	return r;
}

int buckets_close(struct buckets *buckets)
{
	int r = 0;

	for (int level = 0; level < BUCKET_LEVELS; level++)
		for (size_t i = buckets->open[level].n; i-- > 0;) {
			int one = bucket_close(buckets, level, i);

			r = r ? r : one;
		}
	return r;
}
