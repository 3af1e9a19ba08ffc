// SPDX-License-Identifier: Apache-2.0
/* Words for the cost of tracing. */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/units.h"

struct cost_share {
	char text[2 * sizeof(struct units_text) + 8];
};

/** cost_share() - share of its CPU time that tracing took from the most affected thread: "0.6 %", "0.4 % to 0.8 %" */
struct cost_share cost_share(const Ingero__V1__Cost *cost);

struct cost_words {
	char text[160];
};

/**
 * cost_budget() - the budget, and what is left out to keep it: "budget 2.0 %", "budget 2.0 %: driver calls left out";
 * "": no budget is kept
 */
struct cost_words cost_budget(const Ingero__V1__Cost *cost);
/** cost_header() - the cost in few words: "cost 0.4 % to 0.8 %"; with a budget "cost 0.6 % of 2.0 %, sampled" */
struct cost_words cost_header(const Ingero__V1__Cost *cost);
/** cost_is_thinned() - whether operations are left out now, to keep the budget */
bool cost_is_thinned(const Ingero__V1__Cost *cost);
