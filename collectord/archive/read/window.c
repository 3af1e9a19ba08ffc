// SPDX-License-Identifier: Apache-2.0
/* Figures of a window: the sum of its buckets. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "archive/read/window.h"

#define FOLD_LEAST 4096 /* the sum is not folded while it has at most so many rows of accounts */

bool read_pid_is_wanted(const uint32_t *pids, size_t n_pids, uint32_t pid)
{
	for (size_t i = 0; i < n_pids; i++)
		if (pids[i] == pid)
			return true;
	return n_pids == 0;
}

int window_sum_fold(struct window_sum *sum)
{
	int r;

	if (sum->blob.parts.n + sum->blob.waits.n <= sum->fold_at)
		return 0;
	r = figures_blob_fold(&sum->blob);
	sum->fold_at = 2 * (sum->blob.parts.n + sum->blob.waits.n) + FOLD_LEAST;
	return r;
}

void read_window_done(struct read_window *window)
{
	for (size_t i = 0; i < window->figures.n; i++)
		op_figures_done(&window->figures.items[i].figures);
	ARRAY_DONE(&window->figures);
	ARRAY_DONE(&window->behind);
	ARRAY_DONE(&window->parts);
	ARRAY_DONE(&window->waits);
}

static int window_take_accounts(struct store_reader *reader, const struct window_sum *sum, struct read_window *window)
{
	int r = 0;

	for (size_t i = 0; i < sum->blob.parts.n && r == 0; i++) {
		const struct stored_part *p = &sum->blob.parts.items[i];
		struct read_part row = { .process = store_reader_process(reader, p->process),
					 .op = store_reader_op(reader, p->op),
					 .ns = p->ns,
					 .tid = p->tid,
					 .where = p->where,
					 .class = p->class,
					 .is_driving = p->is_driving };

		r = ARRAY_PUSH(&window->parts, row);
	}
	for (size_t i = 0; i < sum->blob.waits.n && r == 0; i++) {
		const struct stored_wait *w = &sum->blob.waits.items[i];
		struct read_wait row = { .process = store_reader_process(reader, w->process),
					 .op = store_reader_op(reader, w->wait.op),
					 .wait = w->wait };

		r = ARRAY_PUSH(&window->waits, row);
	}
	return r;
}

static int window_take(struct store_reader *reader, struct window_sum *sum, struct read_window *window)
{
	int r = 0;

	for (size_t i = 0; i < sum->blob.figures.n && r == 0; i++) {
		struct stored_figures *f = &sum->blob.figures.items[i];
		struct read_figures row = { .process = store_reader_process(reader, f->process),
					    .op = store_reader_op(reader, f->op),
					    .measured = f->measured,
					    .figures = f->figures };

		r = ARRAY_PUSH(&window->figures, row);
		if (r == 0)
			f->figures = (struct op_figures){ .durations = HISTOGRAM_INIT }; /* owned by the window */
	}
	for (size_t i = 0; i < sum->blob.behind.n && r == 0; i++) {
		const struct stored_behind *b = &sum->blob.behind.items[i];
		struct read_behind row = { .process = store_reader_process(reader, b->process),
					   .tgid = b->tgid,
					   .uid = b->uid,
					   .ns = b->ns,
					   .is_between = b->is_between,
					   .is_guarded = b->is_guarded };

		for (size_t k = 0; k < sizeof(row.comm); k++)
			row.comm[k] = b->comm[k];
		r = ARRAY_PUSH(&window->behind, row);
	}
	return r ? r : window_take_accounts(reader, sum, window);
}

int store_reader_window(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, const uint32_t *pids,
			size_t n_pids, struct read_window *ret_window)
{
	CLEANUP(read_window_done) struct read_window window = { .figures = { .items = NULL } };
	struct window_sum sum = { .pids = pids,
				  .n_pids = n_pids,
				  .from_unix_ns = from_unix_ns,
				  .to_unix_ns = to_unix_ns,
				  .fold_at = FOLD_LEAST,
				  .first_unix_ns = UINT64_MAX };
	int r;

	r = store_reader_window_add(reader, &sum);
	if (r == 0)
		r = figures_blob_fold(&sum.blob);
	if (r == 0)
		r = window_take(reader, &sum, &window);
	figures_blob_done(&sum.blob);
	if (r)
		return r;

	window.from_unix_ns = sum.last_unix_ns ? sum.first_unix_ns : 0;
	window.to_unix_ns = sum.last_unix_ns;
	*ret_window = window;
	window = (struct read_window){ .from_unix_ns = 0 }; /* the caller owns the window now */
	return 0;
}

int read_thread_account(const struct read_part *parts, size_t n, struct account *ret, size_t *ret_n)
{
	uint64_t driving_ns = 0;
	size_t i;
	int r = 0;

	*ret = (struct account){ .tid = parts[0].tid };
	for (i = 0; r == 0 && i < n && parts[i].process == parts[0].process && parts[i].tid == ret->tid; i++) {
		struct account_part part = { .ns = parts[i].ns,
					     .op = parts[i].op ? parts[i].op->id : 0,
					     .where = parts[i].where,
					     .class = parts[i].class };

		driving_ns += parts[i].is_driving ? part.ns : 0;
		r = account_add(ret, &part);
	}
	ret->is_driving = driving_ns && driving_ns >= ret->wall_ns - driving_ns;
	*ret_n = i;
	return r;
}
