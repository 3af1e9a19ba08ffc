// SPDX-License-Identifier: Apache-2.0
/*
 * Programs of the kernel half run inside RCU read sides: a grace period outlasts all that run at its beginning.
 */
#pragma once

#include <stdbool.h>

/**
 * grace_wait() - wait until every program of the kernel half that runs now has ended: some 10 ms
 * Return: whether that is certain; if a kernel or a filter refuses the barrier, 20 ms have passed instead
 */
bool grace_wait(void);
