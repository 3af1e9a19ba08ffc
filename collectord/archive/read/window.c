// SPDX-License-Identifier: Apache-2.0
/* Figures of a window: the sum of its buckets. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/read/window.h"

/* A process's rows of accounts are folded when so many were added. */
#define FOLD_LEAST (4 * FIGURES_WAITS_MOST)

bool read_pid_is_wanted(const uint32_t *pids, size_t n_pids, uint32_t pid)
{
	for (size_t i = 0; i < n_pids; i++)
		if (pids[i] == pid)
			return true;
	return n_pids == 0;
}

typedef ARRAY(uint32_t) process_ids;

static void process_ids_done(process_ids *ids)
{
	ARRAY_DONE(ids);
}

static size_t sum_place(const struct window_sum *sum, uint32_t process)
{
	const struct window_process *items = sum->processes.items;

	return SORTED_PLACE(sum->processes.n, i, items[i].process < process);
}

/* A process of the sum. Return: borrowed until processes_add() */
static struct window_process *sum_process(struct window_sum *sum, uint32_t process)
{
	return &sum->processes.items[sum_place(sum, process)];
}

static void window_sum_done(struct window_sum *sum)
{
	for (size_t i = 0; i < sum->processes.n; i++)
		figures_blob_done(&sum->processes.items[i].blob);
	ARRAY_DONE(&sum->processes);
	ARRAY_DONE(&sum->fresh);
}

#define FIRST_PROCESS(list) ((list)->n ? (list)->items[0].process : UINT32_MAX)

/* Moves the rows of a process from the beginning of `rest`, which is sorted, to `ret`; both borrow the rows. */
#define ROWS_TAKE(ret, rest, process_)                                                                                 \
	do {                                                                                                           \
		(ret)->items = (rest)->items;                                                                          \
		for ((ret)->n = 0; (ret)->n < (rest)->n && (rest)->items[(ret)->n].process == (process_);)             \
			(ret)->n++;                                                                                    \
		(rest)->items += (ret)->n;                                                                             \
		(rest)->n -= (ret)->n;                                                                                 \
	} while (0)

/* Moves the rows of the first process in `rest`. Return: the process */
static uint32_t rows_take(struct figures_blob *rest, struct figures_blob *ret)
{
	uint32_t process = MIN(MIN(FIRST_PROCESS(&rest->figures), FIRST_PROCESS(&rest->behind)),
			       MIN(FIRST_PROCESS(&rest->parts), FIRST_PROCESS(&rest->waits)));

	*ret = (struct figures_blob){ .figures = { .items = NULL } };
	ROWS_TAKE(&ret->figures, &rest->figures, process);
	ROWS_TAKE(&ret->behind, &rest->behind, process);
	ROWS_TAKE(&ret->parts, &rest->parts, process);
	ROWS_TAKE(&ret->waits, &rest->waits, process);
	return process;
}

/* Adds the processes of a blob that are not in the sum, in one pass: a machine may have had very many. */
static int processes_add(struct window_sum *sum, const struct figures_blob *blob)
{
	CLEANUP(process_ids_done) process_ids fresh = { .items = NULL };
	struct figures_blob rest = *blob, rows;
	size_t n = sum->processes.n, place;
	struct window_process *items;
	int r = 0;

	while (r == 0 && figures_blob_rows(&rest)) {
		uint32_t process = rows_take(&rest, &rows);

		place = sum_place(sum, process);
		if (place == n || sum->processes.items[place].process != process)
			r = ARRAY_PUSH(&fresh, process);
	}
	while (r == 0 && sum->processes.room < n + fresh.n)
		r = array_grow(&sum->processes.items, sum->processes.room, &sum->processes.room, sizeof(*items));
	if (r < 0)
		return r;
	items = sum->processes.items;
	sum->processes.n += fresh.n;
	for (size_t left = fresh.n; left;) {
		if (n && items[n - 1].process > fresh.items[left - 1]) {
			items[n + left - 1] = items[n - 1];
			n--;
			continue;
		}
		items[n + left - 1] =
			(struct window_process){ .process = fresh.items[left - 1], .fold_at = FOLD_LEAST };
		left--;
	}
	return 0;
}

static size_t accounts_rows(const struct window_process *p)
{
	return p->blob.parts.n + p->blob.waits.n;
}

static int process_fold(struct window_process *p)
{
	int r = accounts_rows(p) == p->n_folded ? 0 : figures_blob_fold(&p->blob);

	ARRAY_FIT(&p->blob.waits);
	p->n_folded = accounts_rows(p);
	p->fold_at = p->n_folded + FOLD_LEAST;
	return r;
}

static int process_rows_add(struct window_sum *sum, uint32_t process, struct figures_blob *rows)
{
	struct window_process *p = sum_process(sum, process);
	int r = figures_blob_take(&p->blob, rows);

	if (r == 0 && accounts_rows(p) > p->fold_at)
		r = process_fold(p);
	return r ? r : ARRAY_PUSH(&sum->fresh, process);
}

/* Rows come owner by owner: another owner's processes are not added to again, and their memory serves the next. */
static int fresh_fold(struct window_sum *sum, uint32_t next_process)
{
	int r = 0;

	for (size_t i = 0; i < sum->fresh.n; i++)
		if (sum->fresh.items[i] == next_process)
			next_process = UINT32_MAX;
	for (size_t i = 0; i < sum->fresh.n && next_process != UINT32_MAX && r == 0; i++)
		r = process_fold(sum_process(sum, sum->fresh.items[i]));
	sum->fresh.n = 0;
	return r;
}

int window_sum_add(struct window_sum *sum, struct figures_blob *blob)
{
	struct figures_blob rest = *blob, rows;
	int r = processes_add(sum, blob);

	for (bool is_first = true; r == 0 && figures_blob_rows(&rest); is_first = false) {
		uint32_t process = rows_take(&rest, &rows);

		if (is_first)
			r = fresh_fold(sum, process);
		if (r == 0)
			r = process_rows_add(sum, process, &rows);
	}
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
	for (size_t i = 0; i < window->sums.n; i++)
		figures_blob_done(&window->sums.items[i]);
	ARRAY_DONE(&window->sums);
}

static int window_take_accounts(struct store_reader *reader, const struct figures_blob *blob,
				struct read_window *window)
{
	int r = 0;

	for (size_t i = 0; i < blob->parts.n && r == 0; i++) {
		const struct stored_part *p = &blob->parts.items[i];
		struct read_part row = { .process = store_reader_process(reader, p->process),
					 .op = store_reader_op(reader, p->op),
					 .ns = p->ns,
					 .tid = p->tid,
					 .where = p->where,
					 .class = p->class,
					 .is_driving = p->is_driving };

		r = ARRAY_PUSH(&window->parts, row);
	}
	for (size_t i = 0; i < blob->waits.n && r == 0; i++) {
		const struct stored_wait *w = &blob->waits.items[i];
		struct read_wait row = { .process = store_reader_process(reader, w->process),
					 .op = store_reader_op(reader, w->wait.op),
					 .wait = &w->wait };

		r = ARRAY_PUSH(&window->waits, row);
	}
	return r;
}

static int window_take_figures(struct store_reader *reader, struct figures_blob *blob, struct read_window *window)
{
	int r = 0;

	for (size_t i = 0; i < blob->figures.n && r == 0; i++) {
		struct stored_figures *f = &blob->figures.items[i];
		struct read_figures row = { .process = store_reader_process(reader, f->process),
					    .op = store_reader_op(reader, f->op),
					    .measured = f->measured,
					    .figures = f->figures };

		r = ARRAY_PUSH(&window->figures, row);
		if (r == 0)
			f->figures = (struct op_figures){ .durations = HISTOGRAM_INIT }; /* owned by the window */
	}
	for (size_t i = 0; i < blob->behind.n && r == 0; i++) {
		const struct stored_behind *b = &blob->behind.items[i];
		struct read_behind row = { .process = store_reader_process(reader, b->process),
					   .tgid = b->tgid,
					   .uid = b->uid,
					   .ns = b->ns,
					   .is_between = b->is_between,
					   .is_guarded = b->is_guarded };

		memcpy(row.comm, b->comm, sizeof(row.comm));
		r = ARRAY_PUSH(&window->behind, row);
	}
	return r;
}

/* The window owns the rows of the process from now on; on failure the sum still does. */
static int window_take(struct store_reader *reader, struct window_process *p, struct read_window *window)
{
	struct figures_blob *blob = &p->blob;
	int r = process_fold(p);

	if (r == 0)
		r = window_take_figures(reader, blob, window);
	if (r == 0)
		r = window_take_accounts(reader, blob, window);
	if (r == 0)
		r = ARRAY_PUSH(&window->sums, *blob);
	if (r == 0)
		*blob = (struct figures_blob){ .figures = { .items = NULL } };
	return r;
}

/* @wanted: which processes and times, and whether accounts */
static int window_read(struct store_reader *reader, const struct window_sum *wanted, struct read_window *ret_window)
{
	CLEANUP(window_sum_done) struct window_sum sum = *wanted;
	CLEANUP(read_window_done) struct read_window window = { .from_unix_ns = 0 };
	int r;

	sum.first_unix_ns = UINT64_MAX;
	r = store_reader_window_add(reader, &sum);
	for (size_t i = 0; r == 0 && i < sum.processes.n; i++)
		r = window_take(reader, &sum.processes.items[i], &window);
	if (r)
		return r;

	window.from_unix_ns = sum.last_unix_ns ? sum.first_unix_ns : 0;
	window.to_unix_ns = sum.last_unix_ns;
	*ret_window = window;
	window = (struct read_window){ .from_unix_ns = 0 }; /* the caller owns the window now */
	return 0;
}

int store_reader_window(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, const uint32_t *pids,
			size_t n_pids, struct read_window *ret_window)
{
	const struct window_sum wanted = {
		.pids = pids, .n_pids = n_pids, .from_unix_ns = from_unix_ns, .to_unix_ns = to_unix_ns
	};

	return window_read(reader, &wanted, ret_window);
}

int store_reader_figures(struct store_reader *reader, uint64_t from_unix_ns, uint64_t to_unix_ns, const uint32_t *pids,
			 size_t n_pids, struct read_window *ret_window)
{
	const struct window_sum wanted = { .pids = pids,
					   .n_pids = n_pids,
					   .without_accounts = true,
					   .from_unix_ns = from_unix_ns,
					   .to_unix_ns = to_unix_ns };

	return window_read(reader, &wanted, ret_window);
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
