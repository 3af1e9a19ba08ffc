// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/cost.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct cost_share cost_share(const Ingero__V1__Cost *cost)
{
	struct units_text low = units_ratio(cost->low_ratio, 0), high = units_ratio(cost->high_ratio, 0);
	bool is_range = cost->low_ratio_told_case && cost->high_ratio_told_case && strcmp(low.text, high.text) != 0;
	struct cost_share share;

	if (is_range)
		(void)snprintf(share.text, sizeof(share.text), "%s to %s", low.text, high.text);
	else
		(void)snprintf(share.text, sizeof(share.text), "%s", units_ratio(cost->probe_ratio, 0).text);
	return share;
}
