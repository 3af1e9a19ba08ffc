// SPDX-License-Identifier: Apache-2.0
/*
 * Text tables whose columns stand under each other.
 *
 * Cells are added row by row and shown at the width of a terminal: columns grow
 * with their contents, one may take what is left, and on narrow terminals the
 * least important go first.
 */
#pragma once

#include "base/array.h"
#include "libingero/render/text.h"

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column {
	const char *title;
	enum table_align align;
	unsigned int min;  /* columns; keeps a table that is redrawn from trembling */
	unsigned int max;  /* columns; longer cells are cut; 0: no limit */
	unsigned int drop; /* where room lacks the column with the highest number goes first; 0: never */
	bool narrows_last; /* its end is what matters: others give way down to NARROW_LEAST columns first */
	bool takes_rest;   /* at most one: gets what the others leave, at least min unless nothing is left to drop */
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
/** table_add() - next cell, left to right, row by row; without memory the table remembers that it failed */
void table_add(struct table *t, enum text_tone tone, const char *fmt, ...) PRINTF_LIKE(3, 4);
/** table_rows() - complete rows */
size_t table_rows(const struct table *t);
/**
 * table_render() - titles, then the first rows
 * @max_rows: of the table without its title line
 * Return: 0, or -ENOMEM when a cell or the output found no memory
 */
int table_render(const struct table *t, const struct text_style *style, size_t max_rows, struct buf *out);
