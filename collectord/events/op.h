// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of bpf/ops.def as the daemon reads them, and the operations that got their ids when a library was attached.
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

#define OP_GIVEN_OF_USER_MAX (OP_GIVEN_MAX / 2) /* first met in libraries of one user */

/** op_get() - row of an id, also of one that was given; NULL if there is none */
const struct op *op_get(uint32_t id);
/**
 * op_others_layer() - the layer that counts exports of this name without a row (layers.def)
 * @name: untrusted
 * Return: OP_LAYER_NONE: none, or the name is too long or has other letters than OP_NAME_LETTERS
 */
enum op_layer op_others_layer(const char *name);
/**
 * op_give() - id of an export without a row, the same for the same name as long as the daemon runs
 * @name: that op_others_layer() has a layer for
 * @uid:  owner of the library
 * Return: 0: OP_GIVEN_MAX names have ids, or OP_GIVEN_OF_USER_MAX of this user
 */
uint32_t op_give(const char *name, uint32_t uid);
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
