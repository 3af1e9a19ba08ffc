// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/query/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "libingero/render/pb_json.h"

#define CELL_MOST 60u /* maximum width of a cell that has others beside it; longer cells are cut */
#define GAP 2u

void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->columns.n; i++)
		free(rows->columns.items[i].name);
	ARRAY_DONE(&rows->columns);
}

static bool name_is_taken(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->columns.n; i++)
		if (strcmp(rows->columns.items[i].name, name) == 0)
			return true;
	return false;
}

/* Keys of an object are unique. */
static int column_add(struct rows *rows, const char *name)
{
	struct rows_column column = { .is_number = true };
	CLEANUP(freep) char *own = strdup(name);

	for (unsigned int i = 2; own && rows->form == ROWS_JSON && name_is_taken(rows, own); i++) {
		free(own);
		if (asprintf(&own, "%s_%u", name, i) < 0)
			own = NULL;
	}
	if (!own)
		return -ENOMEM;
	column.name = own;
	if (ARRAY_PUSH(&rows->columns, column) < 0)
		return -ENOMEM;
	own = NULL; /* the column owns it */
	return 0;
}

/* A cell as text, the same for tables and lines, not yet escaped. */
static void value_text(const Ingero__V1__SqlValue *value, const char *null, struct buf *out)
{
	switch (value->value_case) {
	case INGERO__V1__SQL_VALUE__VALUE_INTEGER:
		(void)buf_printf(out, "%" PRId64, value->integer);
		return;
	case INGERO__V1__SQL_VALUE__VALUE_REAL:
		pb_json_number(out, value->real);
		return;
	case INGERO__V1__SQL_VALUE__VALUE_TEXT:
		(void)buf_append_text(out, value->text);
		return;
	case INGERO__V1__SQL_VALUE__VALUE_BLOB:
		for (size_t i = 0; i < value->blob.len; i++)
			(void)buf_printf(out, "%02x", value->blob.data[i]);
		return;
	case INGERO__V1__SQL_VALUE__VALUE__NOT_SET:
	case _INGERO__V1__SQL_VALUE__VALUE__CASE_IS_INT_SIZE:
		break;
	}
	(void)buf_append_text(out, null);
}

static bool value_is_number(const Ingero__V1__SqlValue *value)
{
	return value->value_case == INGERO__V1__SQL_VALUE__VALUE_INTEGER ||
	       value->value_case == INGERO__V1__SQL_VALUE__VALUE_REAL ||
	       value->value_case == INGERO__V1__SQL_VALUE__VALUE__NOT_SET;
}

static void widths_find(struct rows *rows, const Ingero__V1__SqlReply *reply)
{
	for (size_t i = 0; i < rows->columns.n; i++) {
		struct rows_column *column = &rows->columns.items[i];

		column->width = MIN(text_columns(column->name), CELL_MOST);
		for (size_t k = 0; k < reply->n_rows; k++) {
			const Ingero__V1__SqlValue *value = reply->rows[k]->values[i];
			CLEANUP(buf_done) struct buf text = BUF_INIT;

			column->is_number = column->is_number && value_is_number(value);
			value_text(value, "", &text);
			column->width = MAX(column->width, MIN(text_columns(buf_text(&text)), CELL_MOST));
		}
		if (reply->n_rows == 0)
			column->is_number = false;
	}
}

/* A cell longer than its column shifts the following cells rather than being cut. */
static void value_cell_append(const struct rows *rows, size_t i, const char *text, struct buf *out)
{
	const struct rows_column *column = &rows->columns.items[i];
	bool is_last = i + 1 == rows->columns.n;
	unsigned int columns = text_columns(text), room = is_last ? UINT32_MAX : CELL_MOST;
	unsigned int pad = column->width > columns ? column->width - columns : 0;

	if (column->is_number)
		text_spaces(out, pad);
	(void)text_append(out, &rows->style, text, room);
	if (is_last)
		return;
	text_spaces(out, GAP + (column->is_number ? 0 : pad));
}

static bool table_fits(const struct rows *rows)
{
	uint64_t columns = 0;

	for (size_t i = 0; i < rows->columns.n; i++)
		columns += rows->columns.items[i].width + (i ? GAP : 0);
	return columns <= rows->style.columns;
}

static void tall_append(const struct rows *rows, const Ingero__V1__SqlRow *row, struct buf *out)
{
	unsigned int width = 0;

	for (size_t i = 0; i < rows->columns.n; i++)
		width = MAX(width, MIN(text_columns(rows->columns.items[i].name), CELL_MOST));
	for (size_t i = 0; i < row->n_values; i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		unsigned int used;

		value_text(row->values[i], "", &text);
		text_tone(out, &rows->style, TEXT_BOLD);
		used = text_append(out, &rows->style, rows->columns.items[i].name, width);
		text_tone(out, &rows->style, TEXT_PLAIN);
		text_spaces(out, text.n ? width - used + GAP : 0);
		(void)text_append(out, &rows->style, buf_text(&text), UINT32_MAX);
		(void)buf_append_text(out, "\n");
	}
	(void)buf_append_text(out, "\n");
}

static void line_cell_append(const char *text, size_t n, struct buf *out)
{
	static const char special[] = "\t\n\r\\", written[] = "tnr\\";

	for (size_t i = 0; i < n; i++) {
		const char *found = text[i] ? strchr(special, text[i]) : NULL;

		if (found)
			(void)buf_printf(out, "\\%c", written[found - special]);
		else
			(void)buf_append(out, &text[i], 1);
	}
}

static void titles_append(struct rows *rows, struct buf *out)
{
	if (rows->has_titles || rows->form == ROWS_JSON || rows->columns.n == 0)
		return;
	rows->has_titles = true;
	if (rows->form == ROWS_TABLE)
		text_tone(out, &rows->style, TEXT_BOLD);
	for (size_t i = 0; i < rows->columns.n; i++) {
		const char *name = rows->columns.items[i].name;

		if (rows->form == ROWS_TABLE) {
			value_cell_append(rows, i, name, out);
			continue;
		}
		(void)buf_append_text(out, i ? "\t" : "");
		line_cell_append(name, strlen(name), out);
	}
	if (rows->form == ROWS_TABLE)
		text_tone(out, &rows->style, TEXT_PLAIN);
	(void)buf_append_text(out, "\n");
}

void rows_value_json(const Ingero__V1__SqlValue *value, struct buf *out)
{
	if (value->value_case == INGERO__V1__SQL_VALUE__VALUE_TEXT)
		json_text_add(out, value->text);
	else if (value->value_case == INGERO__V1__SQL_VALUE__VALUE_BLOB)
		pb_json_bytes(out, &value->blob);
	else
		value_text(value, "null", out);
}

static void object_append(const struct rows *rows, const Ingero__V1__SqlRow *row, struct buf *out)
{
	(void)buf_append_text(out, "{");
	for (size_t i = 0; i < row->n_values; i++) {
		const Ingero__V1__SqlValue *value = row->values[i];
		const char *name = rows->columns.items[i].name;

		(void)buf_append_text(out, i ? "," : "");
		json_text_add(out, name);
		(void)buf_append_text(out, ":");
		rows_value_json(value, out);
	}
	(void)buf_append_text(out, "}\n");
}

static void values_row_append(struct rows *rows, const Ingero__V1__SqlRow *row, struct buf *out)
{
	if (rows->form == ROWS_JSON) {
		object_append(rows, row, out);
		return;
	}
	if (rows->is_tall) {
		tall_append(rows, row, out);
		return;
	}
	for (size_t i = 0; i < row->n_values; i++) {
		const Ingero__V1__SqlValue *value = row->values[i];
		bool is_null = value->value_case == INGERO__V1__SQL_VALUE__VALUE__NOT_SET;
		CLEANUP(buf_done) struct buf text = BUF_INIT;

		value_text(value, "", &text);
		if (rows->form == ROWS_TABLE) {
			value_cell_append(rows, i, buf_text(&text), out);
			continue;
		}
		(void)buf_append_text(out, i ? "\t" : "");
		if (is_null)
			(void)buf_append_text(out, "\\N");
		else
			line_cell_append(buf_text(&text), text.n, out);
	}
	(void)buf_append_text(out, "\n");
}

int rows_take(struct rows *rows, const Ingero__V1__SqlReply *reply, struct buf *out)
{
	for (size_t i = 0; i < reply->n_columns && rows->n == 0; i++)
		if (column_add(rows, reply->columns[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < reply->n_rows; i++)
		if (reply->rows[i]->n_values != rows->columns.n)
			return -EPROTO;

	if (reply->n_rows > 0 && !rows->has_titles) {
		if (rows->form == ROWS_TABLE) {
			widths_find(rows, reply);
			rows->is_tall = rows->columns.n > 1 && !table_fits(rows);
		}
		if (!rows->is_tall)
			titles_append(rows, out);
		rows->has_titles = true;
	}
	for (size_t i = 0; i < reply->n_rows; i++)
		values_row_append(rows, reply->rows[i], out);
	rows->n += reply->n_rows;
	rows->is_cut = rows->is_cut || reply->is_cut;
	return out->failed ? -ENOMEM : 0;
}

int rows_end(struct rows *rows, struct buf *out)
{
	static const Ingero__V1__SqlReply nothing = INGERO__V1__SQL_REPLY__INIT;

	if (rows->form == ROWS_TABLE && !rows->has_titles)
		widths_find(rows, &nothing);
	titles_append(rows, out);
	return out->failed ? -ENOMEM : 0;
}
