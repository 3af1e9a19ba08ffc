// SPDX-License-Identifier: Apache-2.0
/*
 * Recorded calls as they arrive: a table for people, tab-separated lines for other programs, or the JSON of
 * docs/schema/trace-event.schema.json. No call is collected.
 */
#pragma once

#include "libingero/answers/query/call_table.h"
#include "libingero/answers/query/rows.h"

struct calls {
	enum rows_form form;
	struct text_style style;
	uint64_t now_unix_ns;
	uint64_t day_unix_ns; /* date of the last line; 0: none */
	uint64_t n;
	bool is_chosen;	   /* the caller gave a time */
	const char *words; /* how the window was chosen, for the footer; NULL: as asked */
	const char *db;	   /* --db, for the command that shows one call; NULL: not given */
	struct call_table table;
};

/** calls_take() - append the calls of one message. Return: 0 or -ENOMEM */
int calls_take(struct calls *calls, const Ingero__V1__EventsReply *reply, struct buf *out);
/** calls_footer_append() - append the counts of recorded and of all calls, and the losses: for stderr */
void calls_footer_append(const struct calls *calls, const Ingero__V1__EventsEnd *end, const struct text_style *style,
			 struct buf *out);
