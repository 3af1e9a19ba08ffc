// SPDX-License-Identifier: Apache-2.0
/*
 * Estimates how many calls were made while their operation was not attached, from the windows in which it was.
 *
 * The calls of a thread follow its own CPU time, which is what it used without the time in probes: by the clock a
 * program that calls flat out would be undercounted by its own slowdown, and one that rests would be overcounted. A
 * window tells each thread's calls of a group of operations per own CPU time, and the part of each operation in the
 * group's calls of its process. The difference between what a window was expected to have and what it had gives the
 * error.
 */
#pragma once

#include <stdint.h>

#include "events/left_out.h"

/* Calls of one group of operations that a thread made in windows, those of the last windows most of all. */
struct estimate_rate {
	double calls;
	double own_ns; /* own CPU time */
	uint32_t n_windows;
};

/**
 * estimate_rate_add() - a window; without own CPU time it changes nothing
 * @probe_share: time in probes as part of own CPU time, both of which are known the less the larger it is: such a
 * window counts less
 */
void estimate_rate_add(struct estimate_rate *rate, double calls, double own_ns, double probe_share);
/** estimate_rate_calls() - expected number of calls in this much own CPU time; 0: there was no window yet */
double estimate_rate_calls(const struct estimate_rate *rate, double own_ns);

/* One operation of one process. Zero at first. */
struct estimate {
	/* Of windows, those of the last ones most of all. */
	double calls, group_calls; /* of the operation, and of the group that it follows */
	double ns, bytes;	   /* of these calls; time without the tracer's share */
	double miss2, expected2;   /* squares of the difference from what was expected, and of that */
	double n_windows;	   /* with something expected */
	double probe_share;	   /* time in probes as part of own CPU time */
	/* Sums. */
	double left_calls, left_ns, left_bytes;
	double variance; /* up to the last window */
	double bias;
	double since_calls; /* of left_calls, since the last window */
	struct left_out told;
};

/* An interval between two readings, of one operation of one process. */
struct estimate_interval {
	double calls;	       /* seen */
	double ns, bytes;      /* of these; time without the tracer's share */
	double group_calls;    /* seen of the group that it follows: its own, or that of the calls around its calls */
	double group_expected; /* estimate_rate_calls() of all threads, with the rates from before the interval */
	double probe_share;    /* time in probes as part of own CPU time */
	uint64_t ms;
};

/** estimate_window() - the operation and the group were attached all the time */
void estimate_window(struct estimate *estimate, const struct estimate_interval *interval);
/** estimate_left() - it was not attached, or not all the time: calls that were seen are counted elsewhere */
void estimate_left(struct estimate *estimate, const struct estimate_interval *interval);
