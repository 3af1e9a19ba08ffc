// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/block_groups.h"

#include <errno.h>

#include "base/cleanup.h"

int block_groups_of(const uint64_t *ops, size_t n, uint8_t *ret_groups)
{
	uint8_t is_seen[256] = { 0 }, numbers[256], number = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = MAX(most, ops[i]);
	if (most > UINT8_MAX)
		return -ERANGE;
	for (size_t i = 0; i < n; i++)
		is_seen[ops[i]] = 1;
	for (size_t i = 0; i <= most; i++) {
		numbers[i] = number;
		number = (uint8_t)(number + is_seen[i]);
	}
	for (size_t i = 0; i < n; i++)
		ret_groups[i] = numbers[ops[i]];
	return 0;
}
