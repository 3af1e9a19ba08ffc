// SPDX-License-Identifier: Apache-2.0
/*
 * What happened between two readings of the figures, about a second apart.
 *
 * A ticker remembers the figures as they were and gives the difference. The tick is what
 * detectors look at and what the store adds to its buckets, live and in a replay alike.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "events/event.h"
#include "figures/account.h"
#include "figures/figures.h"

struct op;

struct tick_op {
	const struct op *op;	   /* NULL: calls for which no cell was free */
	struct op_figures figures; /* of this tick alone; max_ns: its longest call */
};

/* Someone who ran while calls of the process were runnable, in this tick. */
struct tick_behind {
	uint64_t ns;
	uint32_t tgid;
	uint32_t uid;
	bool is_between; /* calls, else in one */
	char comm[RECORD_COMM_BYTES];
};

struct tick_process {
	struct process *process; /* borrowed */
	uint64_t first_call_ns;	 /* since boot, monotonic, as all times here */
	uint64_t gone_ns;	 /* 0 while it lives */
	bool is_collected;	 /* garbage collections of its Python interpreter are in `waits` */
	ARRAY(struct tick_op) ops;
	ARRAY(struct tick_op) host; /* what the kernel did for it, and waits outside of calls: no calls */
	ARRAY(struct tick_behind) behind;
	ARRAY(struct account) accounts; /* driving threads first, then those that called most */
	ARRAY(struct account_wait) waits;
};

/* A library that ran in a process before it was attached: one of losses[LOSS_LATE_LOAD]. */
struct tick_late {
	uint64_t from_ns, to_ns; /* whose calls are missing */
	uint32_t uid;		 /* whose the process was */
	bool is_guarded;
};

struct tick {
	uint64_t from_ns; /* of the reading before this one */
	uint64_t to_ns;
	uint16_t measured;			  /* MEASURED(class) of enum blame_class */
	ARRAY(struct tick_process) processes;	  /* those whose figures or accounts grew, or that went */
	const struct in_flight_record *in_flight; /* calls in progress at to_ns, borrowed */
	size_t n_in_flight;
	const struct system_sample *system; /* the machine at to_ns, borrowed; NULL where not known */
	uint64_t losses[LOSS_COUNT];	    /* in this tick, of everybody */
	ARRAY(struct tick_late) lates;	    /* of these losses, those of which it is known whose they were */
	uint64_t refused;		    /* records in this tick that made no sense */
};

void tick_done(struct tick *tick);

struct ticker;

int ticker_new(struct ticker **ret_ticker);
void ticker_free(struct ticker *ticker);
/**
 * ticker_begin() - nothing was watched before this moment: what is taken next began here
 * @losses: totals by now, of which the next tick tells none
 *
 * Else the first tick would have no length, and one after a pause the pause's.
 */
void ticker_begin(struct ticker *ticker, uint64_t now_ns, const uint64_t losses[LOSS_COUNT]);
/**
 * ticker_take() - everything since the last take
 * @now_ns: when figures were collected
 * @figures: their recent maxima are taken, too
 * @losses: totals since the source was opened
 * @ret_tick: release with tick_done(); measured, is_collected, in_flight and system are left for the
 * caller to fill
 * Return: 0; -ENOMEM, and the next take gives it
 */
int ticker_take(struct ticker *ticker, struct figures *figures, uint64_t now_ns, const uint64_t losses[LOSS_COUNT],
		struct tick *ret_tick);
