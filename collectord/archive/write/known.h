// SPDX-License-Identifier: Apache-2.0
/*
 * Row numbers of the processes of this boot, and of operations without a row in ops.def: packed events refer to them.
 * Rows of the file outlive the entries of the process table, and earlier runs wrote some of the rows. An entry of the
 * process table keeps the number of its row, so each process is searched for here once.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "archive/write/batch.h"
#include "events/event.h"

#define KNOWN_MAX 65536 /* maximum number of processes, 4 MiB; beyond it, those that ended first are forgotten */

struct known_process {
	uint64_t start_boot_ns;
	uint64_t gone_ns; /* 0: alive */
	uint64_t first_ns;
	uint32_t tgid;
	uint32_t exec_gen;
	uint32_t flags; /* a process that becomes guarded gets another row; its former row stays visible to its user */
	uint32_t id;
};

struct known {
	ARRAY(struct known_process) processes;
	uint32_t *slots; /* hash: index + 1; 0: empty */
	size_t n_slots;	 /* power of two */
	size_t last;	 /* index found last */
	uint32_t next_id;
	ARRAY(struct batch_op) ops;	/* operations of the file that have no row in ops.def */
	uint32_t op_rows[OP_GIVEN_MAX]; /* their rows, by id in this run - OP_GIVEN; 0: not looked up */
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
 * Return: number of the row; 0 for no operation, or without memory
 */
uint32_t known_op(struct known *known, const struct op *op, struct batch *batch);
