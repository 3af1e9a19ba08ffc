// SPDX-License-Identifier: Apache-2.0
/*
 * Between libingero-standin.so and the stand-in libraries.
 */
#pragma once

#include <stdint.h>

#include "control.h"

#define STANDIN_EXPORT __attribute__((visibility("default")))

/* Non-zero: every call takes the way through standin_enter() and standin_leave(). Read by the function heads. */
extern STANDIN_EXPORT unsigned int standin_attention;

/** standin_enter() - count an entry, then do what was asked for this function
 * @ret_code: what the call returns instead of doing its work
 * Return: 1 when the call ends here with *ret_code, else 0 */
STANDIN_EXPORT int standin_enter(unsigned int number, int *ret_code);
/** standin_leave() - count a return */
STANDIN_EXPORT void standin_leave(unsigned int number);

/** standin_now_ns() - CLOCK_MONOTONIC */
STANDIN_EXPORT uint64_t standin_now_ns(void);
/** standin_wait_until() - let time pass, one way or another */
STANDIN_EXPORT void standin_wait_until(uint64_t at_ns, enum ingero_standin_how how);

/* The device as modelled; atomic, set by environment and ingero_standin_device(). */
struct standin_device {
	uint64_t kernel_ns;
	uint64_t bytes_per_us;
	unsigned int how;  /* enum ingero_standin_how */
	int unlisted_code; /* what functions without an implementation return */
};
extern STANDIN_EXPORT struct standin_device standin_device;
