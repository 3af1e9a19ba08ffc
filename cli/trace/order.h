// SPDX-License-Identifier: Apache-2.0
/*
 * Places of rows in the live table: rows are sorted when a sort key is chosen, and keep their places from then on, so
 * that they can be read while their figures change.
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
	uint64_t called_ns; /* when it was last seen being called; since the start, as all times here */
	char op[64];
	char source[16];
};

struct trace_order {
	enum trace_sort sort;
	bool is_sorted; /* with this key: places are kept */
	ARRAY(struct trace_place) places;
};

void trace_order_done(struct trace_order *order);
/** trace_sort_name() - "time" */
const char *trace_sort_name(enum trace_sort sort);
/**
 * trace_order_apply() - sort rows, or put them where they were; a new row goes where the sort key has it
 * @rows:   of the time that is shown; gets those that were called a short while before, too, as idle ones
 * @totals: figures since the start, borrowed for as long as the rows live
 * @keeps:  false: sort them anew, whatever they were before
 * Return: 0 or -ENOMEM
 */
int trace_order_apply(struct trace_order *order, struct trace_rows *rows, const Ingero__V1__Summary *totals,
		      bool keeps);
