// SPDX-License-Identifier: Apache-2.0
/*
 * Operations of all files of a reader. An operation of ops.def has the same id in all files; operations with the
 * same name in two files are one operation; if another operation has the id already, a new id is assigned, above all
 * ids so far.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "archive/read/own.h"

#define OPS_MAX 65536u /* maximum rows of table op that are read: the file is not trusted */

static char *column_copy(sqlite3_stmt *s, int column, char *to)
{
	size_t n = (size_t)sqlite3_column_bytes(s, column);
	const void *text = sqlite3_column_text(s, column);

	if (text)
		memcpy(to, text, n);
	to[n] = '\0';
	return to + n + 1;
}

/* Read the rows of the file. Return: 0 or -errno */
static int rows_load(struct own_file *own, struct own_ops *ops)
{
	CLEANUP(sql_finalizep) sqlite3_stmt *s = NULL;
	int r = sql_prepare(own->db, "SELECT id, source, name, short_name FROM op ORDER BY id", &s);

	while (r == 0 && ops->n < OPS_MAX) {
		struct own_op op = { .text = NULL };
		size_t bytes = 3;
		char *p;
		int step = sql_step(s);

		if (step <= 0)
			return step;
		for (int i = 1; i <= 3; i++) {
			(void)sqlite3_column_text(s, i); /* so that sqlite3_column_bytes() counts UTF-8 */
			bytes += (size_t)sqlite3_column_bytes(s, i);
		}
		op.text = malloc(bytes);
		if (!op.text)
			return -ENOMEM;
		op.row.id = (uint32_t)sqlite3_column_int64(s, 0);
		op.row.source = p = op.text;
		op.row.name = p = column_copy(s, 1, p);
		op.row.short_name = p = column_copy(s, 2, p);
		(void)column_copy(s, 3, p);
		if (op.row.id >= OP_GIVEN &&
		    !own->is_imported) { /* ops.def got a row of this name later (archive/write/open.c) */
			op.text[strlen(op.row.source) + 1 + strcspn(op.row.name, " ")] = '\0';
			op.row.is_unlisted = !own->scope.all;
		}
		r = ARRAY_PUSH(ops, op);
		if (r)
			free(op.text);
	}
	return r;
}

static int name_compare(const void *a, const void *b)
{
	const struct read_op *x = *(const struct read_op *const *)a, *y = *(const struct read_op *const *)b;
	int r = strcmp(x->source, y->source);

	return r ? r : strcmp(x->name, y->name);
}

static int id_compare(const void *a, const void *b)
{
	const struct own_op *x = a, *y = b;

	return (x->row.id > y->row.id) - (x->row.id < y->row.id);
}

static const struct read_op *op_at(const struct own_ops *ops, uint32_t id)
{
	size_t at = SORTED_PLACE(ops->n, i, ops->items[i].row.id < id);

	return at < ops->n && ops->items[at].row.id == id ? &ops->items[at].row : NULL;
}

/* Assign ids to the operations of a further file. @known: operations of the previous files; @rows: sorted by id */
static int rows_number(struct own_file *own, const struct own_ops *known, struct own_ops *rows)
{
	CLEANUP(freep) const struct read_op **by_name = calloc(known->n + 1, sizeof(struct read_op *));
	uint32_t next =
		MAX(known->n ? known->items[known->n - 1].row.id : 0, rows->n ? rows->items[rows->n - 1].row.id : 0);
	int r = by_name ? 0 : -ENOMEM;

	for (size_t i = 0; i < known->n && r == 0; i++)
		by_name[i] = &known->items[i].row;
	if (r == 0 && known->n)
		qsort(by_name, known->n, sizeof(struct read_op *), name_compare);
	for (size_t i = 0; i < rows->n && r == 0; i++) {
		struct read_op *row = &rows->items[i].row;
		const struct read_op *key = row;
		const struct read_op **same =
			known->n ? bsearch(&key, by_name, known->n, sizeof(key), name_compare) : NULL;
		struct own_op_number number = { .own = row->id, .id = same ? (*same)->id : row->id };

		if (!same && op_at(known, row->id)) {
			if (next == UINT32_MAX)
				return -E2BIG;
			number.id = ++next;
		}
		row->id = number.id;
		r = ARRAY_PUSH(&own->op_numbers, number);
	}
	return r;
}

void own_ops_done(struct own_ops *ops)
{
	for (size_t i = 0; i < ops->n; i++)
		free(ops->items[i].text);
	ARRAY_DONE(ops);
}

int own_ops_load(struct own_file *own, struct own_ops *ops)
{
	CLEANUP(own_ops_done) struct own_ops rows = { .items = NULL };
	bool is_first = ops->n == 0;
	size_t n_known = ops->n;
	int r = rows_load(own, &rows);

	own->ops = ops;
	if (r == 0 && !is_first)
		r = rows_number(own, ops, &rows);
	for (size_t i = 0; i < rows.n && r == 0; i++) {
		/* Operations with the same name have one id; the row of the earlier file is kept. */
		bool is_known =
			n_known && op_at(&(struct own_ops){ .items = ops->items, .n = n_known }, rows.items[i].row.id);

		if (is_known)
			continue;
		r = ARRAY_PUSH(ops, rows.items[i]);
		if (r == 0)
			rows.items[i].text = NULL; /* the reader owns the text now */
	}
	if (!is_first && ops->n)
		qsort(ops->items, ops->n, sizeof(*ops->items), id_compare);
	return r;
}

const struct read_op *own_op(const struct own_file *own, uint32_t id)
{
	size_t at;

	if (!own->op_numbers.n)
		return own->is_one_of_several && own->number > 1 ? NULL : op_at(own->ops, id);
	at = SORTED_PLACE(own->op_numbers.n, i, own->op_numbers.items[i].own < id);
	return at < own->op_numbers.n && own->op_numbers.items[at].own == id
		       ? op_at(own->ops, own->op_numbers.items[at].id)
		       : NULL;
}
