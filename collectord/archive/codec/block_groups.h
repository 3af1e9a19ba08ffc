// SPDX-License-Identifier: Apache-2.0
/* Groups of the values of a column (column.h): a group for each operation. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * block_groups_of() - number the operations of a block, from 0
 * @ret_groups: n of them
 * Return: 0, or -ERANGE when an operation's number is too large
 */
int block_groups_of(const uint64_t *ops, size_t n, uint8_t *ret_groups);
