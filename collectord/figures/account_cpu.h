// SPDX-License-Identifier: Apache-2.0
/* CPU time of threads, and the share of it that tracing takes from the thread that loses most. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "figures/account_delta.h"

/** account_cpu_ns() - CPU time in the parts of an account, in calls and between them */
uint64_t account_cpu_ns(const struct account *account);
/** account_calls() - calls at depth 0 of several threads */
uint64_t account_calls(const struct account *accounts, size_t n_accounts);
/**
 * account_call_rate() - calls at depth 0 for a nanosecond of CPU time, of the thread of a process that makes most
 * @then: accounts at the begin of the interval; NULL: since the first calls
 * Return: below 0: unknown, because no thread has CPU time in the interval
 */
double account_call_rate(const struct account *accounts, size_t n_accounts, const struct account_moment *then);
/**
 * account_worst_share() - largest share of its own CPU time that a thread of a process spent on something that takes
 * the same time in every call
 * @rate:    of account_call_rate(), not below 0
 * @n_calls: calls at depth 0 of all threads in the interval, also of those without an account now
 * @ns:      time that it took of all threads, nanoseconds
 * Return: 0 to 1
 */
double account_worst_share(double rate, uint64_t n_calls, uint64_t ns);
