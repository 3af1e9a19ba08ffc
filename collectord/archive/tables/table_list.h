// SPDX-License-Identifier: Apache-2.0
/* Tables with few rows: the whole table is put into memory when a statement reads it. */
#pragma once

#include "base/arena.h"
#include "archive/tables/tables.h"

enum list_kind { LIST_NULL, LIST_INTEGER, LIST_REAL, LIST_TEXT };

struct list_value {
	enum list_kind kind;
	int64_t integer;
	double real;
	const char *text; /* in the list's arena, static, or borrowed from the reader */
};

struct table_list {
	struct arena arena;
	struct list_value *values; /* rows of n_columns */
	size_t n_rows, room;
	size_t next;
	int n_columns;
	int filled; /* number of columns of the current row that are set */
	int error;
};

/** list_new() - make the state of a cursor. Return: NULL if there is no memory */
struct table_list *list_new(struct table_cursor *cursor);
/* Append one value to the current row. An error is returned by list_row(). */
void list_u64(struct table_list *list, uint64_t value);
void list_i64(struct table_list *list, int64_t value);
void list_real(struct table_list *list, double value);
void list_null(struct table_list *list);
/** list_text() - append a copy of a text */
void list_text(struct table_list *list, const char *text);
/** list_known_u64() - append a number; SQL NULL for 0 */
void list_known_u64(struct table_list *list, uint64_t value);
/** list_known_text() - append a copy of a text; SQL NULL for an empty text */
void list_known_text(struct table_list *list, const char *text);
/** list_row() - complete the current row. Return: 0 or -ENOMEM */
int list_row(struct table_list *list);

int list_next(struct table_cursor *cursor);
void list_column(const struct table_cursor *cursor, int column, sqlite3_context *result);
void list_stop(struct table_cursor *cursor);

/* Use a line (name, type, value, comparison, description) as a column; or append its value to `list`. */
#define LIST_COLUMN(name, type, value, push, what) DEFINED_COLUMN(name, type, 0, push, what)
#define LIST_VALUE(name, type, value, push, what) value;

/* Defines a table with such columns; <prefix>_start() fills it. */
#define LIST_TABLE(table_name, prefix, n_rows, words)                                                                  \
	const struct table table_##table_name = { .name = #table_name,                                                 \
						  .what = words,                                                       \
						  .columns = prefix##_columns,                                         \
						  .n_columns = ARRAY_SIZE(prefix##_columns),                           \
						  .rows = n_rows,                                                      \
						  .start = prefix##_start,                                             \
						  .next = list_next,                                                   \
						  .column = list_column,                                               \
						  .stop = list_stop }
