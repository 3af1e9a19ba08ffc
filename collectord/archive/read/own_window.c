// SPDX-License-Identifier: Apache-2.0
/* What a file adds to the sum of a window: its rows are changed in place, since a row with accounts is large. */
#include "archive/read/window.h"

#include "base/cleanup.h"
#include "archive/read/own.h"

/* Return: the process if it is in scope and wanted, else NULL */
static const struct read_process *wanted_process(struct own_file *own, const struct window_sum *sum, uint32_t id)
{
	const struct read_process *p = own_process(own, id);

	return p && read_pid_is_wanted(sum->pids, sum->n_pids, p->pid) ? p : NULL;
}

static uint32_t op_id(const struct own_file *own, uint32_t id)
{
	const struct read_op *op = own_op(own, id);

	return op ? op->id : 0;
}

/* Keeps the rows of a list for which `change`, an expression of `row`, is true. */
#define ROWS_KEEP(list, row, change, drop)                                                                             \
	do {                                                                                                           \
		size_t kept_ = 0;                                                                                      \
		for (size_t i_ = 0; i_ < (list)->n; i_++) {                                                            \
			__typeof__((list)->items) row = &(list)->items[i_];                                            \
			if (!(change)) {                                                                               \
				drop;                                                                                  \
				continue;                                                                              \
			}                                                                                              \
			if (kept_ != i_)                                                                               \
				(list)->items[kept_] = *row;                                                           \
			kept_++;                                                                                       \
		}                                                                                                      \
		(list)->n = kept_;                                                                                     \
	} while (0)

static bool process_change(struct own_file *own, const struct window_sum *sum, uint32_t *process)
{
	const struct read_process *p = wanted_process(own, sum, *process);

	if (p)
		*process = p->id;
	return p != NULL;
}

/* Gives the rows the ids of the reader, and leaves out what the caller may not see or did not ask for. */
static void blob_show(struct own_file *own, const struct window_sum *sum, struct figures_blob *blob)
{
	ROWS_KEEP(&blob->figures, f, process_change(own, sum, &f->process), op_figures_done(&f->figures));
	ROWS_KEEP(&blob->behind, b, process_change(own, sum, &b->process), );
	ROWS_KEEP(&blob->parts, p, process_change(own, sum, &p->process), );
	ROWS_KEEP(&blob->waits, w, process_change(own, sum, &w->process), );
	for (size_t i = 0; i < blob->figures.n; i++)
		blob->figures.items[i].op = op_id(own, blob->figures.items[i].op);
	for (size_t i = 0; i < blob->behind.n; i++)
		own_behind_show(own, &blob->behind.items[i]);
	for (size_t i = 0; i < blob->parts.n; i++)
		blob->parts.items[i].op = op_id(own, blob->parts.items[i].op);
	for (size_t i = 0; i < blob->waits.n; i++)
		own_wait_show(own, &blob->waits.items[i].wait);
}

static int blob_add(struct own_file *own, struct figures_blob *blob, uint64_t from_unix_ns, uint64_t to_unix_ns,
		    void *data)
{
	struct window_sum *sum = data;
	int r;

	blob_show(own, sum, blob);
	r = figures_blob_sort(blob); /* hidden names, and operations of several files, may be alike */
	if (r == 0)
		r = figures_blob_take(&sum->blob, blob);
	sum->first_unix_ns = MIN(sum->first_unix_ns, from_unix_ns);
	sum->last_unix_ns = MAX(sum->last_unix_ns, to_unix_ns);
	return r ? r : window_sum_fold(sum);
}

int own_window_add(struct own_file *own, struct window_sum *sum)
{
	return own_blobs(own, sum->from_unix_ns, sum->to_unix_ns, /* coarsely= */ true, blob_add, sum);
}
