// SPDX-License-Identifier: Apache-2.0
/* Words for the cost of tracing. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/units.h"

struct cost_share {
	char text[2 * sizeof(struct units_text) + 8];
};

/** cost_share() - share of its CPU time that tracing took from the most affected thread: "0.6 %", "0.4 % to 0.8 %" */
struct cost_share cost_share(const Ingero__V1__Cost *cost);
