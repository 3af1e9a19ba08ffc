// SPDX-License-Identifier: Apache-2.0
/*
 * One side of a comparison: the accounts of its threads and the counts of its operations, by piece of time. Rows of
 * figures are added in order of time. However long the window is, there are at most SERIES_PIECES pieces: then
 * neighbours become one.
 */
#pragma once

#include "base/array.h"
#include "archive/read/read.h"

#define SERIES_PIECES 128u

struct series_piece {
	uint64_t from_unix_ns, to_unix_ns;
};

enum { SERIES_CALLS = ACCOUNT_WHERE_COUNT }; /* in place of an account_where: number of calls of an operation */

struct series_key {
	uint32_t process; /* id of the reader */
	uint32_t tid;	  /* of SERIES_CALLS 0 */
	uint32_t op;	  /* id of the reader; 0: between calls, or several */
	uint8_t what;	  /* enum account_where, or SERIES_CALLS */
	uint8_t class;	  /* enum blame_class; of SERIES_CALLS 0 */
};

struct series_row {
	struct series_key key;
	uint64_t driving_ns; /* of the sum of values: while the thread was driving */
	uint64_t *values;    /* SERIES_PIECES: ns, or calls */
};

/* Figures of an operation of a process, over all pieces. */
struct series_op {
	const struct read_process *process;
	const struct read_op *op;
	uint16_t measured;
	struct op_figures figures;
};

typedef ARRAY(uint32_t) process_ids_wanted;

struct series {
	process_ids_wanted ids; /* by id of the reader; none: all */
	uint32_t only_file;	/* number of the file, from 1; 0: all */
	ARRAY(struct series_piece) pieces;
	uint64_t least_ns;			      /* shorter rows that follow each other are one piece */
	ARRAY(struct series_row) rows;		      /* sorted by key */
	ARRAY(struct series_op) ops;		      /* sorted by process and operation */
	ARRAY(const struct read_process *) processes; /* sorted by id */
	bool has_accounts;
};

void series_done(struct series *series);
/** series_add() - add a row of figures. Return: 0, -ENOMEM, -E2BIG: too many threads and operations */
int series_add(struct series *series, const struct read_bucket *bucket);
/** series_find() - first row of a process; the rows of a process are adjacent. Return: index in rows */
size_t series_find(const struct series *series, uint32_t process);
/** series_figures_add() - add figures of an operation. Return: 0 or -ENOMEM */
int series_figures_add(struct op_figures *sum, const struct op_figures *more);
/** series_sum() - sum of a row over all pieces */
uint64_t series_sum(const struct series *series, const struct series_row *row);
