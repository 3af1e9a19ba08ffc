// SPDX-License-Identifier: Apache-2.0
#include "figures/op_figures.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define ERROR_DEVIATIONS 2 /* standard deviations: 19 of 20 are within */

uint64_t op_figures_seen(const struct op_figures *op)
{
	return op->durations.sum + op->untimed;
}

uint64_t op_figures_count(const struct op_figures *op)
{
	return op_figures_seen(op) + op->left_out.calls;
}

uint64_t op_figures_total_ns(const struct op_figures *op)
{
	return op->total_ns + op->left_out.ns;
}

uint64_t op_figures_bytes(const struct op_figures *op)
{
	return op->bytes + op->left_out.bytes;
}

bool op_figures_is_exact(const struct op_figures *op)
{
	return !op->left_out.ms;
}

double op_figures_count_error(const struct op_figures *op)
{
	const struct left_out *left = &op->left_out;
	double error = ERROR_DEVIATIONS * sqrt((double)left->variance) + (double)left->bias;

	if (op_figures_is_exact(op))
		return 0;
	return left->calls ? error / (double)op_figures_count(op) : -1;
}

/* Standard deviation of the durations, as part of their mean. */
static double durations_spread(const struct histogram *h)
{
	double n = (double)h->sum, sum = 0, squares = 0, mean;

	for (uint32_t i = histogram_next(h, 0); i < HISTOGRAM_BUCKETS; i = histogram_next(h, i + 1)) {
		double ns = (double)histogram_bucket_low_ns(i), count = (double)histogram_count(h, i);

		sum += count * ns;
		squares += count * ns * ns;
	}
	mean = n > 0 ? sum / n : 0;
	return mean > 0 ? sqrt(fmax(squares / n - mean * mean, 0)) / mean : 0;
}

double op_figures_time_error(const struct op_figures *op)
{
	double count = op_figures_count_error(op), spread;

	if (op->untimed || (count != 0 && !op->durations.sum))
		return -1;
	if (count <= 0)
		return count;
	spread = ERROR_DEVIATIONS * durations_spread(&op->durations) / sqrt((double)op->durations.sum);
	return sqrt(count * count + spread * spread);
}

int op_figures_add(struct op_figures *op, const struct op_figures *more)
{
	int r = histogram_merge(&op->durations, &more->durations);

	if (r < 0)
		return r;
	op->total_ns += more->total_ns;
	op->raw_ns += more->raw_ns;
	op->bytes += more->bytes;
	for (int i = 0; i < BLAME_COUNT; i++)
		op->blame_ns[i] += more->blame_ns[i];
	op->errors += more->errors;
	op->abandoned += more->abandoned;
	op->untimed += more->untimed;
	op->left_out.calls += more->left_out.calls;
	op->left_out.ns += more->left_out.ns;
	op->left_out.bytes += more->left_out.bytes;
	op->left_out.variance += more->left_out.variance;
	op->left_out.bias += more->left_out.bias;
	op->left_out.ms += more->left_out.ms;
	return 0;
}

int op_figures_copy(const struct op_figures *from, struct op_figures *ret)
{
	struct op_figures copy = *from;
	int r = histogram_copy(&from->durations, &copy.durations);

	if (r < 0)
		return r;

	*ret = copy;
	return 0;
}

void op_figures_subtract(struct op_figures *op, const struct op_figures *earlier)
{
	op->total_ns -= earlier->total_ns;
	op->raw_ns -= earlier->raw_ns;
	op->bytes -= earlier->bytes;
	for (int i = 0; i < BLAME_COUNT; i++)
		op->blame_ns[i] -= earlier->blame_ns[i];
	op->errors -= earlier->errors;
	op->abandoned -= earlier->abandoned;
	op->untimed -= earlier->untimed;
	op->left_out.calls -= earlier->left_out.calls;
	op->left_out.ns -= earlier->left_out.ns;
	op->left_out.bytes -= earlier->left_out.bytes;
	op->left_out.variance -= earlier->left_out.variance;
	op->left_out.bias -= earlier->left_out.bias;
	op->left_out.ms -= earlier->left_out.ms;
	histogram_subtract(&op->durations, &earlier->durations);
}

bool op_figures_is_same(const struct op_figures *a, const struct op_figures *b)
{
	return a->durations.sum == b->durations.sum && a->raw_ns == b->raw_ns && a->bytes == b->bytes &&
	       a->untimed == b->untimed && a->abandoned == b->abandoned && a->errors == b->errors &&
	       a->left_out.calls == b->left_out.calls;
}

void op_figures_done(struct op_figures *op)
{
	histogram_done(&op->durations);
}

/* Return: index of the first entry with an id of at least @id */
static size_t op_place(const struct op_list *list, uint32_t id)
{
	return SORTED_PLACE(list->used.n, i, list->used.items[i]->id < id);
}

static bool is_at(const struct op_list *list, size_t place, uint32_t id)
{
	return place < list->used.n && list->used.items[place]->id == id;
}

const struct op_figures *op_list_find(const struct op_list *list, uint32_t id)
{
	size_t place = op_place(list, id);

	return is_at(list, place, id) ? &list->used.items[place]->figures : NULL;
}

struct op_used *op_list_take(struct op_list *list, uint32_t id)
{
	CLEANUP(freep) struct op_used *fresh = NULL;
	size_t place = op_place(list, id);

	if (is_at(list, place, id))
		return list->used.items[place];
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh || ARRAY_PUSH(&list->used, fresh) < 0)
		return NULL;
	fresh->id = id;
	memmove(&list->used.items[place + 1], &list->used.items[place],
		(list->used.n - 1 - place) * sizeof(list->used.items[0]));
	list->used.items[place] = fresh;
	return TAKE_PTR(fresh);
}

int op_list_copy(struct op_list *list, uint32_t id, const struct op_figures *figures)
{
	struct op_figures copy;
	struct op_used *used;
	int r = op_figures_copy(figures, &copy);

	if (r < 0)
		return r;
	used = op_list_take(list, id);
	if (!used) {
		op_figures_done(&copy);
		return -ENOMEM;
	}
	used->figures = copy;
	return 0;
}

size_t op_list_bytes(const struct op_list *list)
{
	size_t n = list->used.room * sizeof(list->used.items[0]);

	for (size_t i = 0; i < list->used.n; i++)
		n += sizeof(*list->used.items[i]) + histogram_bytes(&list->used.items[i]->figures.durations);
	return n;
}

void op_list_done(struct op_list *list)
{
	for (size_t i = 0; i < list->used.n; i++) {
		op_figures_done(&list->used.items[i]->figures);
		free(list->used.items[i]);
	}
	ARRAY_DONE(&list->used);
}
