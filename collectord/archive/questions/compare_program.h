// SPDX-License-Identifier: Apache-2.0
/*
 * Programs of one side of a comparison: the sums of their processes, by piece of time. Of each process the thread that
 * drives it counts.
 */
#pragma once

#include "archive/questions/compare_series.h"

struct compared_part {
	uint8_t where, class;
	uint32_t op; /* id of the reader; 0: between calls, or several */
	uint64_t values[SERIES_PIECES];
};

struct compared_op {
	const struct read_op *op; /* NULL: calls without a free cell */
	uint16_t measured;
	struct op_figures figures;
	uint64_t values[SERIES_PIECES];
};

struct compared_program {
	const char *comm;   /* borrowed from the reader, as script is */
	const char *script; /* "": none, or not known */
	size_t n_pieces;
	uint64_t wall[SERIES_PIECES];	  /* ns of the driving threads */
	uint64_t runnable[SERIES_PIECES]; /* of these, ready without a CPU */
	uint64_t calls[SERIES_PIECES];	  /* of all threads and operations */
	uint64_t wall_ns;
	ARRAY(struct compared_part *) parts;
	ARRAY(struct compared_op *) ops;
	ARRAY(uint32_t) pids;
};

struct compared_programs {
	ARRAY(struct compared_program *) items; /* those with most wall clock first */
};

void compared_programs_done(struct compared_programs *programs);
/** compared_programs_build() - @series: must outlive the programs. Return: 0 or -ENOMEM */
int compared_programs_build(const struct series *series, struct compared_programs *ret);
/** compared_program_part() - part of the account. Return: NULL: it has none */
const struct compared_part *compared_program_part(const struct compared_program *program, uint8_t where, uint8_t class,
						  uint32_t op);
/** compared_program_op() - operation by id of the reader. Return: NULL: it was not called */
const struct compared_op *compared_program_op(const struct compared_program *program, uint32_t op);
