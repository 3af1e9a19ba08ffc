// SPDX-License-Identifier: Apache-2.0
/*
 * What the demos play: the rows of base/demos.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define DEMO_THREADS 2
#define DEMO_HOGS 2

/* One call, or several alike one after the other. */
struct demo_call {
	const char *op;		      /* as bpf/ops.def names it */
	uint32_t times;		      /* in a row */
	uint32_t every;		      /* only in each Nth step; 0: in each */
	uint64_t usual_ns;	      /* duration */
	uint32_t spread;	      /* percent: evenly up to this much more or less */
	uint64_t after_ns;	      /* the program's own work behind it, with a spread of its own */
	uint8_t away[BLAME_COUNT];    /* percent of that work; what is left is spent on the CPU */
	uint64_t bytes;		      /* of the argument that has this meaning */
	uint8_t percent[BLAME_COUNT]; /* of the duration; what is left is spent on the CPU */
	uint32_t rare_every;	      /* one in so many, at random, waits for the CPU ...; 0: none */
	uint64_t rare_ns;	      /* ... this much more, with the same spread */
};

/* What a thread does again and again. */
struct demo_step {
	const struct demo_call *calls; /* NULL: it sleeps */
	size_t n_calls;
};

struct demo_phase {
	uint64_t length_ns; /* a step that has begun is finished */
	bool once;	    /* one step, then sleep to the end of the phase */
	struct demo_step steps[DEMO_THREADS];
};

/* Someone who runs while the program's calls are runnable. */
struct demo_hog {
	uint32_t tgid;
	bool is_root;	 /* else of the same user as the program */
	uint8_t percent; /* of runnable time; of all hogs 100 */
	char comm[RECORD_COMM_BYTES];
};

struct demo_scenario {
	const char *name;
	const struct demo_phase *phases;
	size_t n_phases;
	struct demo_hog hogs[DEMO_HOGS];
};

/*
 * Process ids of demos: above PID_MAX_LIMIT (4 194 304, include/linux/threads.h), which the
 * kernel never gives out. No live process can be meant, whatever is done with the number.
 */
#define DEMO_PID(n) (4200000u + (n))

/** demo_scenario_find() - by name, NULL if there is none */
const struct demo_scenario *demo_scenario_find(const char *name);
