// SPDX-License-Identifier: Apache-2.0
/* The order of findings in every list: worst first. */
#pragma once

#include <stdint.h>

struct finding_place {
	const char *severity; /* "LOW" ... "CRITICAL"; others are below */
	uint64_t lost_ns;
	uint64_t start_ns; /* on one clock */
	const char *id;
};

/**
 * finding_order() - compare for qsort(3): by severity, then by time lost; of equals the newest, then the smaller id
 */
int finding_order(const struct finding_place *a, const struct finding_place *b);
