// SPDX-License-Identifier: Apache-2.0
#include "detect/cause.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/wait_words.h"

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

/* Guesses: the device certainly loses a third of it or more. */
static const struct cause_levels syncs_levels = {
	.noise_ratio = 0.2,
	.open_lost_ns = 500 * NSEC_PER_MSEC,
	.open_present_ns = 1500 * NSEC_PER_MSEC,
	.medium_ratio = 0.4,
	.medium_lost_ns = 3 * NSEC_PER_SEC,
};

static const struct cause causes[CAUSE_COUNT] = {
	[CAUSE_LOADER] = { "loader", "waited for data", BLAME_ON_CPU, "waits for data from", "waits for data", NULL },
	[CAUSE_DISK] = { "disk", "waited for " WAIT_WORDS_DISK, BLAME_BLOCK_IO, NULL, "waits for " WAIT_WORDS_DISK,
			 NULL },
	[CAUSE_LOCK] = { "lock", "waited for " WAIT_WORDS_LOCK, BLAME_LOCK,
			 "waits for " WAIT_WORDS_LOCK " " WAIT_WORDS_LOCK_BY, "waits for " WAIT_WORDS_LOCK, NULL },
	[CAUSE_GIL] = { "gil", "waited for " WAIT_WORDS_GIL, BLAME_LOCK,
			"waits for " WAIT_WORDS_GIL " " WAIT_WORDS_GIL_BY, "waits for " WAIT_WORDS_GIL, NULL },
	[CAUSE_MEMORY] = { "memory", "waited for " WAIT_WORDS_MEMORY, BLAME_MEMORY, NULL,
			   "waits for " WAIT_WORDS_MEMORY " (page faults, reclaim)", NULL },
	[CAUSE_NETWORK] = { "network", "waited for " WAIT_WORDS_SOCKET, BLAME_NETWORK,
			    "waits for " WAIT_WORDS_SOCKET " " WAIT_WORDS_SOCKET_BY, "waits for " WAIT_WORDS_SOCKET,
			    NULL },
	[CAUSE_TOOL] = { "tool", "waited for " WAIT_WORDS_CHILD, BLAME_ON_CPU, "waits for its child process",
			 "waits for " WAIT_WORDS_CHILD, NULL },
	[CAUSE_CHECKPOINT] = { "checkpoint", "waited for " WAIT_WORDS_WRITTEN, BLAME_BLOCK_IO, NULL,
			       "waits for " WAIT_WORDS_WRITTEN, NULL },
	[CAUSE_PYTHON] = { "python", "computed in Python", BLAME_ON_CPU, NULL, "computes in Python", NULL },
	[CAUSE_GC] = { "gc", "collected garbage", BLAME_ON_CPU, NULL, "collects garbage in Python", &gc_levels },
	[CAUSE_LAUNCHES] = { "launches", "spent its time in launches of short kernels", BLAME_ON_CPU, NULL,
			     "launches short kernels one by one", NULL },
	[CAUSE_SYNCS] = { "syncs", "waited for the device after every launch or two", BLAME_ON_CPU, NULL,
			  "waits for the device after every launch or two", &syncs_levels },
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
