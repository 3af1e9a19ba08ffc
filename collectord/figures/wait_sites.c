// SPDX-License-Identifier: Apache-2.0
#include "figures/wait_sites.h"

#include <stdlib.h>

#include "base/array.h"
#include "bpf/record.h"
#include "events/sites.h"
#include "events/stack.h"
#include "figures/account.h"

#define OPEN_WEIGHT_NS 1 /* of a wait in progress: least of all */

struct wait_site {
	uint64_t resource;
	uint32_t device, tid;
	uint8_t class, kind;
	uint64_t ns;
	struct stack *open;	       /* a reference: of the last one that was in progress; NULL: none was */
	struct sites all, fresh, tick; /* since the first call; since the last tick; of that tick */
};

struct wait_sites {
	ARRAY(struct wait_site) list;
};

static bool is_of_wait(const struct wait_site *site, uint32_t tid, uint8_t class, uint8_t kind, uint64_t resource,
		       uint32_t device)
{
	return site->tid == tid && site->class == class && site->kind == kind && site->resource == resource &&
	       site->device == device;
}

struct wait_sites *wait_sites_new(void)
{
	return calloc(1, sizeof(struct wait_sites));
}

static void wait_site_done(struct wait_site *site)
{
	sites_done(&site->all);
	sites_done(&site->fresh);
	sites_done(&site->tick);
	(void)stack_unref(site->open);
}

void wait_sites_free(struct wait_sites *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->list.n; i++)
		wait_site_done(&s->list.items[i]);
	ARRAY_DONE(&s->list);
	free(s);
}

/* Return: NULL without memory */
static struct wait_site *wait_site_take(struct wait_sites *s, const struct wait_key *key)
{
	const struct wait_site fresh = { .resource = key->resource,
					 .device = key->device,
					 .tid = key->tid,
					 .class = key->class,
					 .kind = key->kind };
	struct wait_site *least = NULL;

	for (size_t i = 0; i < s->list.n; i++) {
		struct wait_site *site = &s->list.items[i];

		if (is_of_wait(site, key->tid, key->class, key->kind, key->resource, key->device))
			return site;
		if (!least || site->ns < least->ns)
			least = site;
	}
	if (s->list.n < WAIT_SITES_MOST)
		return ARRAY_PUSH(&s->list, fresh) < 0 ? NULL : &s->list.items[s->list.n - 1];
	wait_site_done(least);
	*least = fresh;
	return least;
}

static void wait_site_add(struct wait_site *site, struct stack *stack, uint64_t ns)
{
	site->ns += ns;
	sites_note(&site->all, stack, ns);
	sites_note(&site->fresh, stack, ns);
}

void wait_sites_note(struct wait_sites *s, const struct wait_key *key, struct stack *stack, uint64_t ns)
{
	struct wait_site *site = wait_site_take(s, key);

	if (site)
		wait_site_add(site, stack, ns);
}

void wait_sites_note_open(struct wait_sites *s, const struct wait_key *key, struct stack *stack)
{
	struct wait_site *site = wait_site_take(s, key);

	if (!site)
		return;
	(void)stack_unref(site->open);
	site->open = stack_ref(stack);
	wait_site_add(site, stack, OPEN_WEIGHT_NS);
}

static const struct wait_site *wait_site_find(const struct wait_sites *s, const struct account_wait *wait)
{
	for (size_t i = 0; i < s->list.n; i++) {
		const struct wait_site *site = &s->list.items[i];

		if (is_of_wait(site, wait->tid, wait->class, wait->kind, wait->resource, wait->device))
			return site;
	}
	return NULL;
}

const struct sites *wait_sites_find(const struct wait_sites *s, const struct account_wait *wait, bool is_tick)
{
	const struct wait_site *site = wait_site_find(s, wait);

	return site ? is_tick ? &site->tick : &site->all : NULL;
}

const struct stack *wait_sites_open(const struct wait_sites *s, const struct account_wait *wait)
{
	const struct wait_site *site = wait_site_find(s, wait);

	return site ? site->open : NULL;
}

void wait_sites_taken(struct wait_sites *s)
{
	for (size_t i = 0; i < s->list.n; i++) {
		struct wait_site *site = &s->list.items[i];

		sites_done(&site->tick);
		site->tick = site->fresh;
		site->fresh.n = 0;
	}
}
