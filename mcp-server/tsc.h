// SPDX-License-Identifier: Apache-2.0
/*
 * Telegraphic answers: the same JSON in fewer tokens. Nothing is lost:
 *
 * - Members have short names (mcp-server/tsc.def).
 * - Members of an object that share one of the values 0, "", [], {}, null and false are named together:
 *   "0":"quota,lock". The key is the value, and for "" it is ''.
 * - Objects that have a row DEFAULTS in mcp-server/tsc.def leave out numbers that are 0: a class that is not in "bl"
 * took no time. Members that are not in the answer at all are named in "-":"quota,lock".
 * - An array of two or more objects becomes a table {"c":{..},"d":{..},"k":"a,b.c","r":[[..],..]}: a row for each
 * object, with the values of the columns "k", which are names of members, or paths to those of objects within; null: it
 * has no such member. Members in "c" that are no column are the same in all rows; what is a column is so in rows that
 * end before it. A number in a column that is in "d" is the place in that list of values, from 0. "c" and "d" are there
 * if they say something.
 * - Where an object has "columns" and "data", which are names and rows of cells, the data become such a table; null or
 * no value is null. Columns keep the names that they have in "columns". A table has a column at least, also where all
 * rows are equal.
 * - An array of figures {"name":..,"value":..,"unit":..} becomes {"=":{name:value,..}} where the names differ, and end
 * in their units: _ns, _bytes, _ratio; any other is a count.
 * - Where an answer has two or more times, the first stands in front as "t0", and each is written as seconds behind it:
 *   "+4.5". A text that looks so keeps all times as they are.
 *
 * docs/schema names the members that have defaults; everything else is read back without it.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/**
 * tsc_append() - append a JSON text in its short form
 * Return: 0; -ENOMEM; -EPROTO: no JSON
 */
int tsc_append(struct buf *out, const char *json, size_t n);
/** tsc_page_append() - append the page that says how the short form is read, in Markdown */
void tsc_page_append(struct buf *out);
