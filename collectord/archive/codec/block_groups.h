// SPDX-License-Identifier: Apache-2.0
/* What groups the values of a column (column.h): the operation of each event. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * block_groups_of() - number the operations that occur in a block, from 0
 * @ret_groups: n of them
 * Return: 0, or -ERANGE when one is too large to be one of few
 */
int block_groups_of(const uint64_t *ops, size_t n, uint8_t *ret_groups);
