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
#include "figures/behind.h"
#include "figures/figures.h"

struct op;

struct tick_op {
	const struct op *op;	   /* NULL: calls without a free cell */
	struct op_figures figures; /* of this tick only; max_ns: longest call in it */
};

struct tick_process {
	struct process *process; /* borrowed */
	uint64_t first_call_ns;	 /* CLOCK_MONOTONIC, as all times here */
	uint64_t gone_ns;	 /* 0 while the process runs */
	bool is_collected;	 /* `waits` has the garbage collections of its Python interpreter */
	ARRAY(struct tick_op) ops;
	ARRAY(struct tick_op) host;	/* work of the kernel and waits outside calls; these are no calls */
	struct behind_list behind;	/* processes that ran while threads of this one were ready to run */
	ARRAY(struct account) accounts; /* driving threads first, then by number of calls */
	ARRAY(struct account_wait) waits;
	const struct wait_sites *wait_sites; /* where they were; borrowed; NULL: not known */
};

/* A library that ran in a process before its probes were attached: one of losses[LOSS_LATE_LOAD]. */
struct tick_late {
	uint64_t from_ns, to_ns; /* calls between these times are missing */
	uint32_t uid;		 /* owner of the process */
	bool is_guarded;
};

/* Losses that concern one user alone. */
struct tick_user_loss {
	uint64_t n;
	uint32_t uid;
	enum loss_reason reason;
};

struct tick {
	uint64_t from_ns; /* time of the previous reading */
	uint64_t to_ns;
	uint16_t measured;			  /* classes that were measured: bits MEASURED(class) */
	ARRAY(struct tick_process) processes;	  /* processes with new figures or accounts, or that ended */
	const struct in_flight_record *in_flight; /* calls in progress at to_ns, borrowed */
	size_t n_in_flight;
	const struct system_sample *system; /* state of the machine at to_ns, borrowed; NULL: unknown */
	uint64_t losses[LOSS_COUNT];	    /* in this tick, of all processes, besides user_losses */
	ARRAY(struct tick_late) lates;	    /* the losses whose process is known */
	ARRAY(struct tick_user_loss) user_losses;
	uint64_t refused; /* invalid records in this tick */
};

void tick_done(struct tick *tick);

struct ticker;

int ticker_new(struct ticker **ret_ticker);
void ticker_free(struct ticker *ticker);
/**
 * ticker_begin() - start the first tick at this moment: nothing was traced before it
 * @losses: totals so far; the next tick reports only later losses
 *
 * Without it the first tick would have no length, and a tick after a pause would include the pause.
 */
void ticker_begin(struct ticker *ticker, uint64_t now_ns, const uint64_t losses[LOSS_COUNT]);
/**
 * ticker_take() - take the difference since the last take
 * @now_ns: when figures were collected
 * @figures: their recent maxima are reset
 * @losses: totals since the source was opened
 * @ret_tick: release with tick_done(); measured, is_collected, in_flight, system, lates and
 * user_losses are left for the caller to fill
 * Return: 0; -ENOMEM: the next take includes this time
 */
int ticker_take(struct ticker *ticker, struct figures *figures, uint64_t now_ns, const uint64_t losses[LOSS_COUNT],
		struct tick *ret_tick);
