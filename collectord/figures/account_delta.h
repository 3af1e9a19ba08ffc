// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts and waits of one process since an earlier moment: what is now less what was then.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "figures/account.h"

/* One process at one moment, or between two. */
struct account_set {
	ARRAY(struct account) accounts;
	ARRAY(struct account_wait) waits; /* of a moment that is subtracted: by account_set_copy() */
};

#define ACCOUNT_SET_INIT                                                                                               \
	{                                                                                                              \
		.accounts = {.items = NULL }                                                                           \
	}

void account_set_done(struct account_set *set);
/** account_set_copy() - remember a moment. Return: 0 or -ENOMEM */
int account_set_copy(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
		     size_t n_waits, struct account_set *ret);
/**
 * account_set_since() - what happened after an earlier moment
 *
 * A thread that was told singly then may be one of several now, and the other way round. What of the several is not
 * known to have been before is of this time; a thread has no more time than there was.
 *
 * @then:    a copy; NULL: there was nothing
 * @most_ns: time between both moments
 * @ret:     accounts without any time are left out; release with account_set_done()
 * Return: 0 or -ENOMEM
 */
int account_set_since(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
		      size_t n_waits, const struct account_set *then, uint64_t most_ns, struct account_set *ret);
