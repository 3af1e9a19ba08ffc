// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/compare_rank.h"

#include <errno.h>
#include <stdlib.h>

#define PAIRS_MOST (RANK_MOST * RANK_MOST)

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double sorted_median(const double *values, size_t n)
{
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/*
 * Number of ways in which u of the pairs of two samples are in order, for each u: the coefficients of the product of
 * (1 - x^(n + i)) / (1 - x^i) for i from 1 to m. All are integers below 2^53.
 */
static void ways_count(size_t m, size_t n, double ways[PAIRS_MOST + 1])
{
	size_t most = m * n;

	for (size_t u = 0; u <= most; u++)
		ways[u] = u == 0;
	for (size_t i = 1; i <= m; i++) {
		for (size_t u = most; u >= n + i; u--)
			ways[u] -= ways[u - n - i];
		for (size_t u = i; u <= most; u++)
			ways[u] += ways[u - i];
	}
}

/* Number of the smallest differences, and of the largest, that may be outside. Return: 0: none may */
static size_t outside_most(size_t m, size_t n, double confidence)
{
	double ways[PAIRS_MOST + 1], all = 0, below = 0;
	size_t k = 0;

	ways_count(m, n, ways);
	for (size_t u = 0; u <= m * n; u++)
		all += ways[u];
	while (k < m * n / 2 && below + ways[k] <= all * (1 - confidence) / 2)
		below += ways[k++];
	return k;
}

int rank_shift(const double *a, size_t n_a, const double *b, size_t n_b, double confidence, struct rank_shift *ret)
{
	double differences[PAIRS_MOST], sorted[RANK_MOST];
	size_t n = 0, k;

	if (!n_a || !n_b || n_a > RANK_MOST || n_b > RANK_MOST)
		return -ENODATA;
	k = outside_most(n_a, n_b, confidence);
	if (!k)
		return -ENODATA;
	for (size_t i = 0; i < n_a; i++) {
		sorted[i] = a[i];
		for (size_t j = 0; j < n_b; j++)
			differences[n++] = b[j] - a[i];
	}
	qsort(sorted, n_a, sizeof(*sorted), double_compare);
	qsort(differences, n, sizeof(*differences), double_compare);
	*ret = (struct rank_shift){ .shift = sorted_median(differences, n),
				    .low = differences[k - 1],
				    .high = differences[n - k],
				    .middle = sorted_median(sorted, n_a) };
	return 0;
}
