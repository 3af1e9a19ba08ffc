// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of bpf/ops.def as the daemon reads them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ops.h"

struct op {
	uint16_t id;
	enum op_layer layer;
	const char *name;		      /* exported name without suffix: `op` in every answer */
	const char *short_name;		      /* as Ingero calls it */
	enum op_meaning meaning[OP_ARGS_MAX]; /* of the kept arguments, OP_MEANING_NONE behind them */
	uint32_t traits;		      /* OP_SYNC ... */
	enum op_tier tier;
};

/** op_get() - row of an id, NULL if there is none */
const struct op *op_get(uint32_t id);
/** op_count() - number of rows of ops.def */
size_t op_count(void);
/** op_at() - one of them, below op_count(), in the order of the table, which carries no meaning */
const struct op *op_at(size_t i);
/** op_find() - row by `name`, NULL if there is none */
const struct op *op_find(const char *name);
/** op_is_call() - a call of the program's; else an event of the host. NULL, of which no cell told, is a call */
bool op_is_call(const struct op *op);
/** op_is_measured() - its time is split by class: calls, and waits outside of them */
bool op_is_measured(const struct op *op);
/** op_layer_to_source() - "cuda" (runtime), "driver", "host": `source` in every answer */
const char *op_layer_to_source(enum op_layer layer);
/** op_n_args() - how many arguments are kept of its calls */
size_t op_n_args(const struct op *op);
