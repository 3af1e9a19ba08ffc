// SPDX-License-Identifier: Apache-2.0
/* The time of a driving thread in one tick: sums of its account for detectors. */
#pragma once

#include <stdint.h>

#include "figures/account.h"

struct driving {
	const struct account *account;
	uint64_t in_ns[BLAME_COUNT];	  /* in calls, ON_CPU too */
	uint64_t between_ns[BLAME_COUNT]; /* calls, likewise */
	uint64_t calls_ns;		  /* in calls, all classes */
	uint64_t device_ns;		  /* in calls, waiting for the device: a synchronising operation may spin */
};

/** driving_of() - @account: borrowed */
void driving_of(const struct account *account, struct driving *ret);
/**
 * driving_least() - minimum cost of a delay between calls
 * While the device still had work the delay may have cost nothing, because the next wait for the device was shorter.
 * The outstanding work is unknown here, so up to the thread's waits for the device may be hidden.
 */
uint64_t driving_least(const struct driving *driving, uint64_t between_ns);
