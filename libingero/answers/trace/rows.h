// SPDX-License-Identifier: Apache-2.0
/* The table of operations, for the live screen and the summary. */
#pragma once

#include "base/array.h"
#include "base/process_name.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/blame.h"
#include "libingero/render/text.h"

/* Share of an operation's time from which its wait for the CPU is marked (guess: revisit with the diagnosis lab). */
#define TRACE_WAITS_RATIO 0.10
/* ... and the least time: shares of a tiny time are noise. */
#define TRACE_WAITS_LEAST_NS 1000000ull
/* ... and the least share of the time watched: the loudest mark on the screen has to be the cause. */
#define TRACE_WAITS_WINDOW_RATIO 0.005

struct trace_row {
	const Ingero__V1__Operation *op; /* borrowed */
	double per_s;			 /* calls since the previous figures */
	double share;			 /* share of the time watched */
	struct blame_view blame;
	bool waits_for_cpu; /* waits for the CPU for a notable share of its time */
	bool is_idle;	    /* not called in the time shown: only the identity in `op` is valid */
};

struct trace_rows {
	ARRAY(struct trace_row) rows; /* most time first, until sorted otherwise */
	size_t n_processes;
	uint64_t n_calls;
	uint64_t n_errors;
	size_t first;	  /* number of rows that are scrolled away above */
	bool is_scrolled; /* scrollable by keys, which the table names where it does not fit */
};

#define TRACE_ROWS_INIT                                                                                                \
	{                                                                                                              \
		.n_processes = 0                                                                                       \
	}

void trace_rows_done(struct trace_rows *rows);
/**
 * trace_rows_build() - make the rows of the table
 * @figures:  borrowed for as long as the rows live
 * @previous: earlier figures for rates, or NULL: the whole window
 * Return: 0 or -ENOMEM
 */
int trace_rows_build(const Ingero__V1__Summary *figures, const Ingero__V1__Summary *previous,
		     struct trace_rows *ret_rows);
/**
 * trace_rows_append() - append the table
 * @max: maximum number of rows; the first are shown, grouped by process, then "and n more"
 * Return: 0 or -ENOMEM
 */
int trace_rows_append(const struct trace_rows *rows, const struct text_style *style, size_t max, struct buf *out);

/**
 * trace_blame_append() - append the two classes with most time, in percent: "device 61 · runnable 34"; nothing without
 * any
 */
void trace_blame_append(struct buf *out, const struct blame_view *blame);
/** trace_error_append() - append the known error of failed calls: " with 2 cudaErrorMemoryAllocation"; else nothing */
void trace_error_append(const Ingero__V1__Operation *op, struct buf *out);
/** trace_op_is_estimate() - whether the number of calls is an estimate, since some were left out to keep the budget */
bool trace_op_is_estimate(const Ingero__V1__Operation *op);
/** trace_op_is_same() - whether both are the same operation of the same process */
bool trace_op_is_same(const Ingero__V1__Operation *a, const Ingero__V1__Operation *b);

struct trace_label {
	char text[64];
};

/** trace_op_label() - the name that Ingero uses: "cudaStreamSync" */
struct trace_label trace_op_label(const char *op);
/**
 * trace_process_name() - process_name_long() of a message: "python3 train.py rank 3"
 * @program: NULL: only the name is known
 */
struct process_name trace_process_name(const char *name, const Ingero__V1__Program *program);
/** trace_process_name_short() - process_name_short(): "train.py rank 3" */
struct process_name trace_process_name_short(const char *name, const Ingero__V1__Program *program);
/**
 * trace_process_label() - "python3 train.py rank 3 4711" in at most `columns`, the pid whole; without room first the
 * name is left out, then the end of the script
 */
struct trace_label trace_process_label(const char *name, const Ingero__V1__Program *program, uint32_t pid,
				       unsigned int columns);
