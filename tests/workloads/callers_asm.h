// SPDX-License-Identifier: Apache-2.0
/* What callers_asm.S has: functions, and labels behind their calls. */
#pragma once

#include "callers.h"

#ifdef __cplusplus
extern "C" {
#endif

extern callers_fn *callers_real; /* what they call */
extern const void *callers_lie;	 /* frame of callers_lies */

callers_fn callers_by_plt, callers_gap, callers_frame_pointer, callers_lies, callers_claims;
extern const char callers_by_plt_return[], callers_gap_return[], callers_frame_pointer_return[], callers_lies_return[],
	callers_claims_return[];

/** callers_fault() - its first instruction writes to the address */
int callers_fault(int *address);
extern const char callers_fault_next[];
/** callers_spin() - until the word is not 0 */
unsigned int callers_spin(volatile int *is_over);
/** callers_on() - run a function on another stack; unwinders are not told
 * @stack: its end, a multiple of 16 */
void callers_on(void *stack, void (*run)(void));

#ifdef __cplusplus
}
#endif
