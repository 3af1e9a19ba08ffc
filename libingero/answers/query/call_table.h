// SPDX-License-Identifier: Apache-2.0
/* Recorded calls as a table on a terminal: cells as wide as the terminal allows, the id always whole. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/* Widths of the columns. */
struct call_table {
	unsigned int clock;
	unsigned int process;
	unsigned int op;
	unsigned int took;
	unsigned int note; /* "most of it"; 0: the column is left out */
	unsigned int id;
	unsigned int gap;
};

/** call_table_plan() - choose widths for these events; cells of later events are cut to them */
void call_table_plan(struct call_table *table, const Ingero__V1__EventsReply *reply, const struct text_style *style);
void call_table_append_title(const struct call_table *table, const struct text_style *style, struct buf *out);
/** call_table_append() - append a line; a second one for the error, where it does not fit beside the id */
void call_table_append(const struct call_table *table, const Ingero__V1__Event *event, const struct text_style *style,
		       struct buf *out);
