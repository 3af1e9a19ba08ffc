// SPDX-License-Identifier: Apache-2.0
#include "figures/histogram.h"

#include <errno.h>
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
		return 0; /* everything shorter is in it too */
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

uint64_t histogram_count(const struct histogram *h, uint32_t bucket)
{
	return bucket >= h->first && bucket - h->first < h->n ? h->counts[bucket - h->first] : 0;
}

/* Widens the range so that it holds the bucket, by whole octaves to grow rarely. */
static int range_grow(struct histogram *h, uint32_t bucket)
{
	uint32_t first = bucket & ~(SUB - 1), end = first + SUB;
	uint64_t *counts;

	if (h->n) {
		first = MIN(first, h->first);
		end = MAX(end, h->first + h->n);
	}
	counts = calloc(end - first, sizeof(*counts));
	if (!counts)
		return -ENOMEM;

	if (h->n)
		memcpy(counts + (h->first - first), h->counts, h->n * sizeof(*counts));
	free(h->counts);
	h->counts = counts;
	h->first = first;
	h->n = end - first;
	return 0;
}

int histogram_add(struct histogram *h, uint32_t bucket, uint64_t n)
{
	int r;

	if (!h->n || bucket < h->first || bucket >= h->first + h->n) {
		r = range_grow(h, bucket);
		if (r < 0)
			return r;
	}
	h->counts[bucket - h->first] += n;
	h->sum += n;
	return 0;
}

int histogram_copy(const struct histogram *from, struct histogram *ret)
{
	struct histogram copy = *from;

	if (from->n) {
		copy.counts = malloc(from->n * sizeof(*copy.counts));
		if (!copy.counts)
			return -ENOMEM;
		memcpy(copy.counts, from->counts, from->n * sizeof(*copy.counts));
	}
	*ret = copy;
	return 0;
}

void histogram_subtract(struct histogram *h, const struct histogram *earlier)
{
	/* A later histogram covers the range of an earlier one. */
	for (uint32_t i = 0; i < earlier->n; i++)
		if (earlier->counts[i])
			h->counts[earlier->first + i - h->first] -= earlier->counts[i];
	h->sum -= earlier->sum;
}

uint64_t histogram_quantile(const struct histogram *h, double ratio, uint64_t max_ns)
{
	double rank = ratio * (double)h->sum, below = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		uint64_t low_ns, high_ns, ns;
		double in;

		if (!h->counts[i])
			continue;
		in = (double)h->counts[i];
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
