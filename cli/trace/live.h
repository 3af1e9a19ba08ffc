// SPDX-License-Identifier: Apache-2.0
/* State of the live screen that keys change: page, time shown, order, scroll position. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/trace/order.h"

enum trace_page { TRACE_PAGE_TABLE, TRACE_PAGE_FINDINGS, TRACE_PAGE_HELP };

struct trace_live {
	enum trace_page page;
	bool is_total;	/* shows figures since the start instead of the last seconds */
	bool is_paused; /* new figures are not shown */
	size_t first;	/* first row of the table, or first line of the page, that is shown */
	struct trace_order order;
	char escape[8]; /* bytes of a key sequence so far */
	size_t n_escape;
};

void trace_live_done(struct trace_live *live);
/** trace_live_key() - process one typed byte. Return: whether it asks for the end */
bool trace_live_key(struct trace_live *live, char key);
