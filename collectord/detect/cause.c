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
	[CAUSE_LOADER] = { .kind = "loader",
			   .title = "waited for data",
			   .takes = BLAME_ON_CPU,
			   .behind = "waits for data from",
			   .own = "waits for data" },
	[CAUSE_DISK] = { .kind = "disk",
			 .title = "waited for " WAIT_WORDS_DISK,
			 .takes = BLAME_BLOCK_IO,
			 .own = "waits for " WAIT_WORDS_DISK },
	[CAUSE_LOCK] = { .kind = "lock",
			 .title = "waited for " WAIT_WORDS_LOCK,
			 .takes = BLAME_LOCK,
			 .behind = "waits for " WAIT_WORDS_LOCK " " WAIT_WORDS_LOCK_BY,
			 .own = "waits for " WAIT_WORDS_LOCK },
	[CAUSE_GIL] = { .kind = "gil",
			.title = "waited for " WAIT_WORDS_GIL,
			.takes = BLAME_LOCK,
			.behind = "waits for " WAIT_WORDS_GIL " " WAIT_WORDS_GIL_BY,
			.own = "waits for " WAIT_WORDS_GIL },
	[CAUSE_MEMORY] = { .kind = "memory",
			   .title = "waited for " WAIT_WORDS_MEMORY,
			   .takes = BLAME_MEMORY,
			   .own = "waits for " WAIT_WORDS_MEMORY " (page faults, reclaim)" },
	[CAUSE_NETWORK] = { .kind = "network",
			    .title = "waited for " WAIT_WORDS_SOCKET,
			    .takes = BLAME_NETWORK,
			    .behind = "waits for " WAIT_WORDS_SOCKET " " WAIT_WORDS_SOCKET_BY,
			    .own = "waits for " WAIT_WORDS_SOCKET },
	[CAUSE_TOOL] = { .kind = "tool",
			 .title = "waited for " WAIT_WORDS_CHILD,
			 .takes = BLAME_ON_CPU,
			 .behind = "waits for its child process",
			 .many = "waits for its child processes, such as",
			 .own = "waits for " WAIT_WORDS_CHILD },
	[CAUSE_CHECKPOINT] = { .kind = "checkpoint",
			       .title = "waited for " WAIT_WORDS_WRITTEN,
			       .takes = BLAME_BLOCK_IO,
			       .own = "waits for " WAIT_WORDS_WRITTEN },
	[CAUSE_READER] = { .kind = "reader",
			   .title = "waited for the reader of its output",
			   .takes = BLAME_ON_CPU,
			   .behind = "waits for room in a pipe or socket, too slowly " WAIT_WORDS_FULL_BY,
			   .own = "waits for room in a pipe or socket" },
	[CAUSE_STOPPED] = { .kind = "stopped",
			    .title = "was stopped",
			    .takes = BLAME_ON_CPU,
			    .behind = "stopped (by a signal, a debugger or the freezer), " WAIT_WORDS_STOPPED_BY,
			    .own = "stopped (by a signal, a debugger or the freezer)" },
	[CAUSE_PYTHON] = { .kind = "python",
			   .title = "computed in Python",
			   .takes = BLAME_ON_CPU,
			   .own = "computes in Python" },
	[CAUSE_KERNEL] = { .kind = "kernel",
			   .title = "computed in the kernel",
			   .takes = BLAME_ON_CPU,
			   .own = "computes in the kernel (system calls, page faults)" },
	[CAUSE_GC] = { .kind = "gc",
		       .title = "collected garbage",
		       .takes = BLAME_ON_CPU,
		       .own = "collects garbage in Python",
		       .levels = &gc_levels },
	[CAUSE_LAUNCHES] = { .kind = "launches",
			     .title = "spent its time in launches of short kernels",
			     .takes = BLAME_ON_CPU,
			     .own = "launches short kernels one by one" },
	[CAUSE_SYNCS] = { .kind = "syncs",
			  .title = "waited for the device after every launch or two",
			  .takes = BLAME_ON_CPU,
			  .own = "waits for the device after every launch or two",
			  .levels = &syncs_levels },
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
