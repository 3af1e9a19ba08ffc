// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/compare_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SERIES_ROWS_MOST 16384u /* 16 MiB */

void series_done(struct series *series)
{
	for (size_t i = 0; i < series->rows.n; i++)
		free(series->rows.items[i].values);
	for (size_t i = 0; i < series->ops.n; i++)
		op_figures_done(&series->ops.items[i].figures);
	ARRAY_DONE(&series->ids);
	ARRAY_DONE(&series->pieces);
	ARRAY_DONE(&series->rows);
	ARRAY_DONE(&series->ops);
	ARRAY_DONE(&series->processes);
}

static int series_key_order(const struct series_key *a, const struct series_key *b)
{
#define SERIES_ORDER(member)                                                                                           \
	if (a->member != b->member)                                                                                    \
	return a->member < b->member ? -1 : 1
	SERIES_ORDER(process);
	SERIES_ORDER(tid);
	SERIES_ORDER(what);
	SERIES_ORDER(op);
	SERIES_ORDER(class);
#undef SERIES_ORDER
	return 0;
}

size_t series_find(const struct series *series, uint32_t process)
{
	const struct series_row *rows = series->rows.items;

	return SORTED_PLACE(series->rows.n, i, rows[i].key.process < process);
}

uint64_t series_sum(const struct series *series, const struct series_row *row)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < series->pieces.n; i++)
		sum += row->values[i];
	return sum;
}

/* ---- pieces ---- */

/* Two neighbours become one. */
static void pieces_halve(struct series *series)
{
	size_t n = series->pieces.n;

	for (size_t i = 0; i < n; i += 2) {
		struct series_piece *into = &series->pieces.items[i / 2];

		*into = (struct series_piece){
			.from_unix_ns = series->pieces.items[i].from_unix_ns,
			.to_unix_ns = series->pieces.items[MIN(i + 1, n - 1)].to_unix_ns,
		};
		series->least_ns = MAX(series->least_ns, into->to_unix_ns - into->from_unix_ns);
	}
	series->pieces.n = (n + 1) / 2;
	for (size_t k = 0; k < series->rows.n; k++) {
		uint64_t *values = series->rows.items[k].values;

		for (size_t i = 0; i < SERIES_PIECES; i += 2)
			values[i / 2] = values[i] + values[i + 1];
		memset(&values[SERIES_PIECES / 2], 0, sizeof(*values) * SERIES_PIECES / 2);
	}
}

/*
 * The piece of a row: the last one if the middle of the row lies in it, as with rows of several owners, else a new one.
 * Return: index, or -ENOMEM
 */
static int piece_take(struct series *series, uint64_t from_unix_ns, uint64_t to_unix_ns)
{
	uint64_t middle = from_unix_ns + (to_unix_ns - from_unix_ns) / 2;
	struct series_piece *last = series->pieces.n ? &series->pieces.items[series->pieces.n - 1] : NULL;

	if (last && middle < MAX(last->to_unix_ns, last->from_unix_ns + series->least_ns)) {
		last->to_unix_ns = MAX(last->to_unix_ns, to_unix_ns);
		return (int)series->pieces.n - 1;
	}
	if (series->pieces.n == SERIES_PIECES)
		pieces_halve(series);
	if (ARRAY_PUSH(&series->pieces,
		       ((struct series_piece){ .from_unix_ns = from_unix_ns, .to_unix_ns = to_unix_ns })) < 0)
		return -ENOMEM;
	return (int)series->pieces.n - 1;
}

/* ---- rows ---- */

#define SERIES_INSERT(list, at, value)                                                                                 \
	({                                                                                                             \
		int insert_r_ = ARRAY_PUSH(list, value);                                                               \
		if (insert_r_ == 0) {                                                                                  \
			memmove(&(list)->items[(at) + 1], &(list)->items[at],                                          \
				((list)->n - 1 - (at)) * sizeof(*(list)->items));                                      \
			(list)->items[at] = value;                                                                     \
		}                                                                                                      \
		insert_r_;                                                                                             \
	})

/* Return: 0, -ENOMEM, -E2BIG */
static int series_row_take(struct series *series, const struct series_key *key, struct series_row **ret)
{
	const struct series_row *rows = series->rows.items;
	size_t at = SORTED_PLACE(series->rows.n, i, series_key_order(&rows[i].key, key) < 0);
	struct series_row fresh = { .key = *key };

	if (at < series->rows.n && series_key_order(&rows[at].key, key) == 0) {
		*ret = &series->rows.items[at];
		return 0;
	}
	if (series->rows.n == SERIES_ROWS_MOST)
		return -E2BIG;
	fresh.values = calloc(SERIES_PIECES, sizeof(*fresh.values));
	if (!fresh.values || SERIES_INSERT(&series->rows, at, fresh) < 0) {
		free(fresh.values);
		return -ENOMEM;
	}
	*ret = &series->rows.items[at];
	return 0;
}

static int process_note(struct series *series, const struct read_process *process)
{
	const struct read_process *const *known = series->processes.items;
	size_t at = SORTED_PLACE(series->processes.n, i, known[i]->id < process->id);

	if (at < series->processes.n && known[at] == process)
		return 0;
	return SERIES_INSERT(&series->processes, at, process);
}

static bool series_wants(const struct series *series, const struct read_process *process)
{
	return (!series->only_file || process->file == series->only_file) &&
	       read_pid_is_wanted(series->ids.items, series->ids.n, process->id);
}

static uint32_t series_op_id(const struct read_op *op)
{
	return op ? op->id : 0;
}

static int series_part_add(struct series *series, const struct read_part *part, int piece)
{
	const struct series_key key = { .process = part->process->id,
					.tid = part->tid,
					.op = series_op_id(part->op),
					.what = part->where,
					.class = part->class };
	struct series_row *row = NULL;
	int r = series_row_take(series, &key, &row);

	if (r < 0)
		return r;
	row->values[piece] += part->ns;
	row->driving_ns += part->is_driving ? part->ns : 0;
	return 0;
}

int series_figures_add(struct op_figures *sum, const struct op_figures *more)
{
	int r = histogram_merge(&sum->durations, &more->durations);

	if (r < 0)
		return r;
	sum->total_ns += more->total_ns;
	sum->raw_ns += more->raw_ns;
	sum->max_ns = MAX(sum->max_ns, more->max_ns);
	for (int i = 0; i < BLAME_COUNT; i++)
		sum->blame_ns[i] += more->blame_ns[i];
	sum->errors += more->errors;
	sum->untimed += more->untimed;
	return 0;
}

static int series_op_add(struct series *series, const struct read_figures *f, int piece)
{
	const struct series_key key = { .process = f->process->id, .op = series_op_id(f->op), .what = SERIES_CALLS };
	const struct series_op *ops = series->ops.items;
	size_t at = SORTED_PLACE(series->ops.n, i,
				 ops[i].process->id != key.process ? ops[i].process->id < key.process
								   : series_op_id(ops[i].op) < key.op);
	struct series_op fresh = { .process = f->process, .op = f->op };
	struct series_row *row = NULL;
	int r = series_row_take(series, &key, &row);

	if (r == 0 && (at == series->ops.n || ops[at].process != f->process || series_op_id(ops[at].op) != key.op))
		r = SERIES_INSERT(&series->ops, at, fresh);
	if (r == 0)
		r = series_figures_add(&series->ops.items[at].figures, &f->figures);
	if (r < 0)
		return r;
	row->values[piece] += op_figures_count(&f->figures);
	series->ops.items[at].measured |= f->measured;
	return 0;
}

static bool bucket_is_wanted(const struct series *series, const struct read_bucket *bucket)
{
	for (size_t i = 0; i < bucket->n_figures; i++)
		if (series_wants(series, bucket->figures[i].process))
			return true;
	for (size_t i = 0; i < bucket->n_parts; i++)
		if (series_wants(series, bucket->parts[i].process))
			return true;
	return false;
}

int series_add(struct series *series, const struct read_bucket *bucket)
{
	int piece, r = 0;

	if (!bucket_is_wanted(series, bucket))
		return 0;
	piece = piece_take(series, bucket->from_unix_ns, bucket->to_unix_ns);
	if (piece < 0)
		return piece;
	for (size_t i = 0; i < bucket->n_parts && r == 0; i++) {
		if (!series_wants(series, bucket->parts[i].process))
			continue;
		series->has_accounts = true;
		r = process_note(series, bucket->parts[i].process);
		r = r ? r : series_part_add(series, &bucket->parts[i], piece);
	}
	for (size_t i = 0; i < bucket->n_figures && r == 0; i++) {
		if (!series_wants(series, bucket->figures[i].process) || !read_op_is_call(bucket->figures[i].op))
			continue;
		r = process_note(series, bucket->figures[i].process);
		r = r ? r : series_op_add(series, &bucket->figures[i], piece);
	}
	return r;
}
