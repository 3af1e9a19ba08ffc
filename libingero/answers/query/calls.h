// SPDX-License-Identifier: Apache-2.0
/*
 * Kept calls as they come: a table for people, tab-separated lines for other
 * programs, or the JSON of docs/schema/trace-event.schema.json. No call is kept.
 */
#pragma once

#include "libingero/answers/query/call_table.h"
#include "libingero/answers/query/rows.h"

struct calls {
	enum rows_form form;
	struct text_style style;
	uint64_t now_unix_ns;
	uint64_t day_unix_ns; /* of the last line: its date was shown; 0: none */
	uint64_t n;
	bool is_chosen; /* the caller said which time */
	const char *db; /* --db, to ask about one of them; NULL: not given */
	struct call_table table;
};

/** calls_take() - what one message brings. Return: 0 or -ENOMEM */
int calls_take(struct calls *calls, const Ingero__V1__EventsReply *reply, struct buf *out);
/** calls_footer_append() - kept against counted, and what was lost: for stderr */
void calls_footer_append(const struct calls *calls, const Ingero__V1__EventsEnd *end, const struct text_style *style,
			 struct buf *out);
