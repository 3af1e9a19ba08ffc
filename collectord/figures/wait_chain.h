// SPDX-License-Identifier: Apache-2.0
/*
 * Chains of wakers: which thread ended a wait, what that thread mostly did meanwhile, which thread ended its wait, and
 * so on.
 */
#pragma once

#include "figures/account.h"

/* One thread of a chain: the waker of the wait before. */
struct wait_hop {
	const struct account_wait *ended; /* the wait that this thread ended: its waker_* fields name the thread */
	const struct account_wait *did;	  /* what it did longest: the longest wait of that kind; NULL: unknown */
	bool is_one;			  /* .did is most of the time of that kind: its resource may be named */
	uint64_t ns;			  /* part of the wait's time in which it did so; 0 without .did */
};

/**
 * wait_is_most() - whether time is the main part of a wait: half of it
 * @ns: time that the waker, or the thread that it waited for, spent on one thing meanwhile
 */
static inline bool wait_is_most(uint64_t ns, uint64_t wait_ns)
{
	return ns >= wait_ns / 2;
}

/**
 * wait_has_meanwhile() - which waits tell what a thread did while another one waited for it
 * Return: true: those with is_meanwhile; false: all its waits, which are a part of its time
 */
bool wait_has_meanwhile(const struct account_wait *waits, size_t n, uint32_t tid);

/**
 * wait_chain() - find the chain of a wait
 * @waits: all waits of the process
 * @wait: wait of a thread of the process, with or without a waker
 *
 * What a thread without an account did is known from the time in which another thread waited for it (is_meanwhile).
 * What a thread with an account did is known from all its waits, if they make up at least half the time. No thread is
 * followed twice.
 *
 * Return: number of hops
 */
size_t wait_chain(const struct account_wait *waits, size_t n, const struct account_wait *wait,
		  struct wait_hop ret[WAIT_HOPS_MOST]);
