// SPDX-License-Identifier: Apache-2.0
/*
 * Row numbers of the processes of this boot, and of operations without a row in ops.def, so that packed events can name
 * them. A book of rows of the file, which outlive entries of the process table: an earlier run wrote some of them. An
 * entry keeps the number of its row, so the book is searched once for each process.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "archive/write/batch.h"
#include "events/event.h"

#define KNOWN_MAX 65536 /* maximum; beyond it those that ended first are forgotten: 4 MiB */

struct known_process {
	uint64_t start_boot_ns;
	uint64_t gone_ns; /* 0: lives */
	uint64_t first_ns;
	uint32_t tgid;
	uint32_t exec_gen;
	uint32_t flags; /* a process that becomes guarded gets another row: the former one stays its user's */
	uint32_t id;
};

struct known {
	ARRAY(struct known_process) processes;
	uint32_t *slots; /* hash: index + 1; 0: empty */
	size_t n_slots;	 /* power of two */
	size_t last;	 /* index found last */
	uint32_t next_id;
	ARRAY(struct batch_op) ops;	/* of the file */
	uint32_t op_rows[OP_GIVEN_MAX]; /* those of them that have ids now, by id - OP_GIVEN; 0: not looked up */
	uint32_t next_op;
};

void known_done(struct known *known);
/** known_find() - find a process. Return: borrowed until the next add, or NULL */
struct known_process *known_find(struct known *known, const struct process_identity *identity);
/** known_add() - add a process that known_find() does not find. Return: 0 or -ENOMEM */
int known_add(struct known *known, const struct known_process *process);
/**
 * known_op() - row of an operation in the file
 * @batch: gets rows that the file does not have yet
 * Return: 0 for none, or without memory
 */
uint32_t known_op(struct known *known, const struct op *op, struct batch *batch);
