// SPDX-License-Identifier: Apache-2.0
/* Ways of a thread to spend its time: each on or off the CPU for WAIT_NS, in the way that its name says. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/cleanup.h"

#define WAIT_NS (5 * NSEC_PER_MSEC)

extern const struct timespec wait_time; /* WAIT_NS */

void wait_sleep(void);
/** wait_poll() - for a pipe, as a queue of another process is waited for */
void wait_poll(void);
void wait_futex(void);
void wait_spin(void);
/** wait_blocked_ns() - that the thread was neither on a CPU nor ready, by its own clocks; to be subtracted */
uint64_t wait_blocked_ns(void);
/** spin() - until the thread's own CPU clock has gone on so far */
void spin(uint64_t ns);
