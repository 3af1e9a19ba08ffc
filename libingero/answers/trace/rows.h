// SPDX-License-Identifier: Apache-2.0
/*
 * The table of operations: live and final, one description.
 */
#pragma once

#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/blame.h"
#include "libingero/render/text.h"

/* Waiting for the CPU is marked from this share of an operation's time on
 * (guess: revisit with the diagnosis lab). */
#define TRACE_WAITS_RATIO 0.10
/* ... and from this much time on: shares of next to nothing are noise. */
#define TRACE_WAITS_LEAST_NS 1000000ull
/* ... and from this share of the time that was watched on: the loudest thing on the screen is to be the cause. */
#define TRACE_WAITS_WINDOW_RATIO 0.005

struct trace_row {
	const Ingero__V1__Operation *op; /* borrowed */
	double per_s;			 /* calls since the previous figures */
	double share;			 /* of the time that was watched */
	struct blame_view blame;
	bool waits_for_cpu; /* a notable share of its time */
	bool is_idle;	    /* not called in the time that is shown: op says which it is, and nothing more */
};

struct trace_rows {
	ARRAY(struct trace_row) rows; /* most time first, until they are sorted otherwise */
	size_t n_processes;
	uint64_t n_calls;
	uint64_t n_errors;
	size_t first;	  /* rows above it are scrolled away */
	bool is_scrolled; /* by keys, which the table names where it does not fit */
};

#define TRACE_ROWS_INIT                                                                                                \
	{                                                                                                              \
		.n_processes = 0                                                                                       \
	}

void trace_rows_done(struct trace_rows *rows);
/**
 * trace_rows_build() - what the table shows
 * @figures:  borrowed for as long as the rows live
 * @previous: earlier figures that rates are taken against, or NULL: the whole window
 * Return: 0 or -ENOMEM
 */
int trace_rows_build(const Ingero__V1__Summary *figures, const Ingero__V1__Summary *previous,
		     struct trace_rows *ret_rows);
/**
 * trace_rows_append() - the table
 * @max: rows at most; the first of them are shown, grouped by process, then "and n more"
 * Return: 0 or -ENOMEM
 */
int trace_rows_append(const struct trace_rows *rows, const struct text_style *style, size_t max, struct buf *out);

/** trace_blame_append() - "device 61 · runnable 34": the two classes with most time, in percent; nothing without any */
void trace_blame_append(struct buf *out, const struct blame_view *blame);
/** trace_op_is_same() - the same operation of the same process */
bool trace_op_is_same(const Ingero__V1__Operation *a, const Ingero__V1__Operation *b);

struct trace_label {
	char text[64];
};

/** trace_op_label() - the name by which Ingero's users know it: "cudaStreamSync" */
struct trace_label trace_op_label(const char *op);
struct trace_name {
	char text[128];
};

/**
 * trace_process_name() - "python3 train.py rank 3": how people are told which process it is, everywhere
 * @program: NULL: nothing more is known of it than its name
 */
struct trace_name trace_process_name(const char *name, const Ingero__V1__Program *program);
/**
 * trace_process_label() - "python3 train.py rank 3 4711" in at most `columns`, the pid whole; where that is too much
 * without the name, then without the end of the script
 */
struct trace_label trace_process_label(const char *name, const Ingero__V1__Program *program, uint32_t pid,
				       unsigned int columns);
