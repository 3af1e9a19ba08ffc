// SPDX-License-Identifier: Apache-2.0
/*
 * One running Trace call, as the files that serve it share it: trace.c has its life, trace_request.c what was asked
 * for, trace_send.c what goes out meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/arena.h"
#include "base/array.h"
#include "ingero/v1/ingero.pb-c.h"
#include "rpc/answer.h"
#include "rpc/findings.h"
#include "rpc/recent.h"
#include "rpc/scope.h"
#include "rpc/seconds.h"
#include "rpc/since.h"
#include "rpc/trace_held.h"

struct call;
struct lease;
struct rpc_context;

/* Events of one message: at about 250 bytes each a quarter of the cap. */
#define TRACE_BATCH_EVENTS 1000

enum trace_state { TRACE_LOOKING, TRACE_RUNNING, TRACE_FINISHING, TRACE_OVER };

struct trace {
	struct rpc_context *context;
	struct call *call; /* NULL once over */
	struct lease *lease;
	uint32_t guardian; /* of processes that are held; 0: none */
	struct since since;
	enum trace_state state;
	bool wants_events;
	bool wants_stacks; /* with events */
	bool has_timers;
	bool has_seconds; /* figures of each are wanted */
	bool is_ending;	  /* the last of them is told with the summary; its holds may still be ending */
	bool told_last;	  /* it was built */
	bool is_settling; /* it is over, and its last events wait for their stacks */
	struct seconds seconds;
	size_t seconds_bytes; /* seconds_bytes() when last measured */
	struct recent recent;
	uint64_t figures_period_ms;
	uint64_t duration_ms;
	size_t n_looking;	     /* processes whose libraries are being found */
	struct answer_position told; /* of the summary */
	uint64_t subscriber_slow;    /* events that found no room */
	struct since lost_sent;	     /* losses as last sent */
	struct findings_seen findings;
	Ingero__V1__Life life; /* events of the host since it runs */
	uint64_t subscriber_slow_sent;
	uint64_t forgotten; /* calls since it runs, of processes whose figures went */
	uint64_t forgotten_sent;
	struct arena libraries_arena;
	ARRAY(Ingero__V1__Library *) libraries; /* to be told once there is room */
	struct trace_held held;
	struct arena batch_arena;
	Ingero__V1__Event **batch; /* TRACE_BATCH_EVENTS */
	size_t n_batch;
	ARRAY(struct stack *) batch_stacks; /* of these events, each once; references */
	size_t batch_stacks_bytes;
	uv_timer_t figures_timer;
	uv_timer_t duration_timer;
	int n_references; /* list, open timers, scans under way */
};

struct trace_hub {
	ARRAY(struct trace *) traces;
};

/** trace_release() - one reference less; the last one frees it */
void trace_release(struct trace *t);
/** trace_looking_done() - if nothing is looked for any more: send the start, and run */
void trace_looking_done(struct trace *t);

/* trace_request.c */

/** trace_request_check() - Return: whether the request may be granted; if not it was refused with a sentence */
bool trace_request_check(struct call *call, const Ingero__V1__TraceRequest *request);
/** trace_lease_take() - Return: 0 or -errno */
int trace_lease_take(struct trace *t, const Ingero__V1__TraceRequest *request, uint32_t own_uid);
/** trace_left_out_look() - note the CUDA libraries of processes that the trace does not show, where that may be told */
void trace_left_out_look(struct trace *t);
/** trace_processes_look() - find the libraries of all that the lease covers now. Return: 0 or -errno */
int trace_processes_look(struct trace *t);

/** trace_second() - figures were read, and their maxima are about to be taken */
void trace_second(struct trace *t);

/* trace_send.c */

/** trace_scope() - what its caller sees of it */
struct scope trace_scope(const struct trace *t);
/** trace_reply() - one message: body is one of the union's. Return: 0; -ENOBUFS, the client has not read; -errno */
int trace_reply(struct trace *t, Ingero__V1__TraceReply__BodyCase which, void *body);
/** trace_start_send() - Return: 0 or -errno */
int trace_start_send(struct trace *t);
/** trace_batch_send() - the events that were gathered; without room for them they are counted as lost */
void trace_batch_send(struct trace *t);
/** trace_held_send() - send the events that waited for their stacks. @is_forced: also those that still do */
void trace_held_send(struct trace *t, bool is_forced);
/** trace_held_over() - the last of them went out: the trace, which is over, goes on to its summary */
void trace_held_over(struct trace *t);
/** trace_loss_send() - what was lost since it was last said, if anything */
void trace_loss_send(struct trace *t);
