// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/sites.h"

#include <errno.h>
#include <string.h>

/* A row and its site, so that the place is looked for once. */
struct placed {
	const Ingero__V1__StackRow *row;
	struct stack_place place;
	bool has_place;
};

void stack_sites_done(struct stack_sites *sites)
{
	ARRAY_DONE(&sites->sites);
	ARRAY_DONE(&sites->order);
}

static int numbers_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int funcs_compare(const struct stack_place *a, const struct stack_place *b)
{
	int r = memcmp(a->func, b->func, MIN(a->n_func, b->n_func));

	return r ? r : numbers_compare(a->n_func, b->n_func);
}

/* 0: the same site. */
static int stack_site_compare(const struct placed *a, const struct placed *b)
{
	int r = strcmp(a->row->op, b->row->op);

	if (!r)
		r = strcmp(a->row->source, b->row->source);
	if (!r)
		r = numbers_compare(a->row->is_inner, b->row->is_inner);
	if (!r)
		r = numbers_compare(a->has_place, b->has_place);
	if (r || !a->has_place)
		return r;
	r = strcmp(a->place.file, b->place.file);
	if (!r)
		r = numbers_compare(a->place.line, b->place.line);
	if (!r)
		r = funcs_compare(&a->place, &b->place);
	return r ? r : strcmp(a->place.module, b->place.module);
}

static int placed_compare(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int r = stack_site_compare(x, y);

	return r ? r : numbers_compare(x->row->pid, y->row->pid);
}

/* ---- sums ---- */

static uint64_t sum_most(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* A share of the calls of a row is known to take at most this long. */
struct step {
	uint64_t ns;
	unsigned __int128 hundredths; /* of a call */
};

static int step_compare(const void *a, const void *b)
{
	return numbers_compare(((const struct step *)a)->ns, ((const struct step *)b)->ns);
}

/* The least duration that 99 of 100 calls of all rows are known not to exceed: by their medians, p99 and maxima. */
static int p99_bound(const struct stack_site *site, uint64_t *ret_ns)
{
	CLEANUP(freep) struct step *steps = calloc(site->n_rows, 3 * sizeof(*steps));
	unsigned __int128 wanted = 0, known = 0;
	size_t i = 0;

	if (!steps)
		return -ENOMEM;
	for (size_t k = 0; k < site->n_rows; k++) {
		const Ingero__V1__StackRow *row = site->rows[k];
		unsigned __int128 calls = row->count;

		steps[3 * k] = (struct step){ row->p50_ns, 50 * calls };
		steps[3 * k + 1] = (struct step){ row->p99_ns, 49 * calls };
		steps[3 * k + 2] = (struct step){ row->max_ns, calls };
		wanted += 99 * calls;
	}
	qsort(steps, 3 * site->n_rows, sizeof(*steps), step_compare);
	while (i + 1 < 3 * site->n_rows && (known += steps[i].hundredths) < wanted)
		i++;
	*ret_ns = steps[i].ns;
	return 0;
}

static void site_row_add(struct stack_site *site, const Ingero__V1__StackRow *row, const struct stack_measure *measure)
{
	struct blame_view blame = blame_view_of(row->blame_ns);

	if (!site->most || stack_measure_of(measure, row) > stack_measure_of(measure, site->most))
		site->most = row;
	site->measure = sum_most(site->measure, stack_measure_of(measure, row));
	site->count = sum_most(site->count, row->count);
	site->total_ns = sum_most(site->total_ns, row->total_ns);
	site->bytes = sum_most(site->bytes, row->bytes);
	site->errors = sum_most(site->errors, row->errors);
	site->max_ns = MAX(site->max_ns, row->max_ns);
	site->counted = sum_most(site->counted, stack_row_counted(row));
	site->counted_ns = sum_most(site->counted_ns, stack_row_counted_ns(row));
	site->is_estimate |= stack_row_counted(row) > row->count;
	for (size_t i = 0; i < BLAME_VIEW_COUNT; i++) {
		site->blame.ns[i] = sum_most(site->blame.ns[i], blame.ns[i]);
		site->blame.is_measured[i] |= blame.is_measured[i];
	}
	site->blame.sum_ns = sum_most(site->blame.sum_ns, blame.sum_ns);
}

static int sites_group_add(struct stack_sites *sites, const struct placed *placed, size_t first, size_t n,
			   const struct stack_measure *measure)
{
	struct stack_site site = { .place = placed->place,
				   .has_place = placed->has_place,
				   .is_inner = placed->row->is_inner,
				   .rows = sites->order.items + first,
				   .n_rows = n };
	uint32_t last = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		site_row_add(&site, site.rows[i], measure);
		site.n_processes += i == 0 || site.rows[i]->pid != last;
		last = site.rows[i]->pid;
	}
	r = p99_bound(&site, &site.p99_ns);
	return r < 0 ? r : ARRAY_PUSH(&sites->sites, site);
}

static int site_order(const void *a, const void *b)
{
	const struct stack_site *x = a, *y = b;
	int r = numbers_compare(y->measure, x->measure);

	if (!r)
		r = numbers_compare(y->counted_ns, x->counted_ns);
	return r ? r : numbers_compare((uintptr_t)x->rows, (uintptr_t)y->rows); /* by name */
}

int stack_sites_build(const struct stack_rows *rows, enum stack_by by, const struct stack_measure *measure,
		      struct stack_sites *ret)
{
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	CLEANUP(freep) struct placed *placed = calloc(rows->rows.n + 1, sizeof(*placed));
	int r = placed ? 0 : -ENOMEM;

	for (size_t i = 0; i < rows->rows.n && r == 0; i++) {
		placed[i].row = rows->rows.items[i];
		placed[i].has_place = stack_place_find(placed[i].row->stack, &placed[i].place);
	}
	if (r == 0 && rows->rows.n)
		qsort(placed, rows->rows.n, sizeof(*placed), placed_compare);
	for (size_t i = 0; i < rows->rows.n && r == 0; i++)
		r = ARRAY_PUSH(&sites.order, placed[i].row);
	for (size_t i = 0, n; i < rows->rows.n && r == 0; i += n) {
		for (n = 1; by == STACK_BY_SITE && i + n < rows->rows.n; n++)
			if (stack_site_compare(&placed[i], &placed[i + n]) != 0)
				break;
		r = sites_group_add(&sites, &placed[i], i, n, measure);
	}
	if (r < 0)
		return r;
	if (sites.sites.n)
		qsort(sites.sites.items, sites.sites.n, sizeof(*sites.sites.items), site_order);

	*ret = sites;
	sites = (struct stack_sites)STACK_SITES_INIT;
	return 0;
}
