// SPDX-License-Identifier: Apache-2.0
/* Figures of a bucket in memory: sorted arrays, so that two buckets are merged in one pass. */
#include "archive/codec/figures_pack.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

void figures_blob_done(struct figures_blob *blob)
{
	for (size_t i = 0; i < blob->figures.n; i++)
		op_figures_done(&blob->figures.items[i].figures);
	ARRAY_DONE(&blob->figures);
	ARRAY_DONE(&blob->behind);
	ARRAY_DONE(&blob->parts);
	ARRAY_DONE(&blob->waits);
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_figures(const void *a, const void *b)
{
	const struct stored_figures *x = a, *y = b;
	int r = compare_u32(x->process, y->process);

	return r ? r : compare_u32(x->op, y->op);
}

int figures_compare_behind(const struct stored_behind *x, const struct stored_behind *y)
{
	int r = compare_u32(x->process, y->process);

	r = r ? r : compare_u32(x->tgid, y->tgid);
	r = r ? r : compare_u32(x->uid, y->uid);
	r = r ? r : memcmp(x->comm, y->comm, sizeof(x->comm));
	return r ? r : x->is_between - y->is_between;
}

int figures_compare_part(const struct stored_part *x, const struct stored_part *y)
{
	int r = compare_u32(x->process, y->process);

	r = r ? r : compare_u32(x->tid, y->tid);
	r = r ? r : x->is_driving - y->is_driving;
	r = r ? r : x->where - y->where;
	r = r ? r : compare_u32(x->op, y->op);
	return r ? r : x->class - y->class;
}

int figures_compare_wait(const struct stored_wait *a, const struct stored_wait *b)
{
	const struct account_wait *x = &a->wait, *y = &b->wait;
	int r = compare_u32(a->process, b->process);

	r = r ? r : compare_u32(x->tid, y->tid);
	r = r ? r : x->is_meanwhile - y->is_meanwhile;
	r = r ? r : compare_u32(x->op, y->op);
	r = r ? r : x->class - y->class;
	r = r ? r : x->kind - y->kind;
	r = r ? r : (x->resource > y->resource) - (x->resource < y->resource);
	r = r ? r : compare_u32(x->device, y->device);
	r = r ? r : compare_u32(x->waker_tgid, y->waker_tgid);
	r = r ? r : compare_u32(x->waker_tid, y->waker_tid);
	r = r ? r : compare_u32(x->waker_uid, y->waker_uid);
	r = r ? r : memcmp(x->waker_comm, y->waker_comm, sizeof(x->waker_comm));
	r = r ? r : memcmp(x->name, y->name, sizeof(x->name));
	return r ? r : memcmp(x->device_name, y->device_name, sizeof(x->device_name));
}

static int compare_part(const void *a, const void *b)
{
	return figures_compare_part(a, b);
}

static int compare_wait(const void *a, const void *b)
{
	return figures_compare_wait(a, b);
}

static int blob_behind_compare(const void *a, const void *b)
{
	return figures_compare_behind(a, b);
}

/*
 * Index of the first element, from `from` on, that is not less than the key. Usually that is `from` itself or the end,
 * because rows are added in order.
 */
static size_t lower_bound(const void *items, size_t n, size_t size, size_t from, const void *key,
			  int (*compare)(const void *, const void *))
{
	const char *base = items;

	if (from == n || compare(base + from * size, key) >= 0)
		return from;
	if (compare(base + (n - 1) * size, key) < 0)
		return n;
	return from + SORTED_PLACE(n - from, i, compare(base + (from + i) * size, key) < 0);
}

static int figures_sum(struct stored_figures *to, const struct stored_figures *from)
{
	struct op_figures *sum = &to->figures;
	const struct op_figures *more = &from->figures;
	int r = op_figures_add(sum, more);

	if (r < 0)
		return r;
	to->measured |= from->measured;
	sum->max_ns = MAX(sum->max_ns, more->max_ns);
	sum->error_code = more->error_code ? more->error_code : sum->error_code;
	return 0;
}

/* Makes room for a row at index `at`, whose histogram the list owns from now on. Return: 0 or -ENOMEM */
static int figures_insert(struct figures_blob *blob, size_t at, const struct stored_figures *row)
{
	struct stored_figures *items;
	int r = array_grow(&blob->figures.items, blob->figures.n, &blob->figures.room, sizeof(*items));

	if (r < 0)
		return r;
	items = blob->figures.items;
	memmove(items + at + 1, items + at, (blob->figures.n - at) * sizeof(*items));
	items[at] = *row;
	blob->figures.n++;
	return 0;
}

/* Where to add a row: the search begins at index `at`. @ret_sum: the row of the same key; NULL: none */
static size_t figures_place(struct figures_blob *blob, size_t at, const struct stored_figures *figures,
			    struct stored_figures **ret_sum)
{
	struct stored_figures *items = blob->figures.items;

	at = lower_bound(items, blob->figures.n, sizeof(*items), at, figures, compare_figures);
	*ret_sum = at < blob->figures.n && compare_figures(&items[at], figures) == 0 ? &items[at] : NULL;
	return at;
}

/* Adds a row; the search begins at index `at`. @ret_at: index of the row */
static int figures_add_from(struct figures_blob *blob, size_t at, const struct stored_figures *figures, size_t *ret_at)
{
	struct stored_figures *sum, added = *figures;
	int r;

	*ret_at = figures_place(blob, at, figures, &sum);
	if (sum)
		return figures_sum(sum, figures);
	r = op_figures_copy(&figures->figures, &added.figures);
	if (r < 0)
		return r;
	r = figures_insert(blob, *ret_at, &added);
	if (r < 0)
		op_figures_done(&added.figures);
	return r;
}

/* The same, but a new row's histogram is moved. */
static int figures_take_from(struct figures_blob *blob, size_t at, struct stored_figures *figures, size_t *ret_at)
{
	struct stored_figures *sum;
	int r;

	*ret_at = figures_place(blob, at, figures, &sum);
	if (sum)
		return figures_sum(sum, figures);
	r = figures_insert(blob, *ret_at, figures);
	if (r == 0)
		figures->figures.durations = (struct histogram)HISTOGRAM_INIT;
	return r;
}

int figures_blob_add(struct figures_blob *blob, const struct stored_figures *figures)
{
	size_t at;

	return figures_add_from(blob, 0, figures, &at);
}

struct op_figures *figures_blob_at(struct figures_blob *blob, uint32_t process, uint32_t op)
{
	const struct stored_figures none = { .process = process, .op = op, .figures.durations = HISTOGRAM_INIT };
	size_t at;

	return figures_add_from(blob, 0, &none, &at) < 0 ? NULL : &blob->figures.items[at].figures;
}

/* Inserts a row at index `at`. Return: 0 or -ENOMEM */
#define ROW_INSERT(list, at, row)                                                                                      \
	({                                                                                                             \
		int insert_r_ = array_grow(&(list)->items, (list)->n, &(list)->room, sizeof(*(list)->items));          \
		if (insert_r_ == 0) {                                                                                  \
			memmove((list)->items + (at) + 1, (list)->items + (at),                                        \
				((list)->n - (at)) * sizeof(*(list)->items));                                          \
			(list)->items[at] = (row);                                                                     \
			(list)->n++;                                                                                   \
		}                                                                                                      \
		insert_r_;                                                                                             \
	})

static void behind_sum(void *to, const void *from)
{
	struct stored_behind *sum = to;
	const struct stored_behind *more = from;

	sum->ns += more->ns;
	sum->is_guarded |= more->is_guarded;
}

static void part_sum(void *to, const void *from)
{
	((struct stored_part *)to)->ns += ((const struct stored_part *)from)->ns;
}

static void wait_sum(void *to, const void *from)
{
	struct account_wait *sum = &((struct stored_wait *)to)->wait;
	const struct account_wait *more = &((const struct stored_wait *)from)->wait;

	sum->ns += more->ns;
	sum->count += more->count;
	sum->max_ns = MAX(sum->max_ns, more->max_ns);
	sum->is_waker_guarded |= more->is_waker_guarded;
}

int figures_blob_add_behind(struct figures_blob *blob, const struct stored_behind *behind)
{
	struct stored_behind *items = blob->behind.items;
	size_t at;

	at = lower_bound(items, blob->behind.n, sizeof(*items), 0, behind, blob_behind_compare);
	if (at == blob->behind.n || blob_behind_compare(&items[at], behind) != 0)
		return ROW_INSERT(&blob->behind, at, *behind);
	behind_sum(&items[at], behind);
	return 0;
}

int figures_blob_add_part(struct figures_blob *blob, const struct stored_part *part)
{
	struct stored_part *items = blob->parts.items;
	size_t at;

	at = lower_bound(items, blob->parts.n, sizeof(*items), 0, part, compare_part);
	if (at == blob->parts.n || compare_part(&items[at], part) != 0)
		return ROW_INSERT(&blob->parts, at, *part);
	part_sum(&items[at], part);
	return 0;
}

int figures_blob_add_wait(struct figures_blob *blob, const struct stored_wait *wait)
{
	struct stored_wait *items = blob->waits.items;
	size_t at;

	at = lower_bound(items, blob->waits.n, sizeof(*items), 0, wait, compare_wait);
	if (at == blob->waits.n || compare_wait(&items[at], wait) != 0)
		return ROW_INSERT(&blob->waits, at, *wait);
	wait_sum(&items[at], wait);
	return 0;
}

size_t figures_blob_rows(const struct figures_blob *blob)
{
	return blob->figures.n + blob->behind.n + blob->parts.n + blob->waits.n;
}

/* A kind of rows in a blob. */
struct row_kind {
	size_t size;
	int (*compare)(const void *a, const void *b);
	void (*sum)(void *to, const void *from);
};

static const struct row_kind behind_kind = { sizeof(struct stored_behind), blob_behind_compare, behind_sum };
static const struct row_kind part_kind = { sizeof(struct stored_part), compare_part, part_sum };
static const struct row_kind wait_kind = { sizeof(struct stored_wait), compare_wait, wait_sum };

/* Position for a row whose key the list does not have. */
struct row_place {
	size_t from; /* index in the added rows */
	size_t at;   /* index in the list without the added rows */
};

typedef ARRAY(struct row_place) row_places;

/* Adds rows whose key the list has to the list; @ret_fresh: the others */
static int rows_sum(const struct row_kind *kind, char *rows, size_t n, const char *more, size_t n_more,
		    row_places *ret_fresh)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_more; i++) {
		const char *row = more + i * kind->size;

		at = n ? lower_bound(rows, n, kind->size, at, row, kind->compare) : 0;
		if (at < n && kind->compare(rows + at * kind->size, row) == 0)
			kind->sum(rows + at++ * kind->size, row); /* each key is there once */
		else
			r = ARRAY_PUSH(ret_fresh, ((struct row_place){ .from = i, .at = at }));
	}
	return r;
}

/* Moves each row of the list once, however many rows are new. @rows: address of the list's `items` */
static int rows_merge(const struct row_kind *kind, void *rows, size_t *n, size_t *room, const void *more, size_t n_more)
{
	row_places fresh = { .items = NULL };
	size_t end = *n;
	char *items;
	int r;

	memcpy(&items, rows, sizeof(items));
	r = rows_sum(kind, items, *n, more, n_more, &fresh);
	while (r == 0 && *room < *n + fresh.n)
		r = array_grow(rows, *room, room, kind->size);
	memcpy(&items, rows, sizeof(items));
	for (size_t i = fresh.n; r == 0 && i-- > 0;) {
		const struct row_place *p = &fresh.items[i];

		if (end > p->at)
			memmove(items + (p->at + i + 1) * kind->size, items + p->at * kind->size,
				(end - p->at) * kind->size);
		memcpy(items + (p->at + i) * kind->size, (const char *)more + p->from * kind->size, kind->size);
		end = p->at;
	}
	if (r == 0)
		*n += fresh.n;
	ARRAY_DONE(&fresh);
	return r;
}

#define ROWS_MERGE(kind, to, from) rows_merge(&(kind), &(to)->items, &(to)->n, &(to)->room, (from)->items, (from)->n)

static int accounts_merge(struct figures_blob *blob, const struct figures_blob *other)
{
	int r = ROWS_MERGE(behind_kind, &blob->behind, &other->behind);

	r = r ? r : ROWS_MERGE(part_kind, &blob->parts, &other->parts);
	return r ? r : ROWS_MERGE(wait_kind, &blob->waits, &other->waits);
}

int figures_blob_merge(struct figures_blob *blob, const struct figures_blob *other)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->figures.n; i++, at++) /* each key is there once */
		r = figures_add_from(blob, at, &other->figures.items[i], &at);
	return r ? r : accounts_merge(blob, other);
}

int figures_blob_take(struct figures_blob *blob, struct figures_blob *other)
{
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < other->figures.n; i++, at++) /* each key is there once */
		r = figures_take_from(blob, at, &other->figures.items[i], &at);
	return r ? r : accounts_merge(blob, other);
}

#define IS_SORTED(list, compare)                                                                                       \
	({                                                                                                             \
		bool sorted_ = true;                                                                                   \
		for (size_t i_ = 1; sorted_ && i_ < (list)->n; i_++)                                                   \
			sorted_ = compare(&(list)->items[i_ - 1], &(list)->items[i_]) < 0;                             \
		sorted_;                                                                                               \
	})

static bool is_sorted(const struct figures_blob *blob)
{
	return IS_SORTED(&blob->figures, compare_figures) && IS_SORTED(&blob->behind, figures_compare_behind) &&
	       IS_SORTED(&blob->parts, figures_compare_part) && IS_SORTED(&blob->waits, figures_compare_wait);
}

int figures_blob_sort(struct figures_blob *blob)
{
	struct figures_blob sorted = { .figures = { .items = NULL } };
	int r = 0;

	if (is_sorted(blob))
		return 0;
	for (size_t i = 0; r == 0 && i < blob->figures.n; i++)
		r = figures_blob_add(&sorted, &blob->figures.items[i]);
	for (size_t i = 0; r == 0 && i < blob->behind.n; i++)
		r = figures_blob_add_behind(&sorted, &blob->behind.items[i]);
	for (size_t i = 0; r == 0 && i < blob->parts.n; i++)
		r = figures_blob_add_part(&sorted, &blob->parts.items[i]);
	for (size_t i = 0; r == 0 && i < blob->waits.n; i++)
		r = figures_blob_add_wait(&sorted, &blob->waits.items[i]);
	if (r == 0) {
		struct figures_blob unsorted = *blob;

		*blob = sorted;
		sorted = unsorted;
	}
	figures_blob_done(&sorted);
	return r;
}
