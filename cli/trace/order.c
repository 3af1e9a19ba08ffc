// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* time that a row without calls keeps its place (guess: revisit with real traces) */
#define IDLE_NS (60 * NSEC_PER_SEC)

void trace_order_done(struct trace_order *order)
{
	ARRAY_DONE(&order->places);
}

const char *trace_sort_name(enum trace_sort sort)
{
	static const char *const names[TRACE_SORT_COUNT] = {
		[TRACE_SORT_TIME] = "time",
		[TRACE_SORT_CALLS] = "calls",
		[TRACE_SORT_P99] = "p99",
		[TRACE_SORT_NAME] = "name",
	};

	return names[sort];
}

static bool place_is_of(const struct trace_place *place, const Ingero__V1__Operation *op)
{
	return place->pid == op->pid && place->start_time_unix_ns == op->start_time_unix_ns &&
	       strncmp(place->op, op->op, sizeof(place->op) - 1) == 0 &&
	       strncmp(place->source, op->source, sizeof(place->source) - 1) == 0;
}

static const struct trace_place *place_find(const struct trace_order *order, const Ingero__V1__Operation *op)
{
	for (size_t i = 0; i < order->places.n; i++)
		if (place_is_of(&order->places.items[i], op))
			return &order->places.items[i];
	return NULL;
}

static uint64_t row_key(const struct trace_row *row, enum trace_sort sort)
{
	if (row->is_idle)
		return 0;
	return sort == TRACE_SORT_CALLS ? row->op->count : sort == TRACE_SORT_P99 ? row->op->p99_ns : row->op->total_ns;
}

static int order_compare(const void *a, const void *b, void *data)
{
	const struct trace_row *x = a, *y = b;
	enum trace_sort sort = *(const enum trace_sort *)data;
	uint64_t key_x = row_key(x, sort), key_y = row_key(y, sort);
	int names = strcmp(x->op->op, y->op->op);

	if (sort == TRACE_SORT_NAME && names)
		return names;
	if (key_x != key_y)
		return key_x > key_y ? -1 : 1;
	if (x->op->pid != y->op->pid)
		return x->op->pid < y->op->pid ? -1 : 1;
	return names;
}

static bool row_is_there(const struct trace_rows *rows, const struct trace_place *place)
{
	for (size_t i = 0; i < rows->rows.n; i++)
		if (place_is_of(place, rows->rows.items[i].op))
			return true;
	return false;
}

static int idle_add(struct trace_rows *rows, const Ingero__V1__Operation *op)
{
	struct trace_row row = { .op = op, .is_idle = true };
	bool is_new = true;

	for (size_t i = 0; i < rows->rows.n && is_new; i++)
		is_new = rows->rows.items[i].op->pid != op->pid ||
			 rows->rows.items[i].op->start_time_unix_ns != op->start_time_unix_ns;
	rows->n_processes += is_new;
	return ARRAY_PUSH(&rows->rows, row);
}

static int idle_rows_add(const struct trace_order *order, struct trace_rows *rows, const Ingero__V1__Summary *totals)
{
	for (size_t i = 0; i < order->places.n; i++) {
		const struct trace_place *place = &order->places.items[i];

		if (place->called_ns + IDLE_NS < totals->window_ns || row_is_there(rows, place))
			continue;
		for (size_t k = 0; k < totals->n_operations; k++)
			if (place_is_of(place, totals->operations[k]) && idle_add(rows, totals->operations[k]) < 0)
				return -ENOMEM;
	}
	return 0;
}

/* Rows are sorted: rows with a place get it back; a new row goes before the first row that it precedes. */
static int places_keep(struct trace_order *order, struct trace_rows *rows)
{
	size_t n = rows->rows.n, n_kept = 0;
	CLEANUP(freep) struct trace_row *kept = calloc(n + 1, sizeof(*kept));
	CLEANUP(freep) bool *is_taken = calloc(n + 1, sizeof(*is_taken));

	if (!kept || !is_taken)
		return -ENOMEM;
	/* Each row once: a process that became another program has several places and rows that look alike. */
	for (size_t i = 0; i < order->places.n; i++)
		for (size_t k = 0; k < n; k++)
			if (!is_taken[k] && place_is_of(&order->places.items[i], rows->rows.items[k].op)) {
				kept[n_kept++] = rows->rows.items[k];
				is_taken[k] = true;
				break;
			}
	for (size_t k = 0; k < n; k++) {
		const struct trace_row *row = &rows->rows.items[k];
		size_t at = 0;

		if (is_taken[k])
			continue;
		while (at < n_kept && order_compare(row, &kept[at], &order->sort) >= 0)
			at++;
		memmove(&kept[at + 1], &kept[at], (n_kept++ - at) * sizeof(*kept));
		kept[at] = *row;
	}
	memcpy(rows->rows.items, kept, n * sizeof(*kept));
	return 0;
}

static int places_note(struct trace_order *order, const struct trace_rows *rows, uint64_t now_ns)
{
	struct trace_order next = { .sort = order->sort, .is_sorted = true };

	for (size_t i = 0; i < rows->rows.n; i++) {
		const struct trace_row *row = &rows->rows.items[i];
		const struct trace_place *before = place_find(order, row->op);
		struct trace_place place = { .pid = row->op->pid,
					     .start_time_unix_ns = row->op->start_time_unix_ns,
					     .called_ns = row->is_idle && before ? before->called_ns : now_ns };

		(void)snprintf(place.op, sizeof(place.op), "%s", row->op->op);
		(void)snprintf(place.source, sizeof(place.source), "%s", row->op->source);
		if (ARRAY_PUSH(&next.places, place) < 0) {
			trace_order_done(&next);
			return -ENOMEM;
		}
	}
	trace_order_done(order);
	*order = next;
	return 0;
}

int trace_order_apply(struct trace_order *order, struct trace_rows *rows, const Ingero__V1__Summary *totals, bool keeps)
{
	int r = idle_rows_add(order, rows, totals);

	if (r == 0 && rows->rows.n)
		qsort_r(rows->rows.items, rows->rows.n, sizeof(*rows->rows.items), order_compare, &order->sort);
	if (r == 0 && rows->rows.n && keeps && order->is_sorted)
		r = places_keep(order, rows);
	return r == 0 ? places_note(order, rows, totals->window_ns) : r;
}
