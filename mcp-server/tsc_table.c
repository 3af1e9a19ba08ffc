// SPDX-License-Identifier: Apache-2.0
/* Tables in telegraphic answers: arrays of objects, and rows of cells. */
#include <stdlib.h>
#include <string.h>

#include "mcp-server/tsc_parts.h"

#define COLUMNS_MAX 64
#define ROWS_MIN 2
#define KINDS_MAX 32

/* Bytes that a list of a column's values costs beside them, about, and a cell that is a number in it. */
#define LIST_BYTES 12
#define PLACE_BYTES 2
/* Bytes that the usual value of a column costs beside it, about. */
#define USUAL_BYTES 4

/*
 * A column of a table: the members on the way from a row to a value. Objects that every row has in its own way are
 * spread over columns: "blame_ns.on_cpu".
 */
struct column {
	uint32_t keys[TSC_KEYS_MAX]; /* nodes that have the names */
	size_t n_keys;
	uint32_t place;		   /* of the cell, where rows have cells */
	uint32_t *cells;	   /* value of each row; 0: it has none */
	uint32_t kinds[KINDS_MAX]; /* different values, in the order in which they come */
	uint32_t n_of[KINDS_MAX];  /* rows that have each */
	size_t n_kinds;
	uint32_t n_rows;  /* that have it */
	uint32_t n_cells; /* that are not the usual value */
	uint32_t order;
	uint32_t usual;	 /* value of rows that end before it; 0: those have none */
	bool has_more;	 /* kinds than these */
	bool is_same;	 /* in all rows */
	bool is_default; /* in all rows, and left out */
	bool is_listed;	 /* its values stand in a list, and cells are numbers in it */
};

struct table {
	const struct tree *tree;
	const struct tsc_items *rows;
	uint32_t names; /* of the columns, where rows have cells; 0: rows are objects */
	size_t n;
	struct column columns[COLUMNS_MAX];
	bool failed; /* no memory */
};

static void table_free(struct table **table)
{
	for (size_t c = 0; *table && c < (*table)->n; c++)
		free((*table)->columns[c].cells);
	free(*table);
}

/* @path: of the objects that have the member; NULL: the rows */
static bool cells_find(struct table *table, const struct column *path, struct column *column)
{
	const struct tree *tree = table->tree;

	column->cells = calloc(table->rows->n, sizeof(column->cells[0]));
	if (!column->cells) {
		table->failed = true;
		return false;
	}
	for (size_t r = 0; r < table->rows->n; r++) {
		uint32_t at = path ? path->cells[r] : table->rows->items[r];

		if (table->names) {
			at++;
			for (uint32_t k = 0; k < column->place; k++)
				at = tsc_node(tree, at)->next;
			column->cells[r] = tsc_is_written(tree, at, "null") ? 0 : at;
		} else if (at || !path) {
			column->cells[r] = tsc_find(tree, at, column->keys[column->n_keys - 1]);
		}
	}
	return true;
}

static size_t value_bytes(const struct table *table, uint32_t value)
{
	size_t n;

	(void)tsc_text_of(table->tree, value, &n);
	return n;
}

/* ---- which columns ---- */

static size_t kind_find(const struct table *table, const struct column *column, uint32_t value)
{
	size_t k = 0;

	while (k < column->n_kinds && !tsc_is_equal(table->tree, column->kinds[k], value))
		k++;
	return k;
}

/* What one pass over the rows tells about a column. */
struct look {
	size_t n_bytes;
	bool has_null;
	bool are_objects; /* with members, in all rows that have it */
	bool are_whole;	  /* in all rows: no member that has a default is lacking */
};

static struct look column_look(const struct table *table, struct column *column)
{
	struct look look = { .are_objects = true, .are_whole = true };
	const struct tree *tree = table->tree;

	for (size_t r = 0; r < table->rows->n; r++) {
		CLEANUP(buf_done) struct buf lacking = BUF_INIT;
		uint32_t value = column->cells[r];
		size_t k;

		if (!value) {
			look.are_whole = false;
			continue;
		}
		column->n_rows++;
		look.n_bytes += value_bytes(table, value);
		look.has_null |= tsc_is_written(tree, value, "null");
		if (tsc_node(tree, value)->kind != NODE_OBJECT || !tsc_node(tree, value)->n)
			look.are_objects = false;
		else if (tsc_lacking_append(tree, column->keys[column->n_keys - 1], value, &lacking))
			look.are_whole = false;
		k = kind_find(table, column, value);
		if (k == KINDS_MAX) {
			column->has_more = true;
			continue;
		}
		column->n_kinds = MAX(column->n_kinds, k + 1);
		if (!column->n_of[k]++)
			column->kinds[k] = value;
	}
	look.are_objects &= column->n_rows > 0;
	column->is_same = column->n_rows == table->rows->n && column->n_kinds == 1 && !column->has_more;
	return look;
}

static size_t path_bytes(const struct table *table, const struct column *column)
{
	size_t n = 0;

	for (size_t k = 0; k < column->n_keys; k++)
		n += value_bytes(table, column->keys[k]) - 1;
	return n;
}

/* Whether a list of the values and numbers in it are shorter than the values. */
static bool list_pays(const struct table *table, const struct column *column, const struct look *look)
{
	size_t listed = LIST_BYTES + PLACE_BYTES * (size_t)column->n_rows + path_bytes(table, column);

	if (column->has_more || column->n_rows < ROWS_MIN)
		return false;
	for (size_t k = 0; k < column->n_kinds; k++)
		listed += value_bytes(table, column->kinds[k]) + 1;
	return listed * 10 < look->n_bytes * 9;
}

/* The value that most rows have, if a row that may end before it is shorter. */
static void usual_find(const struct table *table, struct column *column)
{
	size_t best = 0, n;

	column->n_cells = column->n_rows;
	if (!column->n_kinds)
		return;
	for (size_t k = 1; k < column->n_kinds; k++)
		if (column->n_of[k] > column->n_of[best])
			best = k;
	n = column->is_listed ? 1 : value_bytes(table, column->kinds[best]);
	if (2 * (size_t)column->n_of[best] <= table->rows->n ||
	    (n + 1) * column->n_of[best] <= n + path_bytes(table, column) + USUAL_BYTES)
		return;
	column->usual = column->kinds[best];
	column->n_cells = (uint32_t)table->rows->n - column->n_of[best];
}

static bool columns_add(struct table *table, const struct column *path);

/* Spread over columns of its members; where each of those has its default, nothing would tell that it is there. */
static bool column_spread(struct table *table, const struct column *column)
{
	size_t n_before = table->n;

	if (!columns_add(table, column))
		return false;
	for (size_t c = n_before; c < table->n; c++)
		if (!table->columns[c].is_default)
			return true;
	return false;
}

/* A null would be read as no member. Return: whether it can be a column, or several; *ret_kept: it is one now */
static bool column_try(struct table *table, struct column *column, bool *ret_kept)
{
	uint32_t key = column->keys[column->n_keys - 1];
	bool has_defaults = !table->names && tsc_has_defaults(table->tree, key);
	struct look look = column_look(table, column);

	if (look.has_null || !tsc_can_be_column(table->tree, key))
		return false;
	column->is_listed = !column->is_same && !has_defaults && list_pays(table, column, &look);
	if (!column->is_same && !column->is_listed && look.are_objects && column->n_keys < TSC_KEYS_MAX &&
	    (look.are_whole || !has_defaults))
		return column_spread(table, column);
	if (table->n == COLUMNS_MAX)
		return false;
	if (!column->is_same)
		usual_find(table, column);
	else if (column->n_keys > 1)
		column->is_default =
			tsc_is_default(table->tree, column->keys[column->n_keys - 2], key, column->kinds[0]);
	column->order = (uint32_t)table->n;
	table->columns[table->n++] = *column;
	*ret_kept = true;
	return true;
}

static bool column_take(struct table *table, const struct column *path, struct column *column)
{
	bool is_kept = false, is_taken = cells_find(table, path, column) && column_try(table, column, &is_kept);

	if (!is_kept)
		free(column->cells);
	return is_taken;
}

/* Members of the objects at the end of a path (NULL: of the rows), in the order in which they come. */
static bool columns_add(struct table *table, const struct column *path)
{
	const struct tree *tree = table->tree;
	uint32_t seen[COLUMNS_MAX];
	size_t n_seen = 0;

	for (size_t r = 0; r < table->rows->n; r++) {
		uint32_t object = path ? path->cells[r] : table->rows->items[r], at = object + 1;

		if (path && !object)
			continue;
		if (tsc_node(tree, object)->kind != NODE_OBJECT)
			return false;
		for (uint32_t k = 0; k < tsc_node(tree, object)->n; k++, at = tsc_node(tree, at + 1)->next) {
			size_t s = 0;

			while (s < n_seen && !tsc_is_equal(tree, seen[s], at))
				s++;
			if (s == COLUMNS_MAX)
				return false;
			if (s == n_seen)
				seen[n_seen++] = at;
		}
	}
	for (size_t s = 0; s < n_seen; s++) {
		struct column column = { .n_keys = 0 };

		if (path) {
			memcpy(column.keys, path->keys, sizeof(column.keys));
			column.n_keys = path->n_keys;
		}
		column.keys[column.n_keys++] = seen[s];
		if (!column_take(table, path, &column))
			return false;
	}
	return true;
}

/* Columns of rows of cells. Names that would not be read back as themselves, or stand there twice: no table */
static bool named_columns_add(struct table *table)
{
	uint32_t name = table->names + 1, other;

	for (uint32_t k = 0; k < tsc_node(table->tree, table->names)->n;
	     k++, name = tsc_node(table->tree, name)->next) {
		struct column column = { .keys = { name }, .n_keys = 1, .place = k };

		other = table->names + 1;
		for (uint32_t before = 0; before < k; before++, other = tsc_node(table->tree, other)->next)
			if (tsc_is_equal(table->tree, other, name))
				return false;
		if (!tsc_is_plain(table->tree, name) || !column_take(table, NULL, &column))
			return false;
	}
	return true;
}

/* Those that most rows have first: what a row lacks at its end is not written. */
static int column_compare(const void *a, const void *b)
{
	const struct column *one = a, *other = b;

	if (one->n_cells != other->n_cells)
		return one->n_cells > other->n_cells ? -1 : 1;
	return (one->order > other->order) - (one->order < other->order);
}

/* ---- the text ---- */

static void place_append(const struct table *table, const struct column *column, uint32_t value, struct buf *out)
{
	(void)buf_printf(out, "%zu", kind_find(table, column, value));
}

static bool is_ended_before(const struct table *table, size_t row, const struct column *column)
{
	uint32_t value = column->cells[row];

	return column->usual ? value && tsc_is_equal(table->tree, value, column->usual) : !value;
}

static void table_row_append(const struct table *table, size_t row, struct buf *out)
{
	size_t n = table->n;
	bool is_first = true;

	while (n && (table->columns[n - 1].is_same || is_ended_before(table, row, &table->columns[n - 1])))
		n--;
	(void)buf_append_text(out, "[");
	for (size_t c = 0; c < n; c++) {
		const struct column *column = &table->columns[c];
		uint32_t value = column->cells[row];

		if (column->is_same)
			continue;
		(void)buf_append_text(out, is_first ? "" : ",");
		is_first = false;
		if (!value)
			(void)buf_append_text(out, "null");
		else if (column->is_listed)
			place_append(table, column, value, out);
		else
			tsc_value_append(table->tree, column->keys[column->n_keys - 1], value, out);
	}
	(void)buf_append_text(out, "]");
}

/* What is the same in all rows, and what holds for those that end early. */
static void same_append(const struct table *table, struct buf *out)
{
	struct tsc_member members[COLUMNS_MAX] = { 0 };
	size_t n = 0, begin = out->n;
	bool has_one;

	for (size_t c = 0; c < table->n; c++) {
		const struct column *column = &table->columns[c];

		if (column->is_default || column->is_listed || !(column->is_same || column->usual))
			continue;
		memcpy(members[n].keys, column->keys, sizeof(column->keys));
		members[n].n_keys = column->n_keys;
		members[n].is_as_named = table->names;
		members[n++].value = column->is_same ? column->kinds[0] : column->usual;
	}
	(void)buf_append_text(out, "\"c\":{");
	has_one = tsc_members_append(table->tree, members, n, out);
	for (size_t c = 0; c < table->n; c++) {
		const struct column *column = &table->columns[c];

		if (!column->is_listed || !column->usual)
			continue;
		(void)buf_append_text(out, has_one ? ",\"" : "\"");
		has_one = true;
		tsc_path_append(table->tree, column->keys, column->n_keys, table->names, out);
		(void)buf_append_text(out, "\":");
		place_append(table, column, column->usual, out);
	}
	if (has_one)
		(void)buf_append_text(out, "},");
	else
		out->n = begin;
}

static void lists_append(const struct table *table, struct buf *out)
{
	bool has_one = false;

	for (size_t c = 0; c < table->n; c++) {
		const struct column *column = &table->columns[c];
		CLEANUP(tsc_items_done) struct tsc_items kinds = { .n = 0 };

		if (!column->is_listed)
			continue;
		for (size_t k = 0; k < column->n_kinds; k++)
			if (ARRAY_PUSH(&kinds, column->kinds[k]) < 0)
				out->failed = true;
		(void)buf_append_text(out, has_one ? ",\"" : "\"d\":{\"");
		has_one = true;
		tsc_path_append(table->tree, column->keys, column->n_keys, table->names, out);
		(void)buf_append_text(out, "\":");
		tsc_items_append(table->tree, &kinds, out);
	}
	(void)buf_append_text(out, has_one ? "}," : "");
}

static void table_append(const struct table *table, struct buf *out)
{
	bool has_one = false;

	(void)buf_append_text(out, "{");
	same_append(table, out);
	lists_append(table, out);
	(void)buf_append_text(out, "\"k\":\"");
	for (size_t c = 0; c < table->n; c++)
		if (!table->columns[c].is_same) {
			(void)buf_append_text(out, has_one ? "," : "");
			has_one = true;
			tsc_path_append(table->tree, table->columns[c].keys, table->columns[c].n_keys, table->names,
					out);
		}
	(void)buf_append_text(out, "\",\"r\":[");
	for (size_t r = 0; r < table->rows->n; r++) {
		(void)buf_append_text(out, r ? "," : "");
		table_row_append(table, r, out);
	}
	(void)buf_append_text(out, "]}");
}

/* Where all rows are equal, one column stands in them: how many there are is seen, and of what. */
static void column_keep(struct table *table)
{
	struct column *kept = NULL;

	for (size_t c = 0; c < table->n; c++) {
		if (!table->columns[c].is_same)
			return;
		if (!kept && !table->columns[c].is_default)
			kept = &table->columns[c];
	}
	if (!kept)
		return;
	kept->is_same = false;
	kept->n_cells = kept->n_rows;
}

bool tsc_table_append(const struct tree *tree, const struct tsc_items *rows, uint32_t names, struct buf *out)
{
	CLEANUP(table_free) struct table *table = NULL;

	if (rows->n < ROWS_MIN || tsc_node(tree, rows->items[0])->kind != (names ? NODE_ARRAY : NODE_OBJECT))
		return false;
	table = calloc(1, sizeof(*table));
	if (!table) {
		out->failed = true;
		return false;
	}
	table->tree = tree;
	table->rows = rows;
	table->names = names;
	if (!(names ? named_columns_add(table) : columns_add(table, NULL)) || !table->n) {
		out->failed |= table->failed;
		return false;
	}
	column_keep(table);
	qsort(table->columns, table->n, sizeof(table->columns[0]), column_compare);
	table_append(table, out);
	return true;
}
