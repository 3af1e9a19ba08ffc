// SPDX-License-Identifier: Apache-2.0
/*
 * Figures and states of the daemon as messages. Everything here allocates from the
 * caller's arena and shows only what the scope lets through.
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

/** answer_hides_names() - whether neighbours of other owners are not named: the caller could not read that in /proc */
bool answer_hides_names(const struct call_identity *identity);
/** answer_may_name() - whether a neighbour of that owner is named: exactly when the caller could read it in /proc */
bool answer_may_name(const struct call_identity *identity, uint32_t uid);

/**
 * answer_blame() - how a time splits
 * @blame_ns: its waits; [BLAME_ON_CPU] is not looked at
 * @whole_ns: the time itself: what is no wait was spent on the CPU
 */
Ingero__V1__Blame *answer_blame(const struct rpc_context *context, struct arena *arena,
				const __u64 blame_ns[BLAME_COUNT], uint64_t whole_ns);
int answer_families(const struct rpc_context *context, struct arena *arena, Ingero__V1__ProbeFamily ***ret_items,
		    size_t *ret_n);
/**
 * answer_lost() - what the machine lost; of libraries that were attached late, those in processes of the scope
 * @since: NULL: since the daemon started
 */
Ingero__V1__Lost *answer_lost(const struct rpc_context *context, struct arena *arena, const struct scope *scope,
			      const struct since *since);

/** answer_operation() - a row of one operation of one process. Return: 0 or -ENOMEM */
int answer_operation(const struct rpc_context *context, struct arena *arena, const struct process_figures *p,
		     uint32_t id, const struct op_figures *figures, Ingero__V1__Operation **ret_row);
/** answer_in_flight() - calls in progress, into a summary. Return: 0 or -errno */
int answer_in_flight(const struct rpc_context *context, const struct scope *scope, struct arena *arena,
		     Ingero__V1__Summary *summary);
/** answer_behind() - who ran while calls were runnable, into a summary; @since as above. Return: 0 or -ENOMEM */
int answer_behind(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		  struct arena *arena, Ingero__V1__Summary *summary);

/** typedef answer_piece_func - a summary too large for one message comes in several. Return: 0 or -errno to stop */
typedef int (*answer_piece_func)(Ingero__V1__Summary *piece, void *data);
/*
 * How far a summary was told. Rows of operations are told once each, whatever else happens between two pieces:
 * processes come at the end. The lists behind them are made anew for each piece that waited; of those what was told is
 * skipped.
 */
struct answer_position {
	uint64_t process; /* its rows from this operation on are left; all of earlier ones were told */
	uint32_t op;
	size_t list; /* what is left of the lists: from this one on, */
	size_t at;   /* and of it, from this item on */
};
/** answer_untold_calls() - of a process, those that are not in what was told; @since: NULL: since it began */
uint64_t answer_untold_calls(const struct answer_position *told, const struct process_figures *p,
			     const struct since *since);
/* What the caller's own stream has seen. */
struct answer_seen {
	const struct call *call;      /* asked for room before a piece is begun, which is work; NULL: there is */
	struct answer_position *told; /* goes on there, and notes each piece that was taken; NULL: from the beginning */
	uint64_t subscriber_slow;     /* events it did not read in time */
	uint64_t forgotten;	      /* calls of processes whose figures are gone */
	const struct findings_seen *findings; /* NULL: none */
	bool tells_not_shown;		      /* who is left out; coverage_look() was just now */
	const Ingero__V1__Life *life;	      /* NULL: not followed */
	bool is_recent; /* operations, calls in progress and who ran meanwhile alone; longest calls are of the time, too
			 */
};
/**
 * answer_summary() - figures of everything in scope, or what is left of it
 * Return: 0, -ENOBUFS (seen->call has no room; it hears when it has), -ENOMEM, or what func returned
 */
int answer_summary(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		   const struct answer_seen *seen, answer_piece_func func, void *data);
/** answer_store() - the database that is being written. Return: NULL without memory */
Ingero__V1__Store *answer_store(const struct rpc_context *context, struct arena *arena);
