// SPDX-License-Identifier: Apache-2.0
/*
 * Chains of wakers: who ended a wait, what that thread mostly did meanwhile, who ended its wait, and so on.
 */
#pragma once

#include "figures/account.h"

/* A thread that the one before waited for. */
struct wait_hop {
	const struct account_wait *ended; /* its waker_tgid, waker_tid, waker_uid and waker_comm are this thread */
	const struct account_wait *did;	  /* what it did most: the longest row of its kind; NULL: not known */
	bool is_one;			  /* that row is most of what it did in this way: its resource may be named */
	uint64_t ns;			  /* how long it did so, of the wait's time; without .did: 0 */
};

/**
 * wait_chain() - the chain of a wait
 * @waits: of the process
 * @wait:  of a thread of the process, ended by somebody or not
 *
 * A thread without an account is known by what it did while it was waited for (is_meanwhile), one with an account by
 * all its waits, if they were half as long. A thread is not followed twice.
 *
 * Return: number of hops
 */
size_t wait_chain(const struct account_wait *waits, size_t n, const struct account_wait *wait,
		  struct wait_hop ret[WAIT_HOPS_MOST]);
