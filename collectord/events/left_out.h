// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of one operation of one process that were made while the operation was not attached, to keep the budget: an
 * estimate (probes/estimate.h). Numbers only grow, so that those of two times can be subtracted.
 */
#pragma once

#include <stdint.h>

struct left_out {
	uint64_t calls;	   /* estimated number */
	uint64_t ns;	   /* their time, without the tracer's share */
	uint64_t bytes;	   /* that they allocated or copied */
	uint64_t variance; /* of `calls`: errors that differ from window to window */
	uint64_t bias;	   /* number of calls by which all windows may be wrong in the same direction */
	uint64_t ms;	   /* time in which the operation was not attached */
};
