// SPDX-License-Identifier: Apache-2.0
#include "base/finding_order.h"

#include <string.h>

#include "base/cleanup.h"

static int severity_rank(const char *severity)
{
	static const char *const names[] = { "LOW", "MEDIUM", "HIGH", "CRITICAL" };

	for (int i = 0; i < (int)ARRAY_SIZE(names); i++)
		if (strcmp(names[i], severity) == 0)
			return i;
	return -1;
}

int finding_order(const struct finding_place *a, const struct finding_place *b)
{
	int rank = severity_rank(b->severity) - severity_rank(a->severity);

	if (rank)
		return rank;
	if (a->lost_ns != b->lost_ns)
		return a->lost_ns < b->lost_ns ? 1 : -1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? 1 : -1;
	return strcmp(a->id, b->id);
}
