// SPDX-License-Identifier: Apache-2.0
/*
 * Decides which groups of operations are attached, so that no thread loses more than the budget of its CPU time to
 * tracing. It has no clock and attaches nothing: budget.c measures, and acts on the decisions.
 *
 * The rungs of the ladder, each with less than the one before; operations of tier 'always' stay attached on all but
 * the last. Now and then more is attached for the time of a window, to learn what the rest would cost, and on the
 * lowest rung to see a sample of its calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Groups of operations that are attached and detached together, in the order of the ladder from its end. */
enum probe_group {
	PROBE_GROUP_ALWAYS,  /* tier 'always' */
	PROBE_GROUP_RUNTIME, /* tier 'affordable', but those of the driver */
	PROBE_GROUP_DRIVER,  /* tier 'affordable' of the driver: mostly calls inside runtime calls */
	PROBE_GROUP_REQUEST, /* tier 'request' */
	PROBE_GROUP_COUNT
};
#define PROBE_GROUP_BIT(group) (1u << (group))
#define PROBE_GROUPS_ALL ((1u << PROBE_GROUP_COUNT) - 1)

enum governor_rung {
	GOVERNOR_ALL,
	GOVERNOR_NO_REQUEST,
	GOVERNOR_NO_DRIVER, /* not while a process makes driver calls outside of runtime calls */
	GOVERNOR_DUTY,	    /* only tier 'always'; records without stacks, and without a sample of other calls */
	GOVERNOR_DUTY_ALL,  /* nothing: tier 'always' alone takes too much */
	GOVERNOR_RUNG_COUNT
};

struct governor_limits {
	double budget;	    /* share of the CPU time of any thread, above 0 */
	uint64_t window_ns; /* length of a window, in which more than the rung is attached */
	uint64_t lag_ns;    /* time beside it in which something of it is attached */
};

/* Measured since the last step. */
struct governor_sample {
	uint64_t now_ns; /* of any clock that never goes back */
	/*
	 * Time in the probes of each attached group, divided by the thread's CPU time without probes, of the thread
	 * with the highest quotient. Ignored for other groups.
	 */
	double load[PROBE_GROUP_COUNT];
	bool is_driver_alone; /* a process made driver calls outside of runtime calls */
};

struct governor_step {
	enum governor_rung rung;
	uint32_t groups;   /* PROBE_GROUP_BIT() of each group that is to be attached now */
	uint64_t after_ns; /* when to call governor_step() again */
};

struct governor {
	struct governor_limits limits;
	enum governor_rung rung;
	uint32_t groups;
	double load[PROBE_GROUP_COUNT];	 /* as last measured */
	double ratio[PROBE_GROUP_COUNT]; /* load divided by that of PROBE_GROUP_RUNTIME, when both were measured */
	uint64_t alone_until_ns;	 /* GOVERNOR_NO_DRIVER is not used until then */
	uint64_t fast_until_ns;		 /* steps follow each other quickly until then */
	uint64_t room_since_ns;		 /* a higher rung fits since then; 0: none does */
	uint64_t raised_ns;		 /* last change to a higher rung; 0: none */
	uint64_t wait_ns;		 /* time for which a higher rung must fit */
	bool is_window;			 /* more is attached for a short time */
	uint64_t window_ns;		 /* begin of the current window, or end of the last one */
	uint32_t n_windows;		 /* on this rung */
	uint64_t random;		 /* state of a generator */
	double stretch;	  /* of the current time between windows, by chance: a program has its own rhythm */
	uint64_t look_ns; /* time between windows above GOVERNOR_DUTY */
};

/** governor_begin() - everything is attached */
void governor_begin(struct governor *governor, const struct governor_limits *limits, uint64_t now_ns);
/** governor_step() - take a sample and decide; to be called at the time that the last decision named, or later */
struct governor_step governor_step(struct governor *governor, const struct governor_sample *sample);
/** governor_share_kept() - the budget that would keep tier 'always' attached all the time; above 1: none would */
double governor_share_kept(const struct governor *governor);
/** governor_loss() - predicted share of its CPU time that the most affected thread loses on a rung */
double governor_loss(const struct governor *governor, enum governor_rung rung);
