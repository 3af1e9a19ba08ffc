// SPDX-License-Identifier: Apache-2.0
/*
 * Where the time of a driving thread went in one tick: its account, added up as detectors ask for it.
 */
#pragma once

#include <stdint.h>

#include "figures/account.h"

struct driving {
	const struct account *account;
	uint64_t in_ns[BLAME_COUNT];	  /* in calls, ON_CPU too */
	uint64_t between_ns[BLAME_COUNT]; /* calls, likewise */
	uint64_t calls_ns;		  /* in calls, all classes */
	uint64_t device_ns; /* in calls, waiting for the device: an operation that synchronises may spin */
};

/** driving_of() - @account: borrowed */
void driving_of(const struct account *account, struct driving *ret);
/**
 * driving_least() - what a delay between calls cost at least
 * While the device still had work the delay may have cost nothing: the next wait for the device was the shorter. How
 * much work was outstanding is not known here, so as much as the thread waited for the device may be hidden.
 */
uint64_t driving_least(const struct driving *driving, uint64_t between_ns);
