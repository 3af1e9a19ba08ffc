// SPDX-License-Identifier: Apache-2.0
#include "detect/cause.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * All values are guesses. A finding needs four seconds with collections, each at most ten seconds after the previous
 * one: a program that collects between its phases does so more seldom.
 */
static const struct cause_levels gc_levels = {
	.noise_ratio = 0.02,
	.open_lost_ns = 100 * NSEC_PER_MSEC,
	.open_present_ns = 4 * NSEC_PER_SEC,
	.medium_ratio = 0.1,
	.medium_lost_ns = 2 * NSEC_PER_SEC,
};

static const struct cause causes[CAUSE_COUNT] = {
	[CAUSE_LOADER] = { "loader", "waited for data", BLAME_ON_CPU, "waits for data from", "waits for data", NULL },
	[CAUSE_DISK] = { "disk", "waited for a disk", BLAME_BLOCK_IO, NULL, "waits for a disk", NULL },
	[CAUSE_LOCK] = { "lock", "waited for a lock", BLAME_LOCK, "waits for a lock released by", "waits for a lock",
			 NULL },
	[CAUSE_GIL] = { "gil", "waited for the GIL", BLAME_LOCK, "waits for the Python interpreter lock (GIL) held by",
			"waits for the Python interpreter lock (GIL)", NULL },
	[CAUSE_MEMORY] = { "memory", "waited for memory", BLAME_MEMORY, NULL, "waits for memory (page faults, reclaim)",
			   NULL },
	[CAUSE_NETWORK] = { "network", "waited for a socket", BLAME_NETWORK, "waits for a socket served by",
			    "waits for a socket", NULL },
	[CAUSE_TOOL] = { "tool", "waited for a child process", BLAME_ON_CPU, "waits for its child process",
			 "waits for a child process", NULL },
	[CAUSE_CHECKPOINT] = { "checkpoint", "waited for a file to be written", BLAME_BLOCK_IO, NULL,
			       "waits for a file to be written", NULL },
	[CAUSE_PYTHON] = { "python", "computed in Python", BLAME_ON_CPU, NULL, "computes in Python", NULL },
	[CAUSE_GC] = { "gc", "collected garbage", BLAME_ON_CPU, NULL, "collects garbage in Python", &gc_levels },
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
