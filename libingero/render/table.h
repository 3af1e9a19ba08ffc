// SPDX-License-Identifier: Apache-2.0
/*
 * Text tables with aligned columns.
 *
 * Cells are added row by row and rendered at the width of a terminal: columns grow with their contents, one may take
 * the remaining width, and on narrow terminals the least important go first.
 */
#pragma once

#include "base/array.h"
#include "libingero/render/text.h"

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column {
	const char *title;
	enum table_align align;
	unsigned int min;  /* minimum columns; keeps the layout of a redrawn table stable */
	unsigned int max;  /* maximum columns; longer cells are cut; 0: no limit */
	unsigned int drop; /* without room the column with the highest number goes first; 0: never */
	bool narrows_last; /* its end matters most: other columns give way down to NARROW_LEAST columns first */
	bool takes_rest; /* at most one column: gets the remaining width, at least min unless no other column is left to
			    drop */
};

struct table_cell {
	char *text;
	enum text_tone tone;
};

struct table {
	const struct table_column *columns; /* borrowed */
	size_t n_columns;
	unsigned int gap; /* spaces between columns */
	ARRAY(struct table_cell) cells;
	bool failed; /* no memory for a cell */
};

#define TABLE_INIT(cols)                                                                                               \
	{                                                                                                              \
		.columns = (cols), .n_columns = ARRAY_SIZE(cols), .gap = 2                                             \
	}

void table_done(struct table *t);
/** table_add() - add the next cell, left to right, row by row; without memory the table remembers the failure */
void table_add(struct table *t, enum text_tone tone, const char *fmt, ...) PRINTF_LIKE(3, 4);
/** table_rows() - number of complete rows */
size_t table_rows(const struct table *t);
/**
 * table_render() - append titles, then the first rows
 * @max_rows: maximum number of rows without the title line
 * Return: 0, or -ENOMEM when a cell or the output found no memory
 */
int table_render(const struct table *t, const struct text_style *style, size_t max_rows, struct buf *out);
