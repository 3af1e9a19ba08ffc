// SPDX-License-Identifier: Apache-2.0
/* What a thread did while another one of its process waited for it: worked, maybe for the other one, or waited, too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "detect/detector.h"

/** holder_waits() - whether it mostly waited. A thread that computes may do so for the waiting one */
bool holder_waits(const struct detector_view *view, uint32_t tid);
/**
 * holder_stands() - whether it got nothing done for at least half of the wait
 * @ns: of the wait; reduced to the time in which a thread with calls got nothing done
 *
 * Of a thread without calls it is not known: it computed, or its activity was not measured. Return: true for it
 */
bool holder_stands(const struct detector_view *view, uint32_t tid, uint64_t *ns);
/**
 * holder_paces() - whether the thread that ended a wait holds nothing, but signals at a pace of its own
 * @w: wait that another thread of the process ended, and no known wait of that thread explains
 *
 * A condition variable of the C library (pthread_cond_t of glibc) has two futexes beside each other, on which a thread
 * waits in turns. If a thread mostly sleeps, or waits with a time limit, before it signals one, the program asked for
 * that. A semaphore, such as the locks of Python are made of, has one futex, as a mutex has: false for both.
 */
bool holder_paces(const struct detector_view *view, const struct account_wait *w);
