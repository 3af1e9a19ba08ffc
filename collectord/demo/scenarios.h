// SPDX-License-Identifier: Apache-2.0
/* The scenarios of the demos: the rows of base/demos.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define DEMO_THREADS 2
#define DEMO_HOGS 2

/* One call, or several equal ones in sequence. */
struct demo_call {
	const char *op;		      /* name of a row of bpf/ops.def */
	uint32_t times;		      /* in a row */
	uint32_t every;		      /* only in each Nth step; 0: in each */
	uint64_t usual_ns;	      /* duration */
	uint32_t spread;	      /* percent: uniform spread around it */
	uint64_t after_ns;	      /* the program's own work after it, with a spread of its own */
	uint8_t away[BLAME_COUNT];    /* percent of that work; the rest is spent on the CPU */
	uint64_t bytes;		      /* of the argument that has this meaning */
	uint8_t percent[BLAME_COUNT]; /* percent of the duration; the rest is spent on the CPU */
	uint32_t rare_every;	      /* one in this many, at random, waits for the CPU ...; 0: none */
	uint64_t rare_ns;	      /* ... this much more, with the same spread */
};

/* The steps that a thread repeats. */
struct demo_step {
	const struct demo_call *calls; /* NULL: it sleeps */
	size_t n_calls;
};

struct demo_phase {
	uint64_t length_ns; /* a step that has begun is completed */
	bool once;	    /* one step, then sleep to the end of the phase */
	struct demo_step steps[DEMO_THREADS];
};

/* A process that runs while the program's calls are runnable. */
struct demo_hog {
	uint32_t tgid;
	bool is_root;	 /* else of the same user as the program */
	uint8_t percent; /* percent of the runnable time; all hogs together 100 */
	char comm[RECORD_COMM_BYTES];
};

struct demo_scenario {
	const char *name;
	const struct demo_phase *phases;
	size_t n_phases;
	struct demo_hog hogs[DEMO_HOGS];
};

/*
 * Process ids of demos: above PID_MAX_LIMIT (4 194 304, include/linux/threads.h), which the kernel never assigns. So a
 * command with this id cannot hit a live process.
 */
#define DEMO_PID(n) (4200000u + (n))

/** demo_scenario_find() - find a scenario by name, NULL if there is none */
const struct demo_scenario *demo_scenario_find(const char *name);
