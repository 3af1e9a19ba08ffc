// SPDX-License-Identifier: Apache-2.0
/* C++ exceptions for a test in C. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void throw_now(void);
/** throw_caught() - Return: 1 when func threw, else 0 */
int throw_caught(int (*func)(void *data), void *data);

#ifdef __cplusplus
}
#endif
