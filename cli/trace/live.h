// SPDX-License-Identifier: Apache-2.0
/*
 * What keys change of the live screen: page, time that is shown, order, place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/trace/order.h"

enum trace_page { TRACE_PAGE_TABLE, TRACE_PAGE_FINDINGS, TRACE_PAGE_HELP };

struct trace_live {
	enum trace_page page;
	bool is_total;	/* figures since the start, not of the last seconds */
	bool is_paused; /* what comes is not shown */
	size_t first;	/* row of the table, or line of the page, at the top */
	struct trace_order order;
	char escape[8]; /* what came of a sequence of a key */
	size_t n_escape;
};

void trace_live_done(struct trace_live *live);
/** trace_live_key() - take one byte of what was typed. Return: whether it asks for the end */
bool trace_live_key(struct trace_live *live, char key);
