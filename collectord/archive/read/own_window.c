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

/* Rows are sorted by process: the last one looked up is nearly always the next one's. */
struct process_cursor {
	uint32_t id; /* of the file; 0: none yet */
	const struct read_process *process;
};

static bool process_change(struct own_file *own, const struct window_sum *sum, struct process_cursor *last,
			   uint32_t *process, bool *is_changed)
{
	if (last->id != *process || !last->id)
		*last = (struct process_cursor){ .id = *process, .process = wanted_process(own, sum, *process) };
	if (!last->process)
		return false;
	*is_changed |= last->process->id != *process;
	*process = last->process->id;
	return true;
}

static void op_change(const struct own_file *own, uint32_t *op, bool *is_changed)
{
	uint32_t id = op_id(own, *op);

	*is_changed |= id != *op;
	*op = id;
}

/*
 * Gives the rows the ids of the reader, and leaves out what the caller may not see or did not ask for. Return: whether
 * keys changed, so that rows may be out of order, or alike
 */
static bool blob_show(struct own_file *own, const struct window_sum *sum, struct figures_blob *blob)
{
	struct process_cursor last = { .id = 0 };
	bool is_changed = false;

#define PROCESS_IS_SEEN(row) process_change(own, sum, &last, &(row)->process, &is_changed)
	ROWS_KEEP(&blob->figures, f, PROCESS_IS_SEEN(f), op_figures_done(&f->figures));
	ROWS_KEEP(&blob->behind, b, PROCESS_IS_SEEN(b), );
	ROWS_KEEP(&blob->parts, p, PROCESS_IS_SEEN(p), );
	ROWS_KEEP(&blob->waits, w, PROCESS_IS_SEEN(w), );
#undef PROCESS_IS_SEEN
	for (size_t i = 0; i < blob->behind.n; i++)
		is_changed |= own_behind_show(own, &blob->behind.items[i]);
	for (size_t i = 0; i < blob->waits.n; i++)
		is_changed |= own_wait_show(own, &blob->waits.items[i].wait);
	if (!own->is_one_of_several)
		return is_changed; /* the ids of operations are the reader's */
	for (size_t i = 0; i < blob->figures.n; i++)
		op_change(own, &blob->figures.items[i].op, &is_changed);
	for (size_t i = 0; i < blob->parts.n; i++)
		op_change(own, &blob->parts.items[i].op, &is_changed);
	return is_changed;
}

static int blob_add(struct own_file *own, struct figures_blob *blob, uint64_t from_unix_ns, uint64_t to_unix_ns,
		    void *data)
{
	struct window_sum *sum = data;
	int r = blob_show(own, sum, blob) ? figures_blob_sort(blob) : 0;

	if (r == 0)
		r = window_sum_add(sum, blob);
	sum->first_unix_ns = MIN(sum->first_unix_ns, from_unix_ns);
	sum->last_unix_ns = MAX(sum->last_unix_ns, to_unix_ns);
	return r;
}

int own_window_add(struct own_file *own, struct window_sum *sum)
{
	const struct own_blobs_wish wish = { .coarsely = true, .without_accounts = sum->without_accounts };

	return own_blobs(own, sum->from_unix_ns, sum->to_unix_ns, wish, blob_add, sum);
}
