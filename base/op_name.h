// SPDX-License-Identifier: Apache-2.0
/*
 * Names of operations as people write them: in any case, "Sync" for a final "Synchronize", and Ingero's "graphLaunch"
 * for "cudaGraphLaunch".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** op_name_compare() - a total order in which all spellings of one name are equal; names need no NUL at their end */
int op_name_compare(const char *a, size_t n_a, const char *b, size_t n_b);
bool op_name_is_same(const char *a, const char *b);
/** op_name_short() - the name in tables: "cudaStreamSync"; @room: bytes of ret, longer names are cut */
void op_name_short(const char *name, char *ret, size_t room);
