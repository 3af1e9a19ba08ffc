// SPDX-License-Identifier: Apache-2.0
/*
 * The law that keeps the daemon's own CPU time within a limit: how many calls a second become records, and whose. The
 * users with most records lose first; whoever has few keeps all. Counts are not affected. Without a clock of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"

struct thinning {
	double limit;		   /* CPU time per time, above 0; 1: one CPU */
	double most;		   /* records per second of all users together; 0: no limit */
	double peaks[USER_SHARES]; /* records per second without any limit, of the last seconds, by share */
};

/* What was measured since the last step. */
struct thinning_sample {
	double seconds;			/* its length, above 0 */
	double used;			/* CPU time per time */
	double n_kept[USER_SHARES];	/* calls that became records, by share */
	double n_left_out[USER_SHARES]; /* calls that did not, since they were thinned */
};

/**
 * thinning_step() - decide for the time until the next step
 * @ret_keep: by share: part of the calls with a reason that become records, of 2^32; 0: all
 * Return: whether some are left out
 */
bool thinning_step(struct thinning *thinning, const struct thinning_sample *sample, uint32_t ret_keep[USER_SHARES]);
