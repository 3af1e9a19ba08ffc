// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <string.h>

#include "base/cleanup.h"

/* Edit distance of two names; a swap of neighbours is one edit. Both are shorter than NAME_MAX_BYTES. */
static unsigned int name_distance(const char *a, const char *b)
{
	unsigned int d[NAME_MAX_BYTES + 1][NAME_MAX_BYTES + 1];
	size_t n = strlen(a), m = strlen(b);

	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned int)i;
	for (size_t k = 0; k <= m; k++)
		d[0][k] = (unsigned int)k;
	for (size_t i = 1; i <= n; i++) {
		for (size_t k = 1; k <= m; k++) {
			unsigned int best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);

			best = MIN(best, d[i - 1][k] + 1);
			best = MIN(best, d[i][k - 1] + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				best = MIN(best, d[i - 2][k - 2] + 1);
			d[i][k] = best;
		}
	}
	return d[n][m];
}

const char *name_nearest(const char *typed, const char *const *names, size_t n)
{
	const char *found = NULL;
	unsigned int best = 0;

	if (strlen(typed) > NAME_MAX_BYTES || strlen(typed) < 2)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		unsigned int distance;

		if (!names[i] || strlen(names[i]) > NAME_MAX_BYTES)
			continue;
		/* A prefix of a name counts like a typing error. */
		distance = strncmp(names[i], typed, strlen(typed)) == 0 ? 1 : name_distance(typed, names[i]);
		if (distance <= MAX(1, strlen(names[i]) / 3) && (!found || distance < best)) {
			found = names[i];
			best = distance;
		}
	}
	return found;
}
