// SPDX-License-Identifier: Apache-2.0
/* Accounts and waits of one process since an earlier moment: the current values minus the earlier ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "figures/account.h"

/* One process at one moment, or between two. */
struct account_set {
	ARRAY(struct account) accounts;
	ARRAY(struct account_wait) waits; /* of a subtracted moment: as sorted by account_set_copy() */
};

#define ACCOUNT_SET_INIT                                                                                               \
	{                                                                                                              \
		.accounts = {.items = NULL }                                                                           \
	}

void account_set_done(struct account_set *set);
/** account_set_copy() - copy the values of a moment. Return: 0 or -ENOMEM */
int account_set_copy(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
		     size_t n_waits, struct account_set *ret);
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
		      size_t n_waits, const struct account_set *then, uint64_t most_ns, struct account_set *ret);
