// SPDX-License-Identifier: Apache-2.0
/* Limits on the accounts of one process in a blob: small threads and small waits are added to sums. */
#include <errno.h>
#include <stdlib.h>

#include "archive/codec/codec.h"
#include "base/cleanup.h"

typedef ARRAY(uint64_t) number_list;

/*
 * The `most` largest numbers are kept. Return: the smallest of these, found byte by byte from the highest.
 * @ret_equal: number of kept numbers that are equal to it; further equal numbers are not kept
 */
static uint64_t least_kept(const number_list *numbers, size_t most, size_t *ret_equal)
{
	uint64_t least = 0, known = 0; /* its bytes so far, and which bits these are */

	for (unsigned int shift = 64; shift > 0;) {
		size_t counts[UINT8_MAX + 1] = { 0 };
		unsigned int byte = UINT8_MAX;

		shift -= 8;
		for (size_t i = 0; i < numbers->n; i++)
			if ((numbers->items[i] & known) == least)
				counts[numbers->items[i] >> shift & UINT8_MAX]++;
		for (; counts[byte] < most; byte--)
			most -= counts[byte];
		least |= (uint64_t)byte << shift;
		known |= (uint64_t)UINT8_MAX << shift;
	}
	*ret_equal = most;
	return least;
}

static bool is_kept(uint64_t ns, uint64_t least, size_t *equal)
{
	if (ns == least && *equal) {
		(*equal)--;
		return true;
	}
	return ns > least;
}

/* Key of a sum of waits: thread, operation, class and kind of resource; without resource and waker. */
static bool wait_is_sum(const struct stored_wait *w)
{
	return !w->wait.resource && !w->wait.device && !w->wait.name[0] && !w->wait.waker_tgid;
}

static int order_thread(const struct stored_part *part, uint32_t process, uint32_t tid)
{
	if (part->process != process)
		return part->process < process ? -1 : 1;
	return (part->tid > tid) - (part->tid < tid);
}

/* Whether the thread is in the sum of its process's other threads. */
static bool thread_is_folded(const struct figures_blob *blob, uint32_t process, uint32_t tid)
{
	const struct stored_part *parts = blob->parts.items;
	size_t first = SORTED_PLACE(blob->parts.n, i, order_thread(&parts[i], process, /* tid= */ 0) < 0);
	size_t place = SORTED_PLACE(blob->parts.n, i, order_thread(&parts[i], process, tid) < 0);

	return tid && first < blob->parts.n && parts[first].process == process &&
	       (place == blob->parts.n || order_thread(&parts[place], process, tid) != 0);
}

/*
 * Folds the waits [from, to) of one process: waits that stay are moved to index `at`, the others are added to `sums`.
 * Return: 0 or -ENOMEM
 */
static int waits_fold(struct figures_blob *blob, size_t from, size_t to, size_t *at, struct figures_blob *sums)
{
	number_list numbers = { .items = NULL };
	struct stored_wait *waits = blob->waits.items;
	uint32_t tid = 0; /* of the wait before: waits are sorted by thread */
	bool is_tid_folded = false;
	uint64_t least = 0;
	size_t equal = SIZE_MAX;
	int r = 0;

	for (size_t i = from; i < to && r == 0; i++)
		if (!wait_is_sum(&waits[i]))
			r = ARRAY_PUSH(&numbers, waits[i].wait.ns);
	if (r == 0 && numbers.n > FIGURES_WAITS_MOST)
		least = least_kept(&numbers, FIGURES_WAITS_MOST, &equal);
	ARRAY_DONE(&numbers);
	for (size_t i = from; i < to && r == 0; i++) {
		const struct account_wait *w = &waits[i].wait;
		struct stored_wait sum = { .process = waits[i].process,
					   .wait = { .ns = w->ns,
						     .max_ns = w->max_ns,
						     .count = w->count,
						     .tid = w->tid,
						     .op = w->op,
						     .class = w->class,
						     .kind = w->kind,
						     .is_meanwhile = w->is_meanwhile } };
		bool is_sum = wait_is_sum(&waits[i]), is_folded;

		if (w->tid != tid)
			is_tid_folded = thread_is_folded(blob, sum.process, w->tid);
		tid = w->tid;
		is_folded = !w->is_meanwhile && is_tid_folded;
		if (is_folded)
			sum.wait.tid = 0;
		if (is_sum ? !is_folded : is_kept(w->ns, least, &equal))
			waits[(*at)++] = waits[i];
		else
			r = figures_blob_add_wait(sums, &sum);
	}
	return r;
}

/* Time of the thread of the part at i; its parts end at *end. */
static uint64_t thread_ns(const struct figures_blob *blob, size_t i, size_t to, size_t *end)
{
	const struct stored_part *parts = blob->parts.items;
	uint64_t ns = 0;

	for (*end = i; *end < to && parts[*end].tid == parts[i].tid; (*end)++)
		ns += parts[*end].ns;
	return ns;
}

/* Fold the parts [from, to) of one process, as waits_fold() does for waits. */
static int parts_fold(struct figures_blob *blob, size_t from, size_t to, size_t *at, struct figures_blob *sums)
{
	number_list numbers = { .items = NULL };
	struct stored_part *parts = blob->parts.items;
	uint64_t least = 0;
	size_t equal = SIZE_MAX, end;
	int r = 0;

	for (size_t i = from; i < to && r == 0; i = end) {
		uint64_t ns = thread_ns(blob, i, to, &end);

		if (parts[i].tid)
			r = ARRAY_PUSH(&numbers, ns);
	}
	if (r == 0 && numbers.n > FIGURES_THREADS_MOST)
		least = least_kept(&numbers, FIGURES_THREADS_MOST, &equal);
	ARRAY_DONE(&numbers);
	for (size_t i = from; i < to && r == 0; i = end) {
		uint64_t ns = thread_ns(blob, i, to, &end);
		bool stays = !parts[i].tid || is_kept(ns, least, &equal);

		for (size_t k = i; k < end && r == 0; k++) {
			struct stored_part sum = parts[k];

			sum.tid = 0;
			sum.is_driving = false;
			if (stays)
				parts[(*at)++] = parts[k];
			else
				r = figures_blob_add_part(sums, &sum);
		}
	}
	return r;
}

/* Calls func for each process of a list of rows; func moves rows that stay. Uses r, blob and sums of the caller. */
#define ROWS_FOLD(list, func)                                                                                          \
	do {                                                                                                           \
		size_t fold_at_ = 0, fold_end_;                                                                        \
		for (size_t i = 0; i < (list)->n && r == 0; i = fold_end_) {                                           \
			for (fold_end_ = i;                                                                            \
			     fold_end_ < (list)->n && (list)->items[fold_end_].process == (list)->items[i].process;)   \
				fold_end_++;                                                                           \
			r = func(blob, i, fold_end_, &fold_at_, &sums);                                                \
		}                                                                                                      \
		(list)->n = fold_at_;                                                                                  \
	} while (0)

int figures_blob_fold(struct figures_blob *blob)
{
	CLEANUP(figures_blob_done) struct figures_blob sums = { .figures = { .items = NULL } };
	int r = 0;

	ROWS_FOLD(&blob->parts, parts_fold);
	ROWS_FOLD(&blob->waits, waits_fold);
	return r ? r : figures_blob_merge(blob, &sums);
}
