// SPDX-License-Identifier: Apache-2.0
/*
 * Whether two samples differ, by ranks alone (Mann and Whitney; Hodges and Lehmann): no value of a sample, however far
 * off, moves the answer by more than its neighbour would.
 */
#pragma once

#include <stddef.h>

#define RANK_MOST 12u /* values of a sample */

/* How far a sample lies above another. */
struct rank_shift {
	double shift;	  /* median of all differences b - a */
	double low, high; /* bounds of the shift, with the confidence asked for */
	double middle;	  /* median of a */
};

/** rank_shift_error() - how far off the shift may be, either way */
static inline double rank_shift_error(const struct rank_shift *shift)
{
	double above = shift->high - shift->shift, below = shift->shift - shift->low;

	return above > below ? above : below;
}

/** rank_shift_less() - by how much it may be less */
static inline double rank_shift_less(const struct rank_shift *shift)
{
	return shift->shift > 0 ? shift->shift - shift->low : shift->high - shift->shift;
}

/**
 * rank_shift() - compare two samples
 * @a, @b: n_a and n_b values, each at most RANK_MOST, in any order
 * @confidence: that the shift is within its bounds, below 1
 *
 * The distribution of ranks is computed exactly, for independent values. 5 values each are needed for 0.99.
 *
 * Return: 0; -ENODATA: too few values for the confidence
 */
int rank_shift(const double *a, size_t n_a, const double *b, size_t n_b, double confidence, struct rank_shift *ret);
