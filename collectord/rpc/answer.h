// SPDX-License-Identifier: Apache-2.0
/*
 * Figures and states of the daemon as messages. All functions allocate from the caller's arena and show only rows of
 * the scope.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "figures/figures.h"
#include "ingero/v1/ingero.pb-c.h"

struct call;
struct call_identity;
struct findings_seen;
struct rpc_context;
struct scope;
struct since;

/**
 * answer_hides_names() - whether neighbours of other owners stay unnamed: the caller could not read their names in
 * /proc
 */
bool answer_hides_names(const struct call_identity *identity);
/**
 * answer_may_name() - whether a neighbour of that owner is named: exactly when the caller could read its name in /proc
 */
bool answer_may_name(const struct call_identity *identity, uint32_t uid, bool is_guarded);

int answer_families(const struct rpc_context *context, struct arena *arena, Ingero__V1__ProbeFamily ***ret_items,
		    size_t *ret_n);
/**
 * answer_lost() - losses of the machine; of late libraries only those in processes of the scope
 * @since: NULL: since the daemon started
 */
Ingero__V1__Lost *answer_lost(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			      const struct since *since);

/** answer_operation() - make the row of one operation of one process. Return: 0 or -ENOMEM */
int answer_operation(const struct rpc_context *context, struct arena *arena, const struct process_figures *p,
		     uint32_t id, const struct op_figures *figures, Ingero__V1__Operation **ret_row);
/** answer_in_flight() - add calls in progress to a summary. Return: 0 or -errno */
int answer_in_flight(const struct rpc_context *context, const struct scope *scope, struct arena *arena,
		     Ingero__V1__Summary *summary);
/**
 * answer_behind() - add the processes that ran while calls were runnable to a summary; @since as above. Return: 0 or
 * -ENOMEM
 */
int answer_behind(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		  struct arena *arena, Ingero__V1__Summary *summary);

/**
 * typedef answer_piece_func - takes one piece of a summary that is too large for one message. Return: 0 or -errno to
 * stop
 */
typedef int (*answer_piece_func)(Ingero__V1__Summary *piece, void *data);
/*
 * Position in a summary that is sent in pieces. Rows of operations are sent once each, whatever happens between two
 * pieces: new processes come at the end. The lists after them are made anew for each delayed piece; the part already
 * sent is skipped.
 */
struct answer_position {
	uint64_t process; /* first operation whose rows are not sent yet */
	uint32_t op;
	size_t list; /* next list, from this one on, */
	size_t at;   /* and its next item */
};
/** answer_untold_calls() - calls of a process that no sent row has; @since: NULL: since it began */
uint64_t answer_untold_calls(const struct answer_position *told, const struct process_figures *p,
			     const struct since *since);
/* State of the caller's stream. */
struct answer_seen {
	const struct call *call; /* asked for room before a piece is built, which costs time; NULL: there is room */
	struct answer_position *told;	      /* continues there, and notes each sent piece; NULL: from the start */
	uint64_t subscriber_slow;	      /* events that it did not read in time */
	uint64_t forgotten;		      /* calls of processes whose figures are gone */
	const struct findings_seen *findings; /* NULL: none */
	bool tells_not_shown;		      /* adds processes left out; coverage_look() was just called */
	const Ingero__V1__Life *life;	      /* NULL: processes are not followed */
	bool is_recent; /* only operations, calls in progress and processes that ran meanwhile; the longest calls are of
			   the window, too */
};
/**
 * answer_summary() - send figures of everything in scope, or the rest of it
 * Return: 0, -ENOBUFS (no room for seen->call; it is called back), -ENOMEM, or the result of func
 */
int answer_summary(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		   const struct answer_seen *seen, answer_piece_func func, void *data);
/** answer_store() - the database that is being written. Return: NULL without memory */
Ingero__V1__Store *answer_store(const struct rpc_context *context, struct arena *arena);
