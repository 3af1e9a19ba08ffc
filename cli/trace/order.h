// SPDX-License-Identifier: Apache-2.0
/*
 * Places of rows in the live table. Rows are sorted when a sort key is chosen, and then keep their places, so that they
 * can be read while their figures change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "libingero/answers/trace/rows.h"

enum trace_sort { TRACE_SORT_TIME, TRACE_SORT_CALLS, TRACE_SORT_P99, TRACE_SORT_NAME, TRACE_SORT_COUNT };

/* The row of one operation of one process. */
struct trace_place {
	uint32_t pid;
	uint64_t start_time_unix_ns;
	uint64_t called_ns; /* last time with a call; since the start, like all times here */
	char op[64];
	char source[16];
};

struct trace_order {
	enum trace_sort sort;
	bool is_sorted; /* with this key: places are kept */
	ARRAY(struct trace_place) places;
};

void trace_order_done(struct trace_order *order);
/** trace_sort_name() - name of a sort key: "time" */
const char *trace_sort_name(enum trace_sort sort);
/**
 * trace_order_apply() - sort rows, or put them back to their places; a new row goes where the sort key has it
 * @rows:   rows of the time shown; rows called a short while before are added as idle rows
 * @totals: figures since the start, borrowed for as long as the rows live
 * @keeps:  whether places are kept; false: sort all rows anew
 * Return: 0 or -ENOMEM
 */
int trace_order_apply(struct trace_order *order, struct trace_rows *rows, const Ingero__V1__Summary *totals,
		      bool keeps);
