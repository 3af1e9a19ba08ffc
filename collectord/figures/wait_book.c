// SPDX-License-Identifier: Apache-2.0
#include "figures/wait_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "figures/open_waits.h"

#define LIST_ENOUGH (4 * WAITS_MOST) /* a list of so many has further waits in progress as sums */

struct book_wait {
	struct account_wait all;
	bool is_sum;
	uint64_t fresh_ns, fresh_max_ns, fresh_count;
	uint64_t fresh_earlier_ns; /* part of fresh_ns that was reported while the wait was in progress */
};

/* An entry of the kernel's map. */
struct book_key {
	struct wait_key key;
	uint64_t last_ns, last_count;
	uint64_t reading; /* that it was in last */
	size_t wait;	  /* index of the wait that it adds to */
};

struct wait_book {
	ARRAY(struct book_wait) waits;
	ARRAY(struct book_key) keys; /* ascending */
	struct open_waits open;
	size_t n_sums;
};

struct wait_book *wait_book_new(void)
{
	return calloc(1, sizeof(struct wait_book));
}

void wait_book_free(struct wait_book *b)
{
	if (!b)
		return;
	ARRAY_DONE(&b->waits);
	ARRAY_DONE(&b->keys);
	open_waits_done(&b->open);
	free(b);
}

/* Whether both are for the same resource, and were ended by the same thread. */
static bool is_same_wait(const struct account_wait *a, const struct account_wait *b)
{
	return account_wait_is_same_resource(a, b) && a->waker_tgid == b->waker_tgid && a->waker_tid == b->waker_tid &&
	       a->is_meanwhile == b->is_meanwhile && a->is_open == b->is_open;
}

/* The sum to which a wait belongs: without its resource and waker. */
static struct account_wait wait_sum_of(const struct account_wait *w)
{
	return (struct account_wait){
		.tid = w->tid, .op = w->op, .class = w->class, .kind = w->kind, .is_meanwhile = w->is_meanwhile
	};
}

/* ---- replacing the smallest wait by a sum ---- */

/* Find a wait, or add it with no time. Return: its index; the number of waits: no memory */
static size_t wait_take(struct wait_book *b, const struct account_wait *wait, bool is_sum)
{
	struct book_wait fresh = { .all = *wait, .is_sum = is_sum };

	for (size_t i = 0; i < b->waits.n; i++)
		if (b->waits.items[i].is_sum == is_sum && is_same_wait(&b->waits.items[i].all, wait))
			return i;
	fresh.all.ns = fresh.all.max_ns = fresh.all.count = 0;
	if (ARRAY_PUSH(&b->waits, fresh) < 0)
		return b->waits.n;
	b->n_sums += is_sum;
	return b->waits.n - 1;
}

static void keys_move(struct wait_book *b, size_t from, size_t to)
{
	for (size_t i = 0; i < b->keys.n; i++)
		if (b->keys.items[i].wait == from)
			b->keys.items[i].wait = to;
}

static int smallest_fold(struct wait_book *b)
{
	size_t smallest = b->waits.n, sum;
	struct account_wait whose;
	struct book_wait *to, from;

	for (size_t i = 0; i < b->waits.n; i++)
		if (!b->waits.items[i].is_sum &&
		    (smallest == b->waits.n || b->waits.items[i].all.ns < b->waits.items[smallest].all.ns))
			smallest = i;
	whose = wait_sum_of(&b->waits.items[smallest].all);
	if (b->n_sums >= WAITS_MOST) {
		whose.tid = 0;
		whose.kind = RESOURCE_NONE;
	}
	sum = wait_take(b, &whose, /* is_sum= */ true);
	if (sum == b->waits.n)
		return -ENOMEM;

	from = b->waits.items[smallest];
	to = &b->waits.items[sum];
	to->all.ns += from.all.ns;
	to->all.count += from.all.count;
	to->all.max_ns = MAX(to->all.max_ns, from.all.max_ns);
	to->fresh_ns += from.fresh_ns;
	to->fresh_earlier_ns += from.fresh_earlier_ns;
	to->fresh_count += from.fresh_count;
	to->fresh_max_ns = MAX(to->fresh_max_ns, from.fresh_max_ns);
	keys_move(b, smallest, sum);
	keys_move(b, b->waits.n - 1, smallest);
	ARRAY_REMOVE_SWAP(&b->waits, smallest);
	return 0;
}

/* ---- a reading ---- */

static void wait_name(struct account_wait *wait, const struct wait_value *value, const char *path)
{
	wait->waker_uid = value->waker_uid;
	wait->is_waker_guarded = value->is_waker_guarded;
	memcpy(wait->waker_comm, value->waker_comm, sizeof(wait->waker_comm));
	wait->waker_comm[sizeof(wait->waker_comm) - 1] = 0;
	account_wait_name_set(wait, value->name, path);
}

/* Return: NULL without memory */
static struct book_key *wait_key_take(struct wait_book *b, const struct wait_key *key)
{
	struct book_key *keys = b->keys.items, fresh = { .key = *key };
	struct account_wait wait = {
		.resource = key->resource,
		.device = key->device,
		.tid = key->tid,
		.op = key->op,
		.waker_tgid = key->waker_tgid,
		.waker_tid = key->waker_tid,
		.class = key->class,
		.kind = key->kind,
		.is_meanwhile = key->is_meanwhile,
	};
	size_t place = SORTED_PLACE(b->keys.n, i, memcmp(&keys[i].key, key, sizeof(*key)) < 0);

	if (place < b->keys.n && memcmp(&keys[place].key, key, sizeof(*key)) == 0)
		return &keys[place];
	if (b->waits.n - b->n_sums >= WAITS_MOST && smallest_fold(b) < 0)
		return NULL;
	fresh.wait = wait_take(b, &wait, /* is_sum= */ false);
	if (fresh.wait == b->waits.n || ARRAY_PUSH(&b->keys, fresh) < 0)
		return NULL;
	keys = b->keys.items;
	memmove(&keys[place + 1], &keys[place], (b->keys.n - 1 - place) * sizeof(*keys));
	keys[place] = fresh;
	return &keys[place];
}

int wait_book_note(struct wait_book *b, const struct wait_key *key, const struct wait_value *value, const char *path,
		   uint64_t reading)
{
	struct book_key *k = key->class < BLAME_COUNT && key->kind < RESOURCE_COUNT ? wait_key_take(b, key) : NULL;
	struct book_wait *w;
	uint64_t ns, count, max_ns;

	if (!k)
		return key->class < BLAME_COUNT && key->kind < RESOURCE_COUNT ? -ENOMEM : 0;
	if (value->ns < k->last_ns || value->count < k->last_count)
		k->last_ns = k->last_count = 0; /* the entry was evicted and began anew */
	ns = value->ns - k->last_ns;
	count = value->count - k->last_count;
	k->last_ns = value->ns;
	k->last_count = value->count;
	k->reading = reading;
	if (!ns && !count)
		return 0; /* keep the name from then: the number may belong to another thread now */

	w = &b->waits.items[k->wait];
	max_ns = MIN(value->max_ns, ns);
	w->all.ns += ns;
	w->all.count += count;
	w->all.max_ns = MAX(w->all.max_ns, value->max_ns);
	w->fresh_ns += ns;
	w->fresh_earlier_ns += open_waits_settle(&b->open,
						 &(struct account_wait){ .resource = key->resource,
									 .device = key->device,
									 .tid = key->tid,
									 .op = key->op,
									 .class = key->class,
									 .kind = key->kind },
						 ns);
	w->fresh_count += count;
	w->fresh_max_ns = MAX(w->fresh_max_ns, max_ns);
	if (!w->is_sum)
		wait_name(&w->all, value, path);
	return 0;
}

int wait_book_open(struct wait_book *b, const struct account_record *record, const char *path, uint64_t reading)
{
	struct account_wait wait = {
		.ns = record->wait_ns,
		.max_ns = record->wait_ns,
		.resource = record->wait_resource,
		.device = record->wait_device,
		.tid = record->tid,
		.op = record->open_op,
		.class = record->wait_class,
		.kind = record->wait_kind,
		.is_open = true,
	};
	struct account_wait *noted;
	int r;

	if (record->wait_class >= BLAME_COUNT || record->wait_kind >= RESOURCE_COUNT)
		return 0;
	r = open_waits_note(&b->open, &wait, record->wait_since_ns, reading, &noted);
	if (noted)
		account_wait_name_set(noted, record->wait_name, path);
	return r;
}

void wait_book_opened(struct wait_book *b, uint64_t reading)
{
	open_waits_end(&b->open, reading);
}

void wait_book_forget(struct wait_book *b, uint64_t reading)
{
	size_t n = 0;

	for (size_t i = 0; i < b->keys.n; i++)
		if (b->keys.items[i].reading == reading)
			b->keys.items[n++] = b->keys.items[i];
	b->keys.n = n;
}

/* ---- waits as they are reported ---- */

static bool is_told_singly(const struct account *accounts, size_t n, uint32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (accounts[i].tid == tid)
			return true;
	return n == 0;
}

static int wait_add(struct wait_list *list, const struct account_wait *wait)
{
	for (size_t i = 0; i < list->n; i++) {
		struct account_wait *to = &list->items[i];

		if (!is_same_wait(to, wait))
			continue;
		to->ns += wait->ns;
		to->earlier_ns += wait->earlier_ns;
		to->count += wait->count;
		to->max_ns = MAX(to->max_ns, wait->max_ns);
		return 0;
	}
	return ARRAY_PUSH(list, *wait);
}

static int wait_longest_first(const void *a, const void *b)
{
	const struct account_wait *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Of waits in progress, too: threads without an account may wait for as many resources as there are threads. */
static struct account_wait open_sum_of(const struct account_wait *w)
{
	struct account_wait sum = wait_sum_of(w);

	sum.is_open = true;
	sum.ns = w->ns;
	sum.max_ns = w->max_ns;
	return sum;
}

static int waits_tell(const struct wait_book *b, bool is_tick, const struct account *accounts, size_t n_accounts,
		      struct wait_list *ret)
{
	struct wait_list list = { .n = 0 };
	int r = 0;

	for (size_t i = 0; i < b->waits.n && r == 0; i++) {
		const struct book_wait *w = &b->waits.items[i];
		struct account_wait told = w->all;

		if (is_tick) {
			told.ns = w->fresh_ns - MIN(w->fresh_ns, w->fresh_earlier_ns);
			told.earlier_ns = w->fresh_earlier_ns;
			told.count = w->fresh_count;
			told.max_ns = w->fresh_max_ns;
		}
		if (!told.ns && !told.earlier_ns)
			continue;
		if (!told.is_meanwhile && !is_told_singly(accounts, n_accounts, told.tid))
			told.tid = 0;
		r = wait_add(&list, &told);
	}
	for (size_t i = 0; i < b->open.threads.n && r == 0; i++) {
		const struct open_wait *o = &b->open.threads.items[i].now;
		struct account_wait told = o->wait;

		told.ns -= is_tick ? MIN(told.ns, o->told_ns) : 0;
		if (!o->since_ns || !told.ns)
			continue;
		if (!is_told_singly(accounts, n_accounts, told.tid))
			told.tid = 0;
		if (!told.tid && list.n >= LIST_ENOUGH)
			told = open_sum_of(&told);
		r = wait_add(&list, &told);
	}
	if (r < 0) {
		ARRAY_DONE(&list);
		return r;
	}
	if (list.n)
		qsort(list.items, list.n, sizeof(list.items[0]), wait_longest_first);
	*ret = list;
	return 0;
}

/* Processes that are waited for come and go: their name remains. */
static struct account_wait wait_name_sum_of(const struct account_wait *w)
{
	struct account_wait sum = wait_sum_of(w);

	if (w->kind != RESOURCE_CHILD || !w->waker_comm[0])
		return sum;
	sum.waker_uid = w->waker_uid;
	sum.is_waker_guarded = w->is_waker_guarded;
	memcpy(sum.waker_comm, w->waker_comm, sizeof(sum.waker_comm));
	return sum;
}

static bool is_same_name(const struct account_wait *a, const struct account_wait *b)
{
	return a->waker_uid == b->waker_uid && a->is_waker_guarded == b->is_waker_guarded &&
	       memcmp(a->waker_comm, b->waker_comm, sizeof(a->waker_comm)) == 0;
}

void wait_list_fold(struct wait_list *list, size_t singly, size_t most)
{
	size_t n = list->n;

	if (n <= most)
		return;
	list->n = MIN(singly, n);
	for (size_t i = list->n; i < n; i++) {
		const struct account_wait wait = list->items[i];
		struct account_wait *sum = NULL, whose = wait_name_sum_of(&wait);

		for (size_t k = singly; k < list->n && !sum; k++)
			if (is_same_wait(&list->items[k], &whose) && is_same_name(&list->items[k], &whose))
				sum = &list->items[k];
		if (!sum) {
			sum = &list->items[list->n++];
			*sum = whose;
		}
		sum->ns += wait.ns;
		sum->count += wait.count;
		sum->max_ns = MAX(sum->max_ns, wait.max_ns);
	}
	qsort(list->items, list->n, sizeof(list->items[0]), wait_longest_first);
	list->n = MIN(list->n, most);
}

int wait_book_show(const struct wait_book *b, const struct account *accounts, size_t n_accounts, struct wait_list *ret)
{
	return waits_tell(b, /* is_tick= */ false, accounts, n_accounts, ret);
}

int wait_book_tick(const struct wait_book *b, const struct account *accounts, size_t n_accounts, struct wait_list *ret)
{
	return waits_tell(b, /* is_tick= */ true, accounts, n_accounts, ret);
}

void wait_book_taken(struct wait_book *b)
{
	for (size_t i = 0; i < b->waits.n; i++)
		b->waits.items[i].fresh_ns = b->waits.items[i].fresh_max_ns = b->waits.items[i].fresh_count =
			b->waits.items[i].fresh_earlier_ns = 0;
	open_waits_taken(&b->open);
}
