// SPDX-License-Identifier: Apache-2.0
/*
 * The law that keeps the CPU time of records within a limit: what part of whose calls become records. The users whose
 * records cost most lose first; whoever's cost less than a fair part of the limit keeps all, whatever others do and
 * whatever else the daemon does. Counts are not affected. Without a clock of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"

/* Zeroed but for the limit at first. */
struct thinning {
	double limit;		   /* CPU time per time, above 0; 1: one CPU */
	double peaks[USER_SHARES]; /* records per second without any limit, of the last seconds, by share */
	double costs[USER_SHARES]; /* CPU time per time that these would take, likewise */
	double took_s[USER_SHARES], n_took[USER_SHARES]; /* CPU time and number of records, of the last steps */
	bool is_on;					 /* some were left out at the last step */
};

/* What was measured since the last step, by share. */
struct thinning_sample {
	double seconds;			/* its length, above 0 */
	double cost_s[USER_SHARES];	/* CPU time that the user's own records took */
	double n_kept[USER_SHARES];	/* calls that became records */
	double n_left_out[USER_SHARES]; /* calls that did not, since they were thinned */
};

/**
 * thinning_step() - decide for the time until the next step
 * @ret_keep: by share: part of the calls with a reason that become records, of 2^32; 0: all
 * Return: whether some are left out
 */
bool thinning_step(struct thinning *thinning, const struct thinning_sample *sample, uint32_t ret_keep[USER_SHARES]);
