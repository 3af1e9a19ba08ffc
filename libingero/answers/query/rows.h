// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of a SELECT as they arrive: an aligned table for people, tab-separated lines for other programs, or JSON. No row
 * is collected: the first message sets the widths of a table.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

enum rows_form {
	ROWS_TABLE, /* a line for each value where a row is wider than the terminal */
	ROWS_LINES, /* column names first; \t \n \r \\ are escaped, NULL is \N */
	ROWS_JSON,  /* one object a row; repeated names get _2, _3 ... */
};

struct rows_column {
	char *name;
	unsigned int width;
	bool is_number;
};

struct rows {
	enum rows_form form;
	struct text_style style;
	ARRAY(struct rows_column) columns;
	uint64_t n;
	bool has_titles; /* number of rows shown */
	bool is_tall;	 /* a line for each value: the table is wider than the terminal */
	bool is_cut;	 /* more rows matched than were asked for */
};

#define ROWS_INIT(how)                                                                                                 \
	{                                                                                                              \
		.form = (how)                                                                                          \
	}

void rows_done(struct rows *rows);
/**
 * rows_take() - append the rows of one message. Return: 0, -ENOMEM, or -EPROTO (rows that do not match their columns)
 */
int rows_take(struct rows *rows, const Ingero__V1__SqlReply *reply, struct buf *out);
/** rows_end() - append the titles of an answer without rows */
int rows_end(struct rows *rows, struct buf *out);
/** rows_value_json() - append a value of a row as JSON */
void rows_value_json(const Ingero__V1__SqlValue *value, struct buf *out);
