// SPDX-License-Identifier: Apache-2.0
#include "archive/tables/table_list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct table_list *list_new(struct table_cursor *cursor)
{
	struct table_list *list = calloc(1, sizeof(*list));

	if (!list)
		return NULL;
	list->n_columns = (int)cursor->table->n_columns;
	cursor->state = list;
	return list;
}

static void list_push(struct table_list *list, struct list_value value)
{
	size_t at = list->n_rows * (size_t)list->n_columns + (size_t)list->filled;

	if (!list->error)
		list->error = array_grow(&list->values, at, &list->room, sizeof(value));
	if (list->error)
		return;
	list->values[at] = value;
	list->filled++;
}

void list_u64(struct table_list *list, uint64_t value)
{
	list_i64(list, (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

void list_i64(struct table_list *list, int64_t value)
{
	list_push(list, (struct list_value){ .kind = LIST_INTEGER, .integer = value });
}

void list_real(struct table_list *list, double value)
{
	list_push(list, (struct list_value){ .kind = LIST_REAL, .real = value });
}

void list_null(struct table_list *list)
{
	list_push(list, (struct list_value){ .kind = LIST_NULL });
}

void list_text(struct table_list *list, const char *text)
{
	const char *copy = arena_copy_text(&list->arena, text);

	if (!copy)
		list->error = -ENOMEM;
	list_push(list, (struct list_value){ .kind = LIST_TEXT, .text = copy });
}

void list_known_u64(struct table_list *list, uint64_t value)
{
	if (value)
		list_u64(list, value);
	else
		list_null(list);
}

void list_known_text(struct table_list *list, const char *text)
{
	if (*text)
		list_text(list, text);
	else
		list_null(list);
}

int list_row(struct table_list *list)
{
	if (list->error)
		return list->error;
	assert(list->filled == list->n_columns);
	list->filled = 0;
	list->n_rows++;
	return 0;
}

int list_next(struct table_cursor *cursor)
{
	struct table_list *list = cursor->state;

	if (list->next == list->n_rows)
		return 0;
	list->next++;
	return 1;
}

void list_column(const struct table_cursor *cursor, int column, sqlite3_context *result)
{
	const struct table_list *list = cursor->state;
	const struct list_value *v = &list->values[(list->next - 1) * (size_t)list->n_columns + (size_t)column];

	switch (v->kind) {
	case LIST_NULL:
		return;
	case LIST_INTEGER:
		sqlite3_result_int64(result, v->integer);
		return;
	case LIST_REAL:
		sqlite3_result_double(result, v->real);
		return;
	case LIST_TEXT:
		table_result_text(result, v->text);
		return;
	}
}

void list_stop(struct table_cursor *cursor)
{
	struct table_list *list = cursor->state;

	arena_done(&list->arena);
	free(list->values);
}
