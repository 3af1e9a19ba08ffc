// SPDX-License-Identifier: Apache-2.0
/*
 * User ids that belong to users beside their own: subuid(5). A user has thousands, and runs processes with them in user
 * namespaces, or by setuid files that were made there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The smallest range that has all of them; n 0: there are none. */
struct subordinate {
	uint32_t first;
	uint32_t n;
};

static inline bool subordinate_has(const struct subordinate *s, uint32_t uid)
{
	return uid - s->first < s->n;
}

/** subordinate_read() - read /etc/subuid; if it cannot be read, there are none */
struct subordinate subordinate_read(void);
/**
 * subordinate_parse() - parse the text of subuid(5)
 *
 * Ids of accounts that a line makes available, too, as for a container with one user of the machine, are left out:
 * ranges that begin in 16 bits, and short ones. So are lines that make no sense.
 */
struct subordinate subordinate_parse(FILE *file);
