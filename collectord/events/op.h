// SPDX-License-Identifier: Apache-2.0
/* The rows of bpf/ops.def for the daemon, and the operations that got an id when a library was attached. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ops.h"

struct op {
	uint16_t id;
	enum op_layer layer;
	const char *name;		      /* exported name without suffix: `op` in every answer */
	const char *short_name;		      /* Ingero's name */
	enum op_meaning meaning[OP_ARGS_MAX]; /* meanings of the recorded arguments, then OP_MEANING_NONE */
	uint32_t traits;		      /* OP_SYNC ... */
	enum op_tier tier;
};

#define OP_GIVEN_OF_USER_MAX 64 /* names met in libraries of one user; libnccl 2.19 has 29 */
#define OP_GIVEN_OF_ALL_MAX 256 /* room for names met in libraries of the system, which users cannot use up */

/** op_get() - row of an id, also of a given id; NULL if there is none */
const struct op *op_get(uint32_t id);
/**
 * op_others_layer() - the layer that counts exports of this name without a row (layers.def)
 * @name: untrusted
 * Return: OP_LAYER_NONE: no layer, or the name is too long or has characters outside OP_NAME_LETTERS
 */
enum op_layer op_others_layer(const char *name);
/** op_given() - id that a name has got; 0: none yet */
uint32_t op_given(const char *name);
/**
 * op_give() - id of an export without a row, the same for the same name as long as the daemon runs
 * @name: name for which op_others_layer() has a layer
 * @uid:  owner of the library; what other users' libraries have does not show in the answer while there is room
 * Return: 0: OP_GIVEN_MAX - OP_GIVEN_OF_ALL_MAX names have ids, or OP_GIVEN_OF_USER_MAX of this user
 */
uint32_t op_give(const char *name, uint32_t uid);
/** op_give_all() - the same for a library of the system, nobody's share. Return: 0: OP_GIVEN_OF_ALL_MAX have ids */
uint32_t op_give_all(const char *name);
/** op_count() - number of rows of ops.def */
size_t op_count(void);
/** op_at() - row by index below op_count(), in the order of the table, which has no meaning */
const struct op *op_at(size_t i);
/** op_find() - row by `name`, NULL if there is none */
const struct op *op_find(const char *name);
/**
 * op_is_call() - whether it is a call of a program, not an event of the host. NULL, from the overflow cell, is a call
 */
bool op_is_call(const struct op *op);
/** op_is_measured() - whether its time is split by class: calls, and waits outside of calls */
bool op_is_measured(const struct op *op);
/** op_layer_to_source() - "cuda" (runtime), "driver", "host": `source` in every answer */
const char *op_layer_to_source(enum op_layer layer);
/** op_n_args() - number of recorded arguments */
size_t op_n_args(const struct op *op);
