// SPDX-License-Identifier: Apache-2.0
/*
 * Statements that a caller of SQL is refused, or that are stopped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FOR_EVER "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "

struct refusal {
	const char *name;
	const char *sql;
	uint32_t code;	  /* 0: any, but none of the daemon's own faults */
	const char *text; /* in the sentence */
};

extern const struct refusal refusals[];
extern const size_t refusals_count;
