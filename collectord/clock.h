// SPDX-License-Identifier: Apache-2.0
/*
 * The only reader of time. Inside the daemon, times are CLOCK_MONOTONIC nanoseconds. The mapping to wall-clock time is
 * measured again when it is older than CLOCK_REMAP_NS, so that steps of the wall clock are followed.
 */
#pragma once

#include <stdint.h>

#define CLOCK_REMAP_NS 1000000000ull

uint64_t clock_now_ns(void);
/** clock_spent_ns() - CPU time of the calling thread: the cost of work, however busy the machine is */
uint64_t clock_spent_ns(void);
/** clock_to_unix_ns() - wall-clock time of a monotonic time, by the current mapping */
uint64_t clock_to_unix_ns(uint64_t monotonic_ns);
/** clock_boot_to_unix_ns() - wall-clock time of a CLOCK_BOOTTIME time, such as a process's start */
uint64_t clock_boot_to_unix_ns(uint64_t boot_ns);
