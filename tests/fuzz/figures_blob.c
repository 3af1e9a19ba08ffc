// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as figures of a bucket, with a checksum that fits. What is understood is in order, is
 * packed again and comes back the same, and can be added to itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#define ROWS_MAX 2000 /* a few bytes can be many rows that are all alike: no use to compare them all */

/* Rows are made from zeroes: what lies between their members is the same, too. */
static void bytes_check_same(const void *a, const void *b, size_t n)
{
	REQUIRE(n == 0 || memcmp(a, b, n) == 0);
}

static void check_same(const struct figures_blob *a, const struct figures_blob *b)
{
	REQUIRE(a->figures.n == b->figures.n && a->behind.n == b->behind.n && a->parts.n == b->parts.n &&
		a->waits.n == b->waits.n);
	for (size_t i = 0; i < a->figures.n; i++) {
		const struct stored_figures *x = &a->figures.items[i], *y = &b->figures.items[i];

		REQUIRE(x->process == y->process && x->op == y->op && x->measured == y->measured);
		REQUIRE(memcmp(&x->figures, &y->figures, offsetof(struct op_figures, durations)) == 0);
		REQUIRE(x->figures.durations.sum == y->figures.durations.sum);
		for (uint32_t k = 0; k < HISTOGRAM_BUCKETS; k++)
			REQUIRE(histogram_count(&x->figures.durations, k) == histogram_count(&y->figures.durations, k));
	}
	bytes_check_same(a->behind.items, b->behind.items, a->behind.n * sizeof(a->behind.items[0]));
	bytes_check_same(a->parts.items, b->parts.items, a->parts.n * sizeof(a->parts.items[0]));
	bytes_check_same(a->waits.items, b->waits.items, a->waits.n * sizeof(a->waits.items[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(figures_blob_done) struct figures_blob blob = { 0 }, again = { 0 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint32_t crc;

	if (figures_blob_decode(data, n, codec_crc(data, n), &blob) < 0)
		return 0;
	if (figures_blob_rows(&blob) > ROWS_MAX)
		return 0;
	REQUIRE(figures_blob_encode(&blob, &out, &crc) == 0);
	REQUIRE(figures_blob_decode(out.data, out.n, crc, &again) == 0);
	check_same(&blob, &again);

	REQUIRE(figures_blob_merge(&blob, &again) == 0);
	REQUIRE(figures_blob_rows(&blob) == figures_blob_rows(&again));
	return 0;
}
