// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of a foreign file: its rows sorted into buckets of a second.
 *
 * Where Ingero kept aggregates (minutes), the bucket is that minute, and calls that were
 * counted but got no row are in its counts, totals and maxima as "untimed": their
 * durations are not known one by one, so percentiles are those of the kept rows. Where a
 * minute's aggregate counts less than there are rows (a later event replaced it), the rows
 * are right.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_NS (60 * NSEC_PER_SEC)

struct aggregate {
	uint64_t bucket_unix_ns;
	uint64_t source, number, pid;
	uint64_t count, stored, total_ns, max_ns, bytes;
};

/* What is known of one bucket so far. */
struct bucket {
	uint64_t from_unix_ns, to_unix_ns; /* to: 0 while none is open */
	ARRAY(struct read_figures) figures;
	ARRAY(struct aggregate) aggregates;
	uint32_t *index; /* hash of process and operation: position in figures + 1 */
	size_t n_index;
};

struct walk {
	struct foreign_source *file;
	uint64_t from_unix_ns, to_unix_ns;
	read_bucket_func func;
	void *data;
	struct bucket bucket;
	struct sqlite3_stmt *statement; /* aggregates; NULL: none (left) */
	struct aggregate next;		/* valid while there is a statement */
};

static void bucket_empty(struct bucket *b)
{
	for (size_t i = 0; i < b->figures.n; i++)
		op_figures_done(&b->figures.items[i].figures);
	b->figures.n = 0;
	b->aggregates.n = 0;
	if (b->index)
		memset(b->index, 0, b->n_index * sizeof(*b->index));
	b->to_unix_ns = 0;
}

static void walk_done(struct walk *w)
{
	bucket_empty(&w->bucket);
	ARRAY_DONE(&w->bucket.figures);
	ARRAY_DONE(&w->bucket.aggregates);
	free(w->bucket.index);
	sqlite3_finalize(w->statement);
}

static size_t index_place(const struct bucket *b, uint32_t process, uint32_t op)
{
	uint64_t hash = ((uint64_t)process << 32 | op) * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(hash >> 32) & (b->n_index - 1);

	while (b->index[i] && (b->figures.items[b->index[i] - 1].process->id != process ||
			       b->figures.items[b->index[i] - 1].op->id != op))
		i = (i + 1) & (b->n_index - 1);
	return i;
}

static int index_grow(struct bucket *b)
{
	size_t n = b->n_index ? b->n_index * 2 : 64;
	uint32_t *index = calloc(n, sizeof(*index));

	if (!index)
		return -ENOMEM;
	free(b->index);
	b->index = index;
	b->n_index = n;
	for (size_t i = 0; i < b->figures.n; i++)
		index[index_place(b, b->figures.items[i].process->id, b->figures.items[i].op->id)] = (uint32_t)i + 1;
	return 0;
}

/* Return: NULL without memory */
static struct op_figures *figures_of(struct bucket *b, const struct read_process *process, const struct read_op *op)
{
	size_t i;

	if (b->figures.n * 2 >= b->n_index && index_grow(b) < 0)
		return NULL;
	i = index_place(b, process->id, op->id);
	if (!b->index[i]) {
		if (ARRAY_PUSH(&b->figures, ((struct read_figures){ .process = process, .op = op })) < 0)
			return NULL;
		b->index[i] = (uint32_t)b->figures.n;
	}
	return &b->figures.items[b->index[i] - 1].figures;
}

static int aggregate_apply(struct walk *w, const struct aggregate *a)
{
	const struct foreign_op *op = foreign_op_find(w->file, (int64_t)a->source, (int64_t)a->number);
	const struct foreign_process *process = NULL;
	struct op_figures *figures;
	uint64_t rows;

	/* Aggregates name no node: good where only one has that pid. */
	for (uint32_t node = 0; node < w->file->nodes.n && !process; node++)
		process = foreign_process_find(w->file, node, (uint32_t)a->pid, a->bucket_unix_ns + MINUTE_NS);
	if (!op || !process || !a->count)
		return 0;
	figures = figures_of(&w->bucket, &process->process, &op->op);
	if (!figures)
		return -ENOMEM;
	rows = op_figures_count(figures);
	if (a->count <= rows)
		return 0;
	figures->untimed += a->count - rows;
	figures->total_ns = figures->raw_ns = MAX(figures->total_ns, a->total_ns);
	figures->max_ns = MAX(figures->max_ns, a->max_ns);
	if (op->has_bytes)
		figures->bytes = MAX(figures->bytes, a->bytes);
	return 0;
}

/* Whether it begins in the window; in one shorter than itself, whether that lies in it. */
static bool is_inside(const struct walk *w, const struct bucket *b)
{
	if (b->from_unix_ns >= w->from_unix_ns && b->from_unix_ns < w->to_unix_ns)
		return true;
	return w->to_unix_ns - w->from_unix_ns < b->to_unix_ns - b->from_unix_ns && b->from_unix_ns < w->to_unix_ns &&
	       b->to_unix_ns > w->from_unix_ns;
}

/* Hands on the open bucket, if there is one and it is the window's. Return: 0, -errno, or what func returned */
static int bucket_close(struct walk *w)
{
	struct bucket *b = &w->bucket;
	int r = 0;

	if (b->to_unix_ns && is_inside(w, b)) {
		for (size_t i = 0; r == 0 && i < b->aggregates.n; i++)
			r = aggregate_apply(w, &b->aggregates.items[i]);
		if (r == 0 && b->figures.n)
			r = w->func(&(struct read_bucket){ .from_unix_ns = b->from_unix_ns,
							   .to_unix_ns = b->to_unix_ns,
							   .figures = b->figures.items,
							   .n_figures = b->figures.n },
				    w->data);
	}
	bucket_empty(b);
	return r;
}

static int bucket_open(struct walk *w, uint64_t from_unix_ns, uint64_t length_ns)
{
	int r;

	if (w->bucket.to_unix_ns && w->bucket.from_unix_ns == from_unix_ns)
		return 0;
	r = bucket_close(w);
	w->bucket.from_unix_ns = from_unix_ns;
	w->bucket.to_unix_ns = from_unix_ns + length_ns;
	return r;
}

static int aggregates_select(const struct foreign_source *f, uint64_t from_unix_ns, uint64_t to_unix_ns,
			     struct sqlite3_stmt **ret_statement)
{
	int r;

	if (!foreign_has_column(f, FOREIGN_AGGREGATES, "bucket") || !foreign_has_column(f, FOREIGN_AGGREGATES, "count"))
		return 0;
	r = foreign_select(f, FOREIGN_AGGREGATES, "bucket source op pid count stored sum_dur max_dur sum_arg0",
			   "WHERE bucket > ?1 AND bucket < ?2 ORDER BY bucket", ret_statement);
	if (r < 0)
		return r;
	/* The minute that the window begins in, too: its rows belong to no bucket of a second. */
	sqlite3_bind_int64(*ret_statement, 1,
			   from_unix_ns > MINUTE_NS ? (int64_t)(MIN(from_unix_ns, INT64_MAX) - MINUTE_NS) : 0);
	sqlite3_bind_int64(*ret_statement, 2, (int64_t)MIN(to_unix_ns, (uint64_t)INT64_MAX));
	return 0;
}

/* Return: 1; 0 at the end; -errno */
static int aggregate_read(struct sqlite3_stmt *statement, struct aggregate *ret)
{
	int r;

	while ((r = foreign_step(statement)) > 0) {
		struct aggregate a = { 0 };

		if (!foreign_u64(statement, 0, INT64_MAX, &a.bucket_unix_ns) ||
		    !foreign_u64(statement, 1, INT32_MAX, &a.source) ||
		    !foreign_u64(statement, 2, INT32_MAX, &a.number) || !foreign_u64(statement, 3, INT32_MAX, &a.pid) ||
		    !foreign_u64(statement, 4, UINT32_MAX, &a.count))
			continue;
		a.bucket_unix_ns -= a.bucket_unix_ns % MINUTE_NS;
		foreign_u64(statement, 5, UINT32_MAX, &a.stored);
		foreign_u64(statement, 6, INT64_MAX, &a.total_ns);
		foreign_u64(statement, 7, INT64_MAX, &a.max_ns);
		foreign_u64(statement, 8, INT64_MAX, &a.bytes);
		*ret = a;
		return 1;
	}
	return r;
}

static int aggregate_next(struct walk *w)
{
	int r = aggregate_read(w->statement, &w->next);

	if (r <= 0) {
		sqlite3_finalize(w->statement);
		w->statement = NULL;
	}
	return MIN(r, 0);
}

/* Open the buckets of aggregates up to a moment. */
static int aggregates_until(struct walk *w, uint64_t unix_ns)
{
	int r = 0;

	while (r == 0 && w->statement && w->next.bucket_unix_ns <= unix_ns) {
		r = bucket_open(w, w->next.bucket_unix_ns, MINUTE_NS);
		if (r == 0)
			r = ARRAY_PUSH(&w->bucket.aggregates, w->next);
		if (r == 0)
			r = aggregate_next(w);
	}
	return r;
}

static int event_add(struct walk *w, const struct read_event *event)
{
	uint64_t at = event->start_unix_ns, duration_ns = event->event->call.duration_ns;
	const struct foreign_op *op = foreign_op_get(w->file, event->event->op);
	struct op_figures *figures;
	int r = aggregates_until(w, at);

	/* The open bucket holds it already when it is a minute of aggregates. */
	if (r == 0 && !(w->bucket.to_unix_ns && at >= w->bucket.from_unix_ns && at < w->bucket.to_unix_ns))
		r = bucket_open(w, at - at % NSEC_PER_SEC, NSEC_PER_SEC);
	if (r != 0)
		return r;

	figures = figures_of(&w->bucket, event->process, &op->op);
	if (!figures)
		return -ENOMEM;
	r = histogram_add(&figures->durations, histogram_bucket_of(duration_ns), 1);
	if (r < 0)
		return r;
	figures->total_ns += duration_ns;
	figures->raw_ns += duration_ns;
	figures->max_ns = MAX(figures->max_ns, duration_ns);
	figures->errors += op->is_call && event->event->call.ret;
	if (op->has_bytes)
		figures->bytes += event->event->call.args[0];
	return 0;
}

static int rows_walk(struct walk *w)
{
	/* A minute that begins in the window reaches beyond it. */
	struct read_filter filter = { .from_unix_ns = w->from_unix_ns };
	struct read_cursor *cursor;
	struct read_batch batch;
	int r;

	filter.from_unix_ns -= filter.from_unix_ns % NSEC_PER_SEC;
	if (w->to_unix_ns < UINT64_MAX - MINUTE_NS)
		filter.to_unix_ns = w->to_unix_ns + MINUTE_NS;
	r = foreign_cursor_open(&w->file->source, &filter, &cursor);
	if (r < 0)
		return r;
	while ((r = foreign_cursor_next(cursor, &batch)) > 0) {
		r = 0;
		for (size_t i = 0; r == 0 && i < batch.n; i++)
			r = event_add(w, &batch.events[i]);
		if (r != 0)
			break;
	}
	foreign_cursor_close(cursor);
	return r;
}

int foreign_buckets(struct read_source *source, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func,
		    void *data)
{
	CLEANUP(walk_done)
	struct walk w = {
		.file = CONTAINER_OF(source, struct foreign_source, source),
		.from_unix_ns = from_unix_ns,
		.to_unix_ns = to_unix_ns ? to_unix_ns : UINT64_MAX,
		.func = func,
		.data = data,
	};
	int r = aggregates_select(w.file, from_unix_ns, w.to_unix_ns, &w.statement);

	if (r == 0 && w.statement)
		r = aggregate_next(&w);
	if (r == 0)
		r = rows_walk(&w);
	if (r == 0)
		r = aggregates_until(&w, UINT64_MAX);
	return r == 0 ? bucket_close(&w) : r;
}

int foreign_not_kept(struct foreign_source *f, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t *ret_n)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	struct aggregate a;
	uint64_t n = 0;
	int r = aggregates_select(f, from_unix_ns, to_unix_ns ? to_unix_ns : UINT64_MAX, &statement);

	while (r == 0 && statement && (r = aggregate_read(statement, &a)) > 0) {
		const struct foreign_op *op = foreign_op_find(f, (int64_t)a.source, (int64_t)a.number);

		r = 0;
		if (op && op->is_call && a.count > a.stored)
			n += a.count - a.stored;
	}
	if (r == 0)
		*ret_n = n;
	return r;
}

/* Widens bounds to the first and the last moment in a column. */
static int bounds_widen(const struct foreign_source *f, enum foreign_table table, const char *column, uint64_t unit_ns,
			uint64_t *from_unix_ns, uint64_t *to_unix_ns)
{
	char rest[96];
	int r = 0;

	if (!foreign_has_column(f, table, column))
		return 0;
	for (int is_last = 0; r == 0 && is_last < 2; is_last++) {
		CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
		uint64_t at;

		/* Texts and blobs are greater than all numbers. */
		snprintf(rest, sizeof(rest), "WHERE \"%s\" > 0 AND \"%s\" < '' ORDER BY \"%s\" %s LIMIT 1", column,
			 column, column, is_last ? "DESC" : "");
		r = foreign_select(f, table, column, rest, &statement);
		if (r == 0 && (r = foreign_step(statement)) > 0) {
			r = 0;
			if (!foreign_u64(statement, 0, INT64_MAX - unit_ns, &at))
				continue;
			at -= at % unit_ns;
			*from_unix_ns = *from_unix_ns ? MIN(*from_unix_ns, at) : at;
			*to_unix_ns = MAX(*to_unix_ns, at + unit_ns);
		}
	}
	return r;
}

int foreign_bounds(struct foreign_source *f, uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns)
{
	uint64_t from_unix_ns = f->first_unix_ns - f->first_unix_ns % NSEC_PER_SEC, to_unix_ns = 0;
	int r;

	if (f->n_rows)
		to_unix_ns = f->last_unix_ns - f->last_unix_ns % NSEC_PER_SEC + NSEC_PER_SEC;
	r = bounds_widen(f, FOREIGN_AGGREGATES, "bucket", MINUTE_NS, &from_unix_ns, &to_unix_ns);
	if (r == 0)
		r = bounds_widen(f, FOREIGN_CHAINS, "detected_at", NSEC_PER_SEC, &from_unix_ns, &to_unix_ns);
	if (r == 0)
		r = bounds_widen(f, FOREIGN_SNAPSHOTS, "timestamp", NSEC_PER_SEC, &from_unix_ns, &to_unix_ns);
	if (r == 0) {
		*ret_from_unix_ns = from_unix_ns;
		*ret_to_unix_ns = to_unix_ns;
	}
	return r;
}
