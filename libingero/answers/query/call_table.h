// SPDX-License-Identifier: Apache-2.0
/*
 * Kept calls as a table on a terminal: as much of each as the terminal is wide, and its id to the last character.
 */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* Columns of the terminal that each column takes. */
struct call_table {
	unsigned int clock;
	unsigned int process;
	unsigned int op;
	unsigned int took;
	unsigned int note; /* "most of it"; 0: the column is left out */
	unsigned int id;
	unsigned int gap;
};

/** call_table_plan() - widths that show these events; later ones give way within them */
void call_table_plan(struct call_table *table, const Ingero__V1__EventsReply *reply, const struct text_style *style);
void call_table_append_title(const struct call_table *table, const struct text_style *style, struct buf *out);
/** call_table_append() - a line; a second one for what went wrong, where that has no room beside the id */
void call_table_append(const struct call_table *table, const Ingero__V1__Event *event, const struct text_style *style,
		       struct buf *out);
