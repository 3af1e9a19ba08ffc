// SPDX-License-Identifier: Apache-2.0
/* Accounts and waits of one process since an earlier moment: the current values minus the earlier ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "figures/account.h"

typedef ARRAY(struct account) account_list;

/* One process between two moments. */
struct account_set {
	account_list accounts;
	ARRAY(struct account_wait) waits;
};

#define ACCOUNT_SET_INIT                                                                                               \
	{                                                                                                              \
		.accounts = {.items = NULL }                                                                           \
	}

void account_set_done(struct account_set *set);

/* A wait at an earlier moment: what identifies it, and its sums. Without names, which are most of its bytes. */
struct account_waited {
	uint64_t ns;
	uint64_t count;
	uint64_t resource;
	uint32_t device, tid, op, waker_tgid, waker_tid;
	uint8_t class, kind;
	bool is_meanwhile, is_open;
};

/* Accounts and waits at an earlier moment, to be subtracted. A Trace call keeps several of each process. */
struct account_moment {
	account_list accounts;
	ARRAY(struct account_waited) waits; /* sorted */
};

void account_moment_done(struct account_moment *moment);
/** account_moment_bytes() - memory that the copies hold */
size_t account_moment_bytes(const struct account_moment *moment);
/** account_moment_take() - copy the values of a moment. Return: 0 or -ENOMEM */
int account_moment_take(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
			size_t n_waits, struct account_moment *ret);
/**
 * account_set_since() - subtract an earlier moment
 *
 * A thread listed singly then may be in the sum of several now, and the other way round. Time of the sum counts as new
 * unless it is known to be older; no thread gets more time than has passed.
 *
 * @then: copy of the earlier moment; NULL: nothing to subtract
 * @most_ns: time between the two moments
 * @ret:     accounts without any time are left out; release with account_set_done()
 * Return: 0 or -ENOMEM
 */
int account_set_since(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
		      size_t n_waits, const struct account_moment *then, uint64_t most_ns, struct account_set *ret);
