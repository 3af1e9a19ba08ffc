// SPDX-License-Identifier: Apache-2.0
/* Rows of figures as a reader's callers see them: with processes and operations, and only the names of their scope. */
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "archive/read/own.h"

struct bucket_rows {
	read_bucket_func func;
	void *data;
	ARRAY(struct read_figures) figures;
	ARRAY(struct read_behind) behind;
	ARRAY(struct read_part) parts;
	ARRAY(struct read_wait) waits;
};

static void bucket_rows_done(struct bucket_rows *rows)
{
	ARRAY_DONE(&rows->figures);
	ARRAY_DONE(&rows->behind);
	ARRAY_DONE(&rows->parts);
	ARRAY_DONE(&rows->waits);
}

static void waker_hide(struct account_wait *wait)
{
	wait->waker_tgid = READ_PID_HIDDEN;
	wait->waker_tid = 0;
	memset(wait->waker_comm, 0, sizeof(wait->waker_comm));
}

/* Ends a text of a file. Return: whether it had no end */
static bool text_end(char *text, size_t n)
{
	bool had_none = text[n - 1] != '\0';

	text[n - 1] = '\0';
	return had_none;
}

bool own_wait_show(const struct own_file *own, struct account_wait *wait)
{
	bool is_changed = false;

	if (own->is_one_of_several && wait->op) {
		const struct read_op *op = own_op(own, wait->op);

		wait->op = op ? op->id : UINT32_MAX;
		is_changed = true;
	}
	if (wait->waker_tgid && !read_scope_names(&own->scope, wait->waker_uid, wait->is_waker_guarded)) {
		waker_hide(wait);
		is_changed = true;
	}
	is_changed |= text_end(wait->waker_comm, sizeof(wait->waker_comm));
	is_changed |= utf8_scrub(wait->waker_comm);
	is_changed |= text_end(wait->name, sizeof(wait->name));
	return is_changed | text_end(wait->device_name, sizeof(wait->device_name));
}

bool own_behind_show(const struct own_file *own, struct stored_behind *behind)
{
	bool is_changed = false;

	if (!read_scope_names(&own->scope, behind->uid, behind->is_guarded)) {
		behind->tgid = 0;
		memset(behind->comm, 0, sizeof(behind->comm));
		is_changed = true;
	}
	is_changed |= text_end(behind->comm, sizeof(behind->comm));
	return is_changed | utf8_scrub(behind->comm);
}

static int accounts_fill(struct own_file *own, struct figures_blob *blob, struct bucket_rows *rows)
{
	int r = 0;

	for (size_t i = 0; i < blob->parts.n && r == 0; i++) {
		const struct stored_part *p = &blob->parts.items[i];
		struct read_part row = { .process = own_process(own, p->process),
					 .op = own_op(own, p->op),
					 .ns = p->ns,
					 .tid = p->tid,
					 .where = p->where,
					 .class = p->class,
					 .is_driving = p->is_driving };

		if (row.process)
			r = ARRAY_PUSH(&rows->parts, row);
	}
	for (size_t i = 0; i < blob->waits.n && r == 0; i++) {
		struct stored_wait *w = &blob->waits.items[i];
		struct read_wait row = { .process = own_process(own, w->process),
					 .op = own_op(own, w->wait.op),
					 .wait = &w->wait };

		(void)own_wait_show(own, &w->wait);
		if (row.process)
			r = ARRAY_PUSH(&rows->waits, row);
	}
	return r;
}

static int bucket_fill(struct own_file *own, struct figures_blob *blob, struct bucket_rows *rows)
{
	int r = 0;

	rows->figures.n = rows->behind.n = rows->parts.n = rows->waits.n = 0;
	for (size_t i = 0; i < blob->figures.n && r == 0; i++) {
		const struct stored_figures *f = &blob->figures.items[i];
		struct read_figures row = { .measured = f->measured, .figures = f->figures };

		row.process = own_process(own, f->process);
		row.op = own_op(own, f->op);
		if (row.process)
			r = ARRAY_PUSH(&rows->figures, row);
	}
	for (size_t i = 0; i < blob->behind.n && r == 0; i++) {
		struct stored_behind b = blob->behind.items[i];
		struct read_behind row;

		(void)own_behind_show(own, &b);
		row = (struct read_behind){ .process = own_process(own, b.process),
					    .tgid = b.tgid,
					    .uid = b.uid,
					    .ns = b.ns,
					    .is_between = b.is_between,
					    .is_guarded = b.is_guarded };
		memcpy(row.comm, b.comm, sizeof(row.comm));
		if (row.process)
			r = ARRAY_PUSH(&rows->behind, row);
	}
	return r ? r : accounts_fill(own, blob, rows);
}

static int bucket_call(struct own_file *own, struct figures_blob *blob, uint64_t from_unix_ns, uint64_t to_unix_ns,
		       void *data)
{
	struct bucket_rows *rows = data;
	int r = bucket_fill(own, blob, rows);
	const struct read_bucket bucket = {
		.from_unix_ns = from_unix_ns,
		.to_unix_ns = to_unix_ns,
		.figures = rows->figures.items,
		.n_figures = rows->figures.n,
		.behind = rows->behind.items,
		.n_behind = rows->behind.n,
		.parts = rows->parts.items,
		.n_parts = rows->parts.n,
		.waits = rows->waits.items,
		.n_waits = rows->waits.n,
	};

	return r ? r : rows->func(&bucket, rows->data);
}

int own_buckets(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func, void *data)
{
	CLEANUP(bucket_rows_done) struct bucket_rows rows = { .func = func, .data = data };

	return own_blobs(own, from_unix_ns, to_unix_ns, (struct own_blobs_wish){ .coarsely = false }, bucket_call,
			 &rows);
}

int own_sums(struct own_file *own, uint64_t from_unix_ns, uint64_t to_unix_ns, read_bucket_func func, void *data)
{
	CLEANUP(bucket_rows_done) struct bucket_rows rows = { .func = func, .data = data };

	return own_blobs(own, from_unix_ns, to_unix_ns, (struct own_blobs_wish){ .coarsely = true }, bucket_call,
			 &rows);
}
