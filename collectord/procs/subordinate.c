// SPDX-License-Identifier: Apache-2.0
#include "procs/subordinate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define FIRST_LEAST 65536u /* Debian's useradd begins at 100000 */
#define COUNT_LEAST 16u	   /* guess: useradd gives 65536 */

struct subordinate subordinate_parse(FILE *file)
{
	CLEANUP(freep) char *line = NULL;
	uint64_t from = UINT64_MAX, to = 0;
	size_t room = 0;

	while (getline(&line, &room, file) >= 0) {
		uint64_t first, n;
		char end = 0;

		if (sscanf(line, "%*[^:]:%10" SCNu64 ":%10" SCNu64 "%c", &first, &n, &end) < 2 || (end && end != '\n'))
			continue;
		if (first < FIRST_LEAST || n < COUNT_LEAST || first > UINT32_MAX || n > UINT32_MAX - first)
			continue;
		from = MIN(from, first);
		to = MAX(to, first + n);
	}
	return to ? (struct subordinate){ .first = (uint32_t)from, .n = (uint32_t)(to - from) }
		  : (struct subordinate){ .n = 0 };
}

struct subordinate subordinate_read(void)
{
	CLEANUP(fclosep) FILE *file = fopen("/etc/subuid", "re");

	return file ? subordinate_parse(file) : (struct subordinate){ .n = 0 };
}
