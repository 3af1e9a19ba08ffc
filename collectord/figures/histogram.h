// SPDX-License-Identifier: Apache-2.0
/*
 * A log-linear histogram of durations in the buckets of the kernel half (record.h), with sums of 64 bits. Only the
 * range of used buckets takes memory, 1 to 8 bytes a bucket, as the largest count needs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

struct histogram {
	void *counts; /* n buckets from `first`, see histogram_count(); NULL while empty */
	uint64_t sum; /* sum of all counts */
	uint16_t first;
	uint16_t n;
	uint8_t width; /* each count has 1 << width bytes */
};

#define HISTOGRAM_INIT                                                                                                 \
	{                                                                                                              \
		.counts = NULL                                                                                         \
	}

void histogram_done(struct histogram *h);
/** histogram_bytes() - memory of its counts */
static inline size_t histogram_bytes(const struct histogram *h)
{
	return (size_t)h->n << h->width;
}

/** histogram_bucket_low_ns() - smallest duration of a bucket; for HISTOGRAM_BUCKETS the end of the last bucket */
uint64_t histogram_bucket_low_ns(uint32_t bucket);
/** histogram_bucket_of() - bucket of a duration, as the kernel half computes it */
uint32_t histogram_bucket_of(uint64_t ns);
/** histogram_count() - calls in one bucket. Inline: merging and packing call it for each bucket of each operation. */
static inline uint64_t histogram_count(const struct histogram *h, uint32_t bucket)
{
	uint32_t i = bucket - h->first;

	if (bucket < h->first || i >= h->n)
		return 0;
	switch (h->width) {
	case 0:
		return ((const uint8_t *)h->counts)[i];
	case 1:
		return ((const uint16_t *)h->counts)[i];
	case 2:
		return ((const uint32_t *)h->counts)[i];
	default:
		return ((const uint64_t *)h->counts)[i];
	}
}

/** histogram_next() - first bucket from @bucket on that holds a call; HISTOGRAM_BUCKETS when none does */
uint32_t histogram_next(const struct histogram *h, uint32_t bucket);
/** histogram_last() - last bucket that holds a call; HISTOGRAM_BUCKETS when none does */
uint32_t histogram_last(const struct histogram *h);
/**
 * histogram_reserve() - allocate the buckets from @first to @end (exclusive) for up to @most calls each, so that adding
 * these cannot fail
 * Return: 0, or -ENOMEM with nothing changed
 */
int histogram_reserve(struct histogram *h, uint32_t first, uint32_t end, uint64_t most);
/** histogram_add() - Return: 0, or -ENOMEM with nothing added */
int histogram_add(struct histogram *h, uint32_t bucket, uint64_t n);
/** histogram_merge() - add the counts of another. Return: 0, or -ENOMEM with nothing added */
int histogram_merge(struct histogram *h, const struct histogram *other);
/**
 * histogram_longest_ns() - longest call of a histogram that is part of another
 * @max_ns: maximum as read; it may be from just before or after the count, or from a longer period. The answer lies in
 *          the highest bucket that has a count
 * Return: nanoseconds, 0 when empty
 */
uint64_t histogram_longest_ns(const struct histogram *h, uint64_t max_ns);
/** histogram_copy() - copy; @ret is overwritten, not released. Return: 0 or -ENOMEM */
int histogram_copy(const struct histogram *from, struct histogram *ret);
/** histogram_subtract() - subtract an earlier copy of the same histogram */
void histogram_subtract(struct histogram *h, const struct histogram *earlier);
/**
 * histogram_quantile() - duration below which a share of the calls lie
 * @ratio: 0 ... 1
 * @max_ns: longest call, which caps the answer; UINT64_MAX when not known
 *
 * Interpolated inside the bucket, which is at most 1/16 wide: an even spread inside it
 * is assumed. Durations under 64 ns share the first bucket.
 *
 * Return: nanoseconds, 0 when empty
 */
uint64_t histogram_quantile(const struct histogram *h, double ratio, uint64_t max_ns);
