// SPDX-License-Identifier: Apache-2.0
#include "figures/account_delta.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Readings of one second are not exactly one second apart. */
#define SPARE_NS(ns) ((ns) + (ns) / 4 + 100 * NSEC_PER_MSEC)

static void accounts_done(account_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		ARRAY_DONE(&list->items[i].parts);
	ARRAY_DONE(list);
}

void account_set_done(struct account_set *set)
{
	accounts_done(&set->accounts);
	ARRAY_DONE(&set->waits);
}

void account_moment_done(struct account_moment *moment)
{
	accounts_done(&moment->accounts);
	ARRAY_DONE(&moment->waits);
}

size_t account_moment_bytes(const struct account_moment *moment)
{
	size_t n = moment->accounts.room * sizeof(*moment->accounts.items) +
		   moment->waits.room * sizeof(*moment->waits.items);

	for (size_t i = 0; i < moment->accounts.n; i++)
		n += moment->accounts.items[i].parts.room * sizeof(*moment->accounts.items[i].parts.items);
	return n;
}

static struct account_waited waited_of(const struct account_wait *wait)
{
	return (struct account_waited){ .ns = wait->ns,
					.count = wait->count,
					.resource = wait->resource,
					.device = wait->device,
					.tid = wait->tid,
					.op = wait->op,
					.waker_tgid = wait->waker_tgid,
					.waker_tid = wait->waker_tid,
					.class = wait->class,
					.kind = wait->kind,
					.is_meanwhile = wait->is_meanwhile,
					.is_open = wait->is_open };
}

static int waited_order(const void *a, const void *b)
{
	const struct account_waited *x = a, *y = b;

#define BY(member)                                                                                                     \
	if (x->member != y->member)                                                                                    \
		return x->member < y->member ? -1 : 1;
	BY(tid)
	BY(op)
	BY(class)
	BY(kind)
	BY(resource)
	BY(device)
	BY(waker_tgid)
	BY(waker_tid)
	BY(is_meanwhile)
	BY(is_open)
#undef BY
	return 0;
}

/* Return: 0 or -ENOMEM */
static int account_copy_add(account_list *list, const struct account *account)
{
	struct account copy = *account;

	memset(&copy.parts, 0, sizeof(copy.parts));
	for (size_t i = 0; i < account->parts.n; i++)
		if (ARRAY_PUSH(&copy.parts, account->parts.items[i]) < 0) {
			ARRAY_DONE(&copy.parts);
			return -ENOMEM;
		}
	if (ARRAY_PUSH(list, copy) == 0)
		return 0;
	ARRAY_DONE(&copy.parts);
	return -ENOMEM;
}

int account_moment_take(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
			size_t n_waits, struct account_moment *ret)
{
	struct account_moment moment = { .accounts = { .items = NULL } };
	int r = 0;

	for (size_t i = 0; i < n_accounts && r == 0; i++)
		r = account_copy_add(&moment.accounts, &accounts[i]);
	for (size_t i = 0; i < n_waits && r == 0; i++)
		r = ARRAY_PUSH(&moment.waits, waited_of(&waits[i]));
	if (r < 0) {
		account_moment_done(&moment);
		return r;
	}
	ARRAY_FIT(&moment.waits); /* kept for long, and often */
	if (moment.waits.n)
		qsort(moment.waits.items, moment.waits.n, sizeof(*moment.waits.items), waited_order);
	*ret = moment;
	return 0;
}

static bool has_tid(const struct account *accounts, size_t n, uint32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (accounts[i].tid == tid)
			return true;
	return false;
}

static void account_subtract(struct account *account, const struct account *before)
{
	for (size_t i = 0; i < account->parts.n; i++)
		for (size_t k = 0; k < before->parts.n; k++) {
			struct account_part *part = &account->parts.items[i];
			const struct account_part *b = &before->parts.items[k];

			if (part->where == b->where && part->op == b->op && part->class == b->class)
				part->ns -= MIN(part->ns, b->ns);
		}
	account->calls -= MIN(account->calls, before->calls);
}

/* Remove parts without time, and set the wall clock to the sum of the rest. */
static void account_settle(struct account *account, uint64_t most_ns)
{
	uint64_t sum_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < account->parts.n; i++)
		sum_ns += account->parts.items[i].ns;
	account->wall_ns = 0;
	for (size_t i = 0; i < account->parts.n; i++) {
		struct account_part part = account->parts.items[i];

		if (account->tid && sum_ns > most_ns)
			part.ns = (uint64_t)((unsigned __int128)part.ns * most_ns / sum_ns);
		if (!part.ns)
			continue;
		account->wall_ns += part.ns;
		account->parts.items[n++] = part;
	}
	account->parts.n = n;
}

static int waits_since(const struct account_wait *waits, size_t n_waits, const struct account_moment *then,
		       struct account_set *ret)
{
	for (size_t i = 0; i < n_waits; i++) {
		struct account_wait wait = waits[i];
		struct account_waited now = waited_of(&wait);
		size_t n = then ? then->waits.n : 0,
		       place = SORTED_PLACE(n, k, waited_order(&then->waits.items[k], &now) < 0);

		if (place < n && waited_order(&then->waits.items[place], &now) == 0) {
			wait.ns -= MIN(wait.ns, then->waits.items[place].ns);
			wait.count -= MIN(wait.count, then->waits.items[place].count);
		}
		if (wait.ns && ARRAY_PUSH(&ret->waits, wait) < 0)
			return -ENOMEM;
	}
	return 0;
}

int account_set_since(const struct account *accounts, size_t n_accounts, const struct account_wait *waits,
		      size_t n_waits, const struct account_moment *then, uint64_t most_ns, struct account_set *ret)
{
	struct account_set set = ACCOUNT_SET_INIT;
	int r = 0;

	for (size_t i = 0; i < n_accounts && r == 0; i++) {
		struct account *account;

		r = account_copy_add(&set.accounts, &accounts[i]);
		if (r < 0)
			break;
		account = &set.accounts.items[set.accounts.n - 1];
		for (size_t k = 0; then && k < then->accounts.n; k++) {
			const struct account *before = &then->accounts.items[k];

			if (before->tid == account->tid ||
			    (!account->tid && !has_tid(accounts, n_accounts, before->tid)))
				account_subtract(account, before);
		}
		account_settle(account, SPARE_NS(most_ns));
		if (!account->wall_ns) {
			ARRAY_DONE(&account->parts);
			set.accounts.n--;
		}
	}
	if (r == 0)
		r = waits_since(waits, n_waits, then, &set);
	if (r < 0) {
		account_set_done(&set);
		return r;
	}
	*ret = set;
	return 0;
}
