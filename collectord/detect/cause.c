// SPDX-License-Identifier: Apache-2.0
#include "detect/cause.h"

#include <stddef.h>
#include <string.h>

static const struct cause causes[CAUSE_COUNT] = {
	[CAUSE_LOADER] = { "loader", "waited for data", BLAME_ON_CPU, "waits for data from", "waits for data" },
	[CAUSE_DISK] = { "disk", "waited for a disk", BLAME_BLOCK_IO, NULL, "waits for a disk" },
	[CAUSE_LOCK] = { "lock", "waited for a lock", BLAME_LOCK, "waits for a lock released by", "waits for a lock" },
	[CAUSE_GIL] = { "gil", "waited for the GIL", BLAME_LOCK, "waits for the Python interpreter lock (GIL) held by",
			"waits for the Python interpreter lock (GIL)" },
	[CAUSE_MEMORY] = { "memory", "waited for memory", BLAME_MEMORY, NULL,
			   "waits for memory (page faults, reclaim)" },
	[CAUSE_NETWORK] = { "network", "waited for a socket", BLAME_NETWORK, "waits for a socket served by",
			    "waits for a socket" },
	[CAUSE_TOOL] = { "tool", "waited for a child process", BLAME_ON_CPU, "waits for its child process",
			 "waits for a child process" },
	[CAUSE_CHECKPOINT] = { "checkpoint", "waited for a file to be written", BLAME_BLOCK_IO, NULL,
			       "waits for a file to be written" },
	[CAUSE_PYTHON] = { "python", "computed in Python", BLAME_ON_CPU, NULL, "computes in Python" },
};

const struct cause *cause_get(enum cause_number number)
{
	return &causes[number];
}

const struct cause *cause_find(const char *kind)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		if (strcmp(causes[i].kind, kind) == 0)
			return &causes[i];
	return NULL;
}
