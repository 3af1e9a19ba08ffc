// SPDX-License-Identifier: Apache-2.0
#include "figures/histogram.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SUB (1u << HISTOGRAM_SUB_BITS)

void histogram_done(struct histogram *h)
{
	free(h->counts);
	*h = (struct histogram)HISTOGRAM_INIT;
}

uint64_t histogram_bucket_low_ns(uint32_t bucket)
{
	uint32_t octave = bucket >> HISTOGRAM_SUB_BITS;
	uint64_t base_ns = 1ull << (HISTOGRAM_FIRST_OCTAVE + octave);

	if (bucket == 0)
		return 0; /* all shorter durations are in the first bucket, too */
	return base_ns + (base_ns >> HISTOGRAM_SUB_BITS) * (bucket & (SUB - 1));
}

uint32_t histogram_bucket_of(uint64_t ns)
{
	uint32_t log2, octave;

	if (ns < 1ull << HISTOGRAM_FIRST_OCTAVE)
		return 0;

	log2 = 63 - (uint32_t)__builtin_clzll(ns);
	octave = log2 - HISTOGRAM_FIRST_OCTAVE;
	if (octave >= HISTOGRAM_OCTAVES)
		return HISTOGRAM_BUCKETS - 1;
	return (octave << HISTOGRAM_SUB_BITS) + (uint32_t)((ns >> (log2 - HISTOGRAM_SUB_BITS)) & (SUB - 1));
}

static void count_set(void *counts, uint32_t width, uint32_t i, uint64_t count)
{
	switch (width) {
	case 0:
		((uint8_t *)counts)[i] = (uint8_t)count;
		return;
	case 1:
		((uint16_t *)counts)[i] = (uint16_t)count;
		return;
	case 2:
		((uint32_t *)counts)[i] = (uint32_t)count;
		return;
	default:
		((uint64_t *)counts)[i] = count;
	}
}

static uint8_t count_width(uint64_t count)
{
	return count <= UINT8_MAX ? 0 : count <= UINT16_MAX ? 1 : count <= UINT32_MAX ? 2 : 3;
}

uint32_t histogram_next(const struct histogram *h, uint32_t bucket)
{
	uint32_t i = MAX(bucket, h->first) - h->first, per_word = (uint32_t)sizeof(uint64_t) >> h->width;

	/* Most buckets are empty: skip a word of them at a time. */
	for (; i + per_word <= h->n; i += per_word) {
		uint64_t word;

		memcpy(&word, (const char *)h->counts + ((size_t)i << h->width), sizeof(word));
		if (word)
			return h->first + i + ((uint32_t)__builtin_ctzll(le64toh(word)) >> (3 + h->width));
	}
	for (; i < h->n; i++)
		if (histogram_count(h, h->first + i))
			return h->first + i;
	return HISTOGRAM_BUCKETS;
}

uint32_t histogram_last(const struct histogram *h)
{
	for (uint32_t i = (uint32_t)h->first + h->n; i-- > h->first;)
		if (histogram_count(h, i))
			return i;
	return HISTOGRAM_BUCKETS;
}

#define COUNTS_ADD(to_type, from_type)                                                                                 \
	for (uint32_t i = 0; i < n; i++)                                                                               \
	((to_type *)to)[i] = (to_type)(((to_type *)to)[i] + ((const from_type *)from)[i])

#define COUNTS_ADD_FROM(to_type)                                                                                       \
	switch (from_width) {                                                                                          \
	case 0:                                                                                                        \
		COUNTS_ADD(to_type, uint8_t);                                                                          \
		return;                                                                                                \
	case 1:                                                                                                        \
		COUNTS_ADD(to_type, uint16_t);                                                                         \
		return;                                                                                                \
	case 2:                                                                                                        \
		COUNTS_ADD(to_type, uint32_t);                                                                         \
		return;                                                                                                \
	default:                                                                                                       \
		COUNTS_ADD(to_type, uint64_t);                                                                         \
		return;                                                                                                \
	}

/* Each pair of widths has its own loop, which the compiler makes one of vectors. The sums fit. */
static void counts_add(void *restrict to, uint8_t to_width, const void *restrict from, uint8_t from_width, uint32_t n)
{
	switch (to_width) {
	case 0:
		COUNTS_ADD_FROM(uint8_t)
	case 1:
		COUNTS_ADD_FROM(uint16_t)
	case 2:
		COUNTS_ADD_FROM(uint32_t)
	default:
		COUNTS_ADD_FROM(uint64_t)
	}
}

int histogram_reserve(struct histogram *h, uint32_t first, uint32_t end, uint64_t most)
{
	uint8_t width = count_width(most);
	void *counts;

	if (h->n) {
		first = MIN(first, h->first);
		end = MAX(end, (uint32_t)h->first + h->n);
		width = MAX(width, h->width);
	}
	if (h->n == end - first && h->width == width)
		return 0;
	counts = calloc(end - first, (size_t)1 << width);
	if (!counts)
		return -ENOMEM;
	if (h->n)
		counts_add((char *)counts + ((size_t)(h->first - first) << width), width, h->counts, h->width, h->n);
	free(h->counts);
	h->counts = counts;
	h->first = (uint16_t)first;
	h->n = (uint16_t)(end - first);
	h->width = width;
	return 0;
}

int histogram_add(struct histogram *h, uint32_t bucket, uint64_t n)
{
	uint64_t count = histogram_count(h, bucket) + n;
	bool is_outside = bucket < h->first || bucket - h->first >= h->n;
	int r = 0;

	assert(bucket < HISTOGRAM_BUCKETS);
	/* The range grows by whole octaves, so that it grows rarely. */
	if (is_outside)
		r = histogram_reserve(h, bucket & ~(SUB - 1), (bucket & ~(SUB - 1)) + SUB, count);
	else if (count_width(count) > h->width)
		r = histogram_reserve(h, bucket, bucket + 1, count);
	if (r < 0)
		return r;
	count_set(h->counts, h->width, bucket - h->first, count);
	h->sum += n;
	return 0;
}

int histogram_merge(struct histogram *h, const struct histogram *other)
{
	uint32_t first = histogram_next(other, 0), last;
	int r;

	if (first == HISTOGRAM_BUCKETS)
		return 0;
	last = histogram_last(other);
	r = histogram_reserve(h, first & ~(SUB - 1), (last | (SUB - 1)) + 1, h->sum + other->sum);
	if (r < 0)
		return r;
	counts_add((char *)h->counts + ((size_t)(first - h->first) << h->width), h->width,
		   (const char *)other->counts + ((size_t)(first - other->first) << other->width), other->width,
		   last + 1 - first);
	h->sum += other->sum;
	return 0;
}

int histogram_copy(const struct histogram *from, struct histogram *ret)
{
	struct histogram copy = *from;

	if (from->n) {
		copy.counts = malloc((size_t)from->n << from->width);
		if (!copy.counts)
			return -ENOMEM;
		memcpy(copy.counts, from->counts, (size_t)from->n << from->width);
	}
	*ret = copy;
	return 0;
}

void histogram_subtract(struct histogram *h, const struct histogram *earlier)
{
	for (uint32_t i = histogram_next(earlier, 0); i < HISTOGRAM_BUCKETS; i = histogram_next(earlier, i + 1)) {
		assert(i >= h->first && i - h->first < h->n); /* a later one covers the range of an earlier one */
		count_set(h->counts, h->width, i - h->first, histogram_count(h, i) - histogram_count(earlier, i));
	}
	h->sum -= earlier->sum;
}

uint64_t histogram_longest_ns(const struct histogram *h, uint64_t max_ns)
{
	uint32_t last = histogram_last(h);

	if (last == HISTOGRAM_BUCKETS)
		return 0;
	if (last + 1 < HISTOGRAM_BUCKETS)
		max_ns = MIN(max_ns, histogram_bucket_low_ns(last + 1) - 1);
	return MAX(max_ns, histogram_bucket_low_ns(last));
}

uint64_t histogram_quantile(const struct histogram *h, double ratio, uint64_t max_ns)
{
	double rank = ratio * (double)h->sum, below = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		uint64_t count = histogram_count(h, h->first + i), low_ns, high_ns, ns;
		double in = (double)count;

		if (!count)
			continue;
		if (below + in < rank) {
			below += in;
			continue;
		}
		low_ns = histogram_bucket_low_ns(h->first + i);
		high_ns = histogram_bucket_low_ns(h->first + i + 1);
		ns = low_ns + (uint64_t)((double)(high_ns - low_ns) * (rank - below) / in);
		return MIN(ns, max_ns);
	}
	return 0;
}
