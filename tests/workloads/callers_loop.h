// SPDX-License-Identifier: Apache-2.0
/* Calls at a known depth of the stack, timed: libcallers-loop.so, for callers-loop and callers_loop.py. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define LOOP_PATHS 4096u

/**
 * callers_loop() - make calls, and measure what they cost
 * @depth:  frames of this library below the caller of this function
 * @paths:  number of different stacks, one after the other; at most LOOP_PATHS
 * @calls:  of a measurement
 * @chunks: measurements
 * Return: CPU time of a call with the way to it, nanoseconds, median of the measurements
 */
double callers_loop(unsigned int depth, unsigned int paths, unsigned int calls, unsigned int chunks);
/** callers_loop_frames() - number of frames from this function on, as backtrace(3) counts; calls have `depth` + 1 more
 */
int callers_loop_frames(void);

#ifdef __cplusplus
}
#endif
