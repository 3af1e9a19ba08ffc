// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of a foreign file: its rows, summed in buckets of one second.
 *
 * If the file has aggregates, which cover one minute each, the bucket is that minute. Calls without a row then count as
 * "untimed": they are part of counts, totals and maxima, but their single durations are unknown, so percentiles are
 * those of the rows. If an aggregate counts fewer calls than the minute has rows (a later event replaced it), the rows
 * are used. Calls without a row are also reported as a gap of that minute.
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
	uint32_t node; /* index of the node; UINT32_MAX: the aggregate names none */
};

struct foreign_figures {
	struct foreign_file *file;
	struct figures_encoder *encoder;
	struct bucket_row row;	  /* the open bucket; t1_ns 0: none */
	struct figures_blob blob; /* figures of the open bucket */
	ARRAY(struct aggregate) aggregates;
	struct sqlite3_stmt *statement; /* reads aggregates; NULL: no further ones */
	struct aggregate next;		/* valid if statement is not NULL */
};

void foreign_figures_freep(struct foreign_figures **figures)
{
	struct foreign_figures *w = *figures;

	if (!w)
		return;
	figures_blob_done(&w->blob);
	ARRAY_DONE(&w->aggregates);
	buf_done(&w->row.data);
	figures_encoder_free(w->encoder);
	sqlite3_finalize(w->statement);
	free(w);
}

static int aggregate_apply(struct foreign_figures *w, const struct aggregate *a, uint64_t *not_kept)
{
	const struct foreign_op *op = foreign_op_find(w->file, (int64_t)a->source, (int64_t)a->number);
	const struct foreign_process *process;
	struct op_figures *figures;
	uint64_t rows;

	if (op && op->is_call && a->count > a->stored)
		*not_kept += a->count - a->stored;
	process = foreign_aggregate_process(w->file, a->node, (uint32_t)a->pid, a->bucket_unix_ns + MINUTE_NS);
	if (!op || !process || !a->count)
		return 0;
	figures = figures_blob_at(&w->blob, process->process.id, op->op.id);
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

/* Writes the open bucket, if there is one. */
static int foreign_bucket_close(struct foreign_figures *w)
{
	struct bucket_row *row = &w->row;
	uint64_t not_kept = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->aggregates.n; i++)
		r = aggregate_apply(w, &w->aggregates.items[i], &not_kept);
	if (r == 0)
		r = foreign_gap_put(w->file, "not_kept", not_kept, row->t0_ns, row->t1_ns - 1);
	if (r == 0 && w->blob.figures.n) {
		row->id = 0;
		row->n = (uint32_t)w->blob.figures.n;
		row->data.n = 0;
		r = figures_encode(w->encoder, &w->blob, &row->data, &row->crc);
		r = r ? r : writer_put_figures(&w->file->out, 0, row);
	}
	figures_blob_done(&w->blob);
	w->aggregates.n = 0;
	row->t1_ns = 0;
	return r;
}

static int bucket_open(struct foreign_figures *w, uint64_t from_unix_ns, uint32_t length_s)
{
	int r;

	if (w->row.t1_ns && w->row.t0_ns == from_unix_ns)
		return 0;
	r = foreign_bucket_close(w);
	w->row.level_s = length_s;
	w->row.uid = FOREIGN_UID;
	w->row.t0_ns = from_unix_ns;
	w->row.t1_ns = from_unix_ns + length_s * NSEC_PER_SEC;
	return r;
}

/* Return: 1; 0 at the end; -errno */
static int aggregate_read(struct foreign_file *f, struct sqlite3_stmt *statement, struct aggregate *ret)
{
	int r;

	while ((r = foreign_step(statement)) > 0) {
		struct aggregate a = { 0 };

		if (!foreign_u64(statement, 0, FOREIGN_TIME_MAX, &a.bucket_unix_ns) ||
		    !foreign_u64(statement, 1, INT32_MAX, &a.source) ||
		    !foreign_u64(statement, 2, INT32_MAX, &a.number) || !foreign_u64(statement, 3, INT32_MAX, &a.pid) ||
		    !foreign_u64(statement, 4, UINT32_MAX, &a.count))
			continue;
		a.bucket_unix_ns -= a.bucket_unix_ns % MINUTE_NS;
		foreign_u64(statement, 5, UINT32_MAX, &a.stored);
		foreign_u64(statement, 6, INT64_MAX, &a.total_ns);
		foreign_u64(statement, 7, INT64_MAX, &a.max_ns);
		foreign_u64(statement, 8, INT64_MAX, &a.bytes);
		a.node = foreign_aggregate_node(f, statement, 9);
		*ret = a;
		return 1;
	}
	return r;
}

static int aggregate_next(struct foreign_figures *w)
{
	int r = aggregate_read(w->file, w->statement, &w->next);

	if (r <= 0) {
		sqlite3_finalize(w->statement);
		w->statement = NULL;
	}
	return MIN(r, 0);
}

/* Opens the buckets of aggregates up to a moment. */
static int aggregates_until(struct foreign_figures *w, uint64_t unix_ns)
{
	int r = 0;

	while (r == 0 && w->statement && w->next.bucket_unix_ns <= unix_ns) {
		r = bucket_open(w, w->next.bucket_unix_ns, 60);
		if (w->aggregates.n == FOREIGN_AGGREGATES_MAX)
			w->file->n_refused++;
		else if (r == 0)
			r = ARRAY_PUSH(&w->aggregates, w->next);
		if (r == 0)
			r = aggregate_next(w);
	}
	return r;
}

int foreign_figures_add(struct foreign_figures *w, const struct foreign_op *op, const struct stored_event *event)
{
	uint64_t at = event->call.start_ns, duration_ns = event->call.duration_ns;
	struct op_figures *figures;
	int r = aggregates_until(w, at);

	/* The open bucket already contains this moment if it is a minute of aggregates. */
	if (r == 0 && !(w->row.t1_ns && at >= w->row.t0_ns && at < w->row.t1_ns))
		r = bucket_open(w, at - at % NSEC_PER_SEC, 1);
	if (r)
		return r;

	figures = figures_blob_at(&w->blob, event->process, event->op);
	if (!figures)
		return -ENOMEM;
	figures->total_ns += duration_ns;
	figures->raw_ns += duration_ns;
	figures->max_ns = MAX(figures->max_ns, duration_ns);
	figures->errors += op->is_call && event->call.ret;
	if (op->is_call && event->call.ret)
		figures->error_code = event->call.ret;
	if (op->has_bytes)
		figures->bytes += event->call.args[0];
	return histogram_add(&figures->durations, histogram_bucket_of(duration_ns), 1);
}

int foreign_figures_open(struct foreign_file *f, struct foreign_figures **ret_figures)
{
	CLEANUP(foreign_figures_freep) struct foreign_figures *w = calloc(1, sizeof(*w));
	int r = w ? figures_encoder_new(&w->encoder) : -ENOMEM;

	if (r < 0)
		return r;
	w->file = f;
	figures_encoder_set_plain(w->encoder, true);
	if (foreign_has_column(f, FOREIGN_AGGREGATES, "bucket") && foreign_has_column(f, FOREIGN_AGGREGATES, "count")) {
		r = foreign_select(f, FOREIGN_AGGREGATES,
				   "bucket source op pid count stored sum_dur max_dur sum_arg0 node=NULL",
				   "WHERE bucket > 0 ORDER BY bucket", &w->statement);
		r = r ? r : aggregate_next(w);
	}
	if (r == 0)
		*ret_figures = TAKE_PTR(w);
	return r;
}

int foreign_figures_close(struct foreign_figures *w)
{
	int r = aggregates_until(w, UINT64_MAX);

	return r ? r : foreign_bucket_close(w);
}
