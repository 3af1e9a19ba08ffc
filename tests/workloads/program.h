// SPDX-License-Identifier: Apache-2.0
/*
 * What every workload does in the same way: says that it is there, waits to be told
 * to begin, reads clocks.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/** program_ready() - print 'ready PID'; a tracer may attach now */
void program_ready(void);
/** program_wait_for_line() - read stdin up to the end of a line, or of all */
void program_wait_for_line(void);
/** program_clock_ns() - a clock of clock_gettime(2) */
uint64_t program_clock_ns(clockid_t clock);
/** program_sleep_until() - CLOCK_MONOTONIC; signals do not shorten it */
void program_sleep_until(uint64_t at_ns);

#ifdef __cplusplus
}
#endif
