// SPDX-License-Identifier: Apache-2.0
/* Stacks by Ingero's hash, shared within this directory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "archive/read/read.h"

struct export_stack {
	uint32_t id;
	bool is_used; /* used by an exported call */
	int64_t hash;
};

struct export_stacks {
	struct export_stack *items; /* by id */
	size_t n, room;
};

/** export_stacks_load() - load all stacks with frames. Return: 0 or -errno */
int export_stacks_load(struct export_stacks *stacks, struct store_reader *reader);
/** export_stack_find() - find a stack; NULL: none, or without data */
struct export_stack *export_stack_find(const struct export_stacks *stacks, int64_t id);
