// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/table.h"

#include <stdarg.h>
#include <string.h>

#define REST_MIN 12u	 /* least width of the last column: guess, try on real screens */
#define NARROW_LEAST 12u /* "cudaLaunchK…" can still be recognised: guess, try on real screens */

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->cells.n; i++)
		free(t->cells.items[i].text);
	ARRAY_DONE(&t->cells);
}

void table_add(struct table *t, enum text_tone tone, const char *fmt, ...)
{
	struct table_cell cell = { .tone = tone };
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&cell.text, fmt, ap) < 0)
		cell.text = NULL;
	va_end(ap);

	if (!cell.text || ARRAY_PUSH(&t->cells, cell) < 0) {
		free(cell.text);
		t->failed = true;
	}
}

size_t table_rows(const struct table *t)
{
	return t->cells.n / t->n_columns;
}

static const struct table_cell *cell_get(const struct table *t, size_t row, size_t column)
{
	return &t->cells.items[row * t->n_columns + column];
}

/* Wanted width of a column: its widest cell, within its limits. */
static unsigned int column_wish(const struct table *t, size_t column, size_t n_rows)
{
	const struct table_column *c = &t->columns[column];
	unsigned int width = MAX(text_columns(c->title), c->min);

	for (size_t row = 0; row < n_rows; row++)
		width = MAX(width, text_columns(cell_get(t, row, column)->text));
	return c->max ? MIN(width, c->max) : width;
}

static unsigned int widths_sum(const struct table *t, const unsigned int *widths)
{
	unsigned int sum = 0, shown = 0;

	for (size_t i = 0; i < t->n_columns; i++) {
		sum += widths[i];
		shown += widths[i] > 0;
	}
	return sum + (shown > 1 ? (shown - 1) * t->gap : 0);
}

/* The column to leave out next, or n when none can be. */
static size_t column_to_drop(const struct table *t, const unsigned int *widths)
{
	size_t found = t->n_columns;

	for (size_t i = 0; i < t->n_columns; i++)
		if (widths[i] && t->columns[i].drop &&
		    (found == t->n_columns || t->columns[i].drop > t->columns[found].drop))
			found = i;
	return found;
}

/* The column to make narrower next, or n when none can be. */
static size_t column_to_narrow(const struct table *t, const unsigned int *widths)
{
	static const unsigned int least[] = { NARROW_LEAST, 1 };

	for (size_t pass = 0; pass < ARRAY_SIZE(least); pass++) {
		size_t widest = t->n_columns;

		for (size_t i = 0; i < t->n_columns; i++)
			if (widths[i] > least[pass] && (pass > 0 || !t->columns[i].narrows_last) &&
			    (widest == t->n_columns || widths[i] > widths[widest]))
				widest = i;
		if (widest < t->n_columns)
			return widest;
	}
	return t->n_columns;
}

static void widths_fit(const struct table *t, size_t n_rows, unsigned int room, unsigned int *widths)
{
	size_t rest = t->n_columns, widest;
	unsigned int sum;

	for (size_t i = 0; i < t->n_columns; i++) {
		widths[i] = column_wish(t, i, n_rows);
		if (t->columns[i].takes_rest) {
			rest = i;
			widths[i] = MIN(widths[i], MAX(REST_MIN, t->columns[i].min));
		}
	}

	while (widths_sum(t, widths) > room) {
		size_t drop = column_to_drop(t, widths);

		if (drop == t->n_columns)
			break;
		widths[drop] = 0;
	}
	while ((sum = widths_sum(t, widths)) > room) {
		widest = column_to_narrow(t, widths);
		if (widest == t->n_columns)
			break;
		widths[widest]--;
	}
	if (rest < t->n_columns && widths[rest] && sum < room)
		widths[rest] = MIN(column_wish(t, rest, n_rows), widths[rest] + (room - sum));
}

static void row_render(const struct table *t, const struct text_style *style, const unsigned int *widths,
		       const struct table_cell *cells, struct buf *out)
{
	unsigned int pending = 0; /* spaces are written only before text: no trailing blanks */

	for (size_t i = 0; i < t->n_columns; i++) {
		const char *text = cells ? cells[i].text : t->columns[i].title;
		enum text_tone tone = cells ? cells[i].tone : TEXT_DIM;
		unsigned int columns = MIN(text_columns(text), widths[i]), pad = widths[i] - columns;

		if (widths[i] == 0)
			continue;
		if (t->columns[i].align == TABLE_RIGHT)
			pending += pad;
		if (columns > 0) {
			text_spaces(out, pending);
			pending = 0;
			if (tone != TEXT_PLAIN)
				text_tone(out, style, tone);
			columns = text_append(out, style, text, widths[i]);
			if (tone != TEXT_PLAIN)
				text_tone(out, style, TEXT_PLAIN);
			pad = widths[i] - columns; /* a wide character cut off may leave a column */
		}
		pending += (t->columns[i].align == TABLE_LEFT ? pad : 0) + t->gap;
	}
	(void)buf_append_text(out, "\n");
}

int table_render(const struct table *t, const struct text_style *style, size_t max_rows, struct buf *out)
{
	size_t n_rows = MIN(table_rows(t), max_rows);
	CLEANUP(freep) unsigned int *widths = calloc(t->n_columns, sizeof(*widths));

	if (!widths || t->failed)
		return -ENOMEM;

	widths_fit(t, n_rows, style->columns, widths);
	row_render(t, style, widths, NULL, out);
	for (size_t row = 0; row < n_rows; row++)
		row_render(t, style, widths, cell_get(t, row, 0), out);
	return out->failed ? -ENOMEM : 0;
}
