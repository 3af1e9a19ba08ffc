// SPDX-License-Identifier: Apache-2.0
/* Threads beside a loop. */
#pragma once

#include <pthread.h>

/**
 * thread_start() - start a thread that takes no signal: signals belong to the loop
 * Return: 0 or -errno
 */
int thread_start(pthread_t *ret_thread, void *(*func)(void *data), void *data);
