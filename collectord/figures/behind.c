// SPDX-License-Identifier: Apache-2.0
#include "figures/behind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* An entry of the kernel's map. */
struct behind_row {
	struct behind_key key;
	struct behind_value value;
};

struct behind_seen {
	uint64_t ns; /* when last read; a smaller value means that it began anew */
	struct behind_key key;
};

struct behind_book {
	ARRAY(struct behind_row) fresh; /* noted since the last reading */
	ARRAY(struct behind_seen) seen; /* in the last reading, in the order of key_order() */
	uint64_t number;		/* of the entry listed last */
};

struct behind_book *behind_book_new(void)
{
	return calloc(1, sizeof(struct behind_book));
}

void behind_book_free(struct behind_book *b)
{
	if (!b)
		return;
	ARRAY_DONE(&b->fresh);
	ARRAY_DONE(&b->seen);
	free(b);
}

int behind_book_note(struct behind_book *b, const struct behind_key *key, const struct behind_value *value)
{
	return ARRAY_PUSH(&b->fresh, ((struct behind_row){ .key = *key, .value = *value }));
}

/* ---- order ---- */

static int behind_order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int behind_process_order(uint32_t a_tgid, bool a_between, uint32_t b_tgid, bool b_between)
{
	return a_tgid != b_tgid ? behind_order(a_tgid, b_tgid) : behind_order(a_between, b_between);
}

static int key_order(const struct behind_key *a, const struct behind_key *b)
{
	return a->is_sum != b->is_sum ? behind_order(a->is_sum, b->is_sum)
				      : behind_process_order(a->tgid, a->is_between, b->tgid, b->is_between);
}

static int row_compare(const void *a, const void *b)
{
	const struct behind_row *x = a, *y = b;
	int r = key_order(&x->key, &y->key);

	return r ? r : behind_order(x->value.ns, y->value.ns);
}

static int entry_compare(const void *a, const void *b)
{
	const struct behind_figures *x = a, *y = b;
	int r = behind_process_order(x->tgid, x->is_between, y->tgid, y->is_between);

	return r ? r : behind_order(x->uid, y->uid);
}

/* Sums, then the most time first. */
static int most_first(const void *a, const void *b)
{
	const struct behind_figures *x = a, *y = b;

	if (!x->tgid != !y->tgid)
		return x->tgid ? 1 : -1;
	return x->ns != y->ns ? behind_order(y->ns, x->ns) : entry_compare(a, b);
}

/* Return: its index; the number of entries: missing */
static size_t behind_find(const struct behind_figures *items, size_t n, const struct behind_figures *entry)
{
	size_t place = SORTED_PLACE(n, i, entry_compare(&items[i], entry) < 0);

	return place < n && entry_compare(&items[place], entry) == 0 ? place : n;
}

/* ---- sums ---- */

static struct behind_figures sum_of(const struct behind_figures *entry, uint32_t uid)
{
	return (struct behind_figures){ .uid = uid, .is_between = entry->is_between };
}

void behind_fold(struct behind_list *list, size_t singly)
{
	struct behind_figures *items = list->items;
	size_t n_sums = 0, n, n_first;

	while (n_sums < list->n && !items[n_sums].tgid)
		n_sums++;
	if (list->n - n_sums <= singly)
		return;
	qsort(items, list->n, sizeof(*items), most_first);
	n = n_first = n_sums + singly;
	for (size_t i = n_first; i < list->n; i++) {
		const struct behind_figures entry = items[i];
		struct behind_figures sum = sum_of(&entry, entry.uid);
		size_t begin = n_sums ? 0 : n_first, at = begin;

		for (;;) {
			while (at < n && (items[at].tgid || entry_compare(&items[at], &sum) != 0))
				at = at + 1 == n_sums ? n_first : at + 1;
			if (at < n || n_sums + (n - n_first) < BEHIND_SUMS_MOST || sum.uid == BEHIND_UID_SEVERAL)
				break;
			sum = sum_of(&entry, BEHIND_UID_SEVERAL);
			at = begin;
		}
		if (at >= n)
			items[at = n++] = sum;
		items[at].ns += entry.ns;
	}
	list->n = n;
	qsort(items, n, sizeof(*items), entry_compare);
}

/* ---- a reading ---- */

static void entry_add(struct behind_figures *entry, const struct behind_row *row, uint64_t ns)
{
	entry->ns += ns;
	entry->is_guarded = row->value.is_guarded;
	memcpy(entry->comm, row->value.comm, sizeof(entry->comm));
	entry->comm[sizeof(entry->comm) - 1] = 0;
}

/* Make room for that many further entries. */
static int list_reserve(struct behind_list *list, size_t n)
{
	struct behind_figures *grown;

	if (list->room - list->n >= n)
		return 0;
	grown = reallocarray(list->items, list->n + n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->items = grown;
	list->room = list->n + n;
	return 0;
}

int behind_book_read(struct behind_book *b, struct behind_list *list, bool is_complete)
{
	size_t n_fresh = b->fresh.n, n_known = list->n, room = n_fresh + b->seen.n, at = 0, n = 0;
	struct behind_seen *seen = b->seen.items, *next;
	bool is_removed = false;

	if (!n_fresh && (!is_complete || !b->seen.n))
		return 0;
	next = reallocarray(NULL, room, sizeof(*next));
	if (!next || list_reserve(list, n_fresh) < 0) {
		free(next);
		ARRAY_DONE(&b->fresh);
		return -ENOMEM;
	}
	if (n_fresh)
		qsort(b->fresh.items, n_fresh, sizeof(*b->fresh.items), row_compare);
	for (size_t i = 0; i < n_fresh; i++) {
		const struct behind_row *row = &b->fresh.items[i], *later = i + 1 < n_fresh ? row + 1 : NULL;
		struct behind_figures entry = { .tgid = row->key.is_sum ? 0 : row->key.tgid,
						.uid = row->value.uid,
						.is_between = row->key.is_between };
		uint64_t ns = row->value.ns, last_ns = 0;
		size_t place;
		int r = -1;

		is_removed |= !row->value.ns;
		if (later && key_order(&later->key, &row->key) == 0)
			continue; /* it was moved while the map was read, or removed after it */
		for (; at < b->seen.n && r < 0; at += r <= 0) {
			r = key_order(&seen[at].key, &row->key);
			if (r == 0)
				last_ns = seen[at].ns;
			else if (r < 0 && !is_complete)
				next[n++] = seen[at];
		}
		next[n++] = (struct behind_seen){ .ns = is_removed ? 0 : ns, .key = row->key };
		is_removed = false;
		ns -= ns >= last_ns ? last_ns : 0;
		if (!ns)
			continue; /* keep the name from then: the number may belong to another process now */
		place = behind_find(list->items, n_known, &entry);
		if (place == n_known) {
			entry.number = ++b->number;
			list->items[place = list->n++] = entry;
		}
		entry_add(&list->items[place], row, ns);
	}
	while (at < b->seen.n && !is_complete)
		next[n++] = seen[at++];
	free(b->seen.items);
	b->seen.items = next;
	b->seen.n = n;
	b->seen.room = room;
	ARRAY_DONE(&b->fresh);
	if (list->n > n_known)
		qsort(list->items, list->n, sizeof(*list->items), entry_compare);
	behind_fold(list, BEHIND_MOST);
	if (list->room > BEHIND_MOST + BEHIND_SUMS_MOST)
		ARRAY_FIT(list);
	return 0;
}

/* ---- differences ---- */

int behind_copy(const struct behind_list *list, struct behind_list *ret)
{
	struct behind_list copy = { .n = 0 };
	int r = list->n ? list_reserve(&copy, list->n) : 0;

	if (r < 0)
		return r;
	if (list->n)
		memcpy(copy.items, list->items, list->n * sizeof(*copy.items));
	copy.n = list->n;
	*ret = copy;
	return 0;
}

static void behind_less(struct behind_figures *entry, uint64_t ns)
{
	entry->ns -= MIN(entry->ns, ns);
}

/* An entry is in a sum now, whose time up to then is not of this time. */
static void sum_less(struct behind_list *list, const struct behind_figures *folded)
{
	struct behind_figures sum = sum_of(folded, folded->uid);
	size_t at = behind_find(list->items, list->n, &sum);

	if (at == list->n) {
		sum = sum_of(folded, BEHIND_UID_SEVERAL);
		at = behind_find(list->items, list->n, &sum);
	}
	if (at < list->n)
		behind_less(&list->items[at], folded->ns);
}

int behind_since(const struct behind_list *now, const struct behind_list *then, struct behind_list *ret)
{
	struct behind_list list = { .n = 0 };
	size_t i = 0, n = 0;
	int r = behind_copy(now, &list);

	if (r < 0)
		return r;
	for (size_t k = 0; then && k < then->n; k++) {
		const struct behind_figures *before = &then->items[k];

		while (i < list.n && entry_compare(&list.items[i], before) < 0)
			i++;
		if (i < list.n && entry_compare(&list.items[i], before) == 0 && list.items[i].number == before->number)
			behind_less(&list.items[i], before->ns);
		else
			sum_less(&list, before);
	}
	for (i = 0; i < list.n; i++)
		if (list.items[i].ns)
			list.items[n++] = list.items[i];
	list.n = n;
	*ret = list;
	return 0;
}
