// SPDX-License-Identifier: Apache-2.0
/*
 * Finding libraries that no dynamic loader reports: from mappings that the kernel reports, and by a scan of all
 * processes when records were lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "procs/process_list.h"

struct lease_set;
struct mapping_look;
struct mapping_watch;
struct probe_set;
struct target_set;

struct discover {
	struct probe_set *probes;   /* borrowed, as are the next two */
	struct target_set *targets; /* NULL until discover_open() and after discover_close() */
	struct lease_set *leases;
	struct mapping_watch *mappings; /* NULL if this kernel does not report mappings */
	int mappings_error;		/* why `mappings` is NULL, negative errno */
	struct mapping_look *look;	/* used instead of `mappings`; or NULL */
	uint64_t life_full;		/* number of lost life records at the last check */
	struct process_walk look_all;	/* the scan of all processes that has begun, if one has */
	int proc_fd;			/* valid while targets is set */
	bool must_look;			/* records were lost: scan all processes, from the first one */
};

/** discover_prepare() - open what needs a privilege that is dropped before the probes are loaded */
void discover_prepare(struct discover *discover, uv_loop_t *loop);
/** discover_open() - start. Return: 0 or -errno; reports of mappings are optional */
int discover_open(struct discover *discover, struct probe_set *probes, struct target_set *targets,
		  struct lease_set *leases);
/** discover_second() - to be called once a second. Return: whether records of process life were lost since the last
 * call */
bool discover_second(struct discover *discover);
/** discover_close() - stop; call before closing the targets. Allowed if it was never opened or prepared */
void discover_close(struct discover *discover);
