// SPDX-License-Identifier: Apache-2.0
/*
 * Services for tests: the real descriptors, the real server, handlers that do what the
 * request's own numbers tell them.
 *
 * Query.Status replies with the caller's uid in `pid`; Query.Operations does what its first
 * pid says (enum toy_operation); Trace.Trace what its first pid says (enum toy_trace).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct server;
struct call;
struct toy_stream;

#define TOY_STREAMS_MAX 16 /* of TOY_ON_DEMAND at a time */

enum toy_operation {
	TOY_REPLY = 0, /* a summary with as many operations as pids were given */
	TOY_LATER,     /* keeps the call for toy_answer_later() */
	TOY_NEVER,     /* the same, and listens for its end */
	TOY_FAIL,      /* NOT_FOUND */
	TOY_TOO_LARGE, /* a message larger than a frame */
	TOY_LARGE,     /* just below it */
	TOY_PIECES,    /* two, and the end */
	TOY_DIE,       /* the whole process, in the middle of the call */
};

enum toy_trace {
	TOY_FLOOD = 100, /* pieces of `sample_every` bytes, until -ENOBUFS; goes on after each drain */
	TOY_STOPPABLE,	 /* one start; a summary when stopped */
	TOY_DEAF,	 /* listens for the stop and does nothing about it */
	TOY_PLAIN,	 /* does not listen for a stop */
	TOY_COUNT,	 /* as many pieces as the second pid says, then ends */
	TOY_ON_DEMAND,	 /* pieces of `sample_every` bytes whenever toy_flood() is called, as from a timer */
};

struct toy {
	uv_loop_t loop;
	struct server *server;
	struct call *later; /* of TOY_LATER or TOY_NEVER */
	struct toy_stream *on_demand[TOY_STREAMS_MAX];
	unsigned int n_replies; /* call_reply() succeeded */
	unsigned int n_refused; /* it returned -ENOBUFS */
	unsigned int n_drains;
	unsigned int n_stops;
	unsigned int n_closes; /* call_on_close() */
	unsigned int n_peers_opened;
	unsigned int n_peers_closed;
	unsigned int n_idle;
	uint32_t last_peer_pid;
	bool stops_when_idle;		       /* uv_stop() then */
	bool does_not_die;		       /* TOY_DIE fails instead */
	void (*on_operation)(struct toy *toy); /* NULL, or called for each Query.Operations */
	unsigned int n_operations;
	void (*on_drain)(struct toy *toy); /* NULL, or called for each drain */
};

void toy_open(struct toy *toy);
/* toy_close() - server and loop; fails a check when handles are left */
void toy_close(struct toy *toy);
/* toy_answer_later() - reply to the call that was kept */
void toy_answer_later(struct toy *toy);
/* toy_flood() - each stream of TOY_ON_DEMAND sends until it is refused */
void toy_flood(struct toy *toy);
