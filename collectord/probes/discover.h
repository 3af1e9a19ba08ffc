// SPDX-License-Identifier: Apache-2.0
/*
 * How libraries are found beside what a process tells by itself: mappings that the kernel
 * tells of, and a look at everybody when something was not told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct lease_set;
struct mapping_look;
struct mapping_watch;
struct probe_set;
struct target_set;

struct discover {
	struct probe_set *probes;   /* borrowed, as are the next two */
	struct target_set *targets; /* NULL until discover_open() and after discover_close() */
	struct lease_set *leases;
	struct mapping_watch *mappings; /* NULL where this kernel does not tell */
	int mappings_error;		/* why */
	struct mapping_look *look;	/* then; or NULL */
	uint64_t life_full;		/* losses of life records, as last seen */
	int proc_fd;			/* valid while targets is set */
	bool must_look;			/* something was not told */
};

/** discover_prepare() - what needs a privilege that is given up before the probes are there */
void discover_prepare(struct discover *discover, uv_loop_t *loop);
/** discover_open() - Return: 0 or -errno; without word of mappings it goes on */
int discover_open(struct discover *discover, struct probe_set *probes, struct target_set *targets,
		  struct lease_set *leases);
/** discover_second() - once a second */
void discover_second(struct discover *discover);
/** discover_close() - before the targets; fine when it was never opened, nor prepared */
void discover_close(struct discover *discover);
