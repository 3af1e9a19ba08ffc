// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of a thread's account as tests want them.
 */
#pragma once

#include "figures/account.h"

struct expected {
	enum account_where where;
	uint32_t op;
	enum blame_class class;
	uint64_t ms;
};

static inline uint64_t parts_sum(const struct account_part *parts, size_t n)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		ns += parts[i].ns;
	return ns;
}

static inline uint64_t part_ns(const struct account_part *parts, size_t n, enum account_where where, uint32_t op,
			       enum blame_class class)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i].where == where && parts[i].op == op && parts[i].class == class)
			return parts[i].ns;
	return 0;
}
