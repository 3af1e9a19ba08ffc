// SPDX-License-Identifier: Apache-2.0
/*
 * The handler of Trace: a lease that lasts as long as its stream.
 *
 * States of a call: asked → looking (the libraries of its processes are being found) → running → finishing (the summary
 * waits for room) → over.
 */
#define LOG_TOPIC "rpc"
#include "rpc/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grace.h"
#include "base/log.h"
#include "capture.h"
#include "clock.h"
#include "events/source.h"
#include "events/stack.h"
#include "probes/lease.h"
#include "rpc/access.h"
#include "rpc/answer.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/handlers.h"
#include "rpc/quota.h"
#include "rpc/server.h"
#include "rpc/trace_state.h"

#define FIGURES_PERIOD_MIN_MS 50 /* nobody reads faster, and each period costs a pass over all processes */

int trace_hub_new(struct trace_hub **ret_hub)
{
	struct trace_hub *hub = calloc(1, sizeof(*hub));

	if (!hub)
		return -ENOMEM;
	*ret_hub = hub;
	return 0;
}

void trace_hub_free(struct trace_hub *hub)
{
	if (!hub)
		return;
	assert(!hub->traces.n);
	ARRAY_DONE(&hub->traces);
	free(hub);
}

void trace_release(struct trace *t)
{
	assert(t->n_references > 0);
	if (--t->n_references)
		return;
	since_done(&t->since);
	seconds_done(&t->seconds);
	recent_done(&t->recent);
	findings_done(&t->findings);
	trace_held_done(&t->held);
	for (size_t i = 0; i < t->batch_stacks.n; i++)
		(void)stack_unref(t->batch_stacks.items[i]);
	ARRAY_DONE(&t->batch_stacks);
	ARRAY_DONE(&t->libraries);
	arena_done(&t->libraries_arena);
	arena_done(&t->batch_arena);
	free(t->batch);
	free(t);
}

static void trace_timer_closed(uv_handle_t *timer)
{
	trace_release(timer->data);
}

/* Ends the lease and frees the trace; the caller ends the call, or has ended it. */
static void trace_over(struct trace *t)
{
	struct trace_hub *hub = t->context->traces;

	if (t->lease)
		(void)capture_let_go(t->context->capture, t->lease);
	graces_forget(&t->context->capture->graces, t);
	t->state = TRACE_OVER;
	t->call = NULL;
	if (t->lease)
		lease_remove(t->context->capture->leases, t->lease);
	t->lease = NULL;
	if (t->guardian)
		t->context->guard(t->context, t->guardian, 0, false);
	for (size_t i = 0; i < hub->traces.n; i++)
		if (hub->traces.items[i] == t)
			ARRAY_REMOVE_SWAP(&hub->traces, i);
	if (t->has_timers) {
		uv_close((uv_handle_t *)&t->figures_timer, trace_timer_closed);
		uv_close((uv_handle_t *)&t->duration_timer, trace_timer_closed);
	}
	trace_release(t);
}

/* @what: what failed, as in "the start could not be sent"; @r: -errno */
static void trace_fail(struct trace *t, const char *what, int r)
{
	struct call *call = t->call;

	trace_over(t);
	if (r == -ENOSPC) /* the share of their user is full: probe_set_target_add() */
		call_fail(call, CALL_ERROR_QUOTA,
			  "too many processes of one user are named or descend from named ones; name the user instead");
	else
		call_fail(call, CALL_ERROR_INTERNAL, "%s (%s)", what, strerror(-r));
}

static void kept_charge(struct trace *t)
{
	if (t->call)
		call_keep(t->call,
			  t->since.bytes + t->seconds_bytes + recent_bytes(&t->recent) + trace_held_bytes(&t->held));
}

/* ---- figures, each period ---- */

static int figures_piece(Ingero__V1__Summary *piece, void *data)
{
	return trace_reply(data, INGERO__V1__TRACE_REPLY__BODY_FIGURES, piece);
}

static int recent_piece(Ingero__V1__Summary *piece, void *data)
{
	return trace_reply(data, INGERO__V1__TRACE_REPLY__BODY_RECENT, piece);
}

/* Return: 0 or -errno: then the figures are not sent either */
static int recent_send(struct trace *t, const struct scope *scope)
{
	const struct source *source = t->context->capture->source;
	const struct since *since = recent_since(&t->recent, &t->since, source->ops->now_ns(source));
	int r;

	if (!since)
		return 0;
	r = answer_summary(t->context, scope, since, &(struct answer_seen){ .call = t->call, .is_recent = true },
			   recent_piece, t);
	if (r < 0)
		return r;
	r = recent_step(&t->recent, t->context, call_identity(t->call), call_may_keep(t->call, QUOTA_SPARE));
	kept_charge(t);
	return r;
}

static void figures_fired(uv_timer_t *timer)
{
	struct trace *t = timer->data;
	uint64_t before_ns = clock_spent_ns();
	struct scope scope;

	if (t->state != TRACE_RUNNING || call_must_wait(t->call))
		return;
	capture_collect(t->context->capture);
	trace_loss_send(t);
	if (!call_can_reply(t->call))
		return; /* no room: outdated figures are not sent later */
	scope = trace_scope(t);
	if (recent_send(t, &scope) == 0)
		(void)answer_summary(t->context, &scope, &t->since,
				     &(struct answer_seen){ .call = t->call,
							    .subscriber_slow = t->subscriber_slow,
							    .forgotten = t->forgotten,
							    .findings = &t->findings,
							    .life = &t->life },
				     figures_piece, t);
	call_charge(t->call, before_ns);
}

/* ---- figures of each second ---- */

/* Return: 0, -ENOBUFS: some pieces are left, or -errno */
static int seconds_send(struct trace *t)
{
	Ingero__V1__Summary *piece;
	int r = 0;

	while (r == 0 && (piece = seconds_pending(&t->seconds))) {
		r = call_can_reply(t->call) ? figures_piece(piece, t) : -ENOBUFS;
		if (r == 0)
			t->seconds.n_told++;
	}
	return r;
}

static void second_build(struct trace *t)
{
	const struct scope scope = trace_scope(t);
	int r = seconds_build(&t->seconds, t->context, &scope, t->subscriber_slow);

	if (r < 0)
		(void)log_warning(r, "cannot report the last second; it comes with the next");
}

static void second_take(struct trace *t)
{
	const struct scope scope = trace_scope(t);

	if (seconds_send(t) < 0 || t->is_ending || call_must_wait(t->call) || !call_may_keep(t->call, QUOTA_NEEDED))
		(void)seconds_pass(&t->seconds, t->context,
				   &scope); /* otherwise the longest call would be the bound of its bucket */
	else
		second_build(t);
	(void)seconds_send(t); /* the rest is sent when there is room */
}

void trace_second(struct trace *t)
{
	uint64_t before_ns = clock_spent_ns();

	if (t->state != TRACE_RUNNING || !t->has_seconds)
		return;
	second_take(t);
	t->seconds_bytes = seconds_bytes(&t->seconds);
	kept_charge(t);
	call_charge(t->call, before_ns);
}

/* Sends the remaining lines and the last one, before the summary. Return: as seconds_send() */
static int seconds_end(struct trace *t)
{
	int r = t->has_seconds ? seconds_send(t) : 0;

	if (r < 0 || !t->has_seconds || t->told_last)
		return r;
	t->told_last = true;
	second_build(t);
	if (seconds_is_empty(&t->seconds))
		return 0; /* the end falls on the end of a second */
	return seconds_send(t);
}

/* ---- the end ---- */

static int summary_piece(Ingero__V1__Summary *piece, void *data)
{
	return trace_reply(data, INGERO__V1__TRACE_REPLY__BODY_SUMMARY, piece);
}

/* @since_ns: when work began that no turn of a connection is charged with; 0: there is none */
static void summary_send(struct trace *t, uint64_t since_ns)
{
	struct scope scope = trace_scope(t);
	const struct answer_seen seen = { .call = t->call,
					  .told = &t->told,
					  .subscriber_slow = t->subscriber_slow,
					  .forgotten = t->forgotten,
					  .findings = &t->findings,
					  .tells_not_shown = true,
					  .life = &t->life };
	struct call *call;
	int r;

	/* Behind the summary the client can no longer be asked to let anybody go on. */
	if (t->lease && !capture_let_go(t->context->capture, t->lease) && !call_can_reply(t->call))
		return;
	r = seconds_end(t);
	if (r == 0)
		r = answer_summary(t->context, &scope, &t->since, &seen, summary_piece, t);
	if (since_ns)
		call_charge(t->call, since_ns);
	if (r == -ENOBUFS)
		return; /* the rest is sent when the client has read some */
	if (r < 0) {
		trace_fail(t, "the summary could not be built", r);
		return;
	}
	call = t->call;
	trace_over(t);
	call_end(call);
}

/* All its events went out. */
static void trace_sum_up(struct trace *t, uint64_t since_ns)
{
	trace_batch_send(t);
	trace_loss_send(t);
	trace_left_out_look(t);
	t->state = TRACE_FINISHING;
	summary_send(t, since_ns);
}

void trace_held_over(struct trace *t)
{
	t->is_settling = false;
	capture_unsettle(t->context->capture); /* stacks were named since */
	trace_sum_up(t, 0);
}

/*
 * No process is held from here on: reading the rings gives all that are held. The last events may wait for their
 * stacks, which are ready within STACK_READY_NS.
 */
static void trace_settle(struct trace *t, uint64_t since_ns)
{
	context_settle(t->context); /* detectors run up to now */
	if (t->lease)
		(void)capture_let_go(t->context->capture, t->lease);
	trace_held_send(t, /* is_forced= */ false);
	if (trace_held_count(&t->held))
		t->is_settling = true;
	else
		trace_sum_up(t, since_ns);
}

static void hold_ended(void *data)
{
	trace_settle(data, clock_spent_ns());
}

/* Return: whether processes may still be held, so that hold_ended() has to be called, after a grace period */
static bool trace_end_begin(struct trace *t)
{
	t->is_ending = true;
	return t->lease && lease_hold_end(t->context->capture->leases, t->lease);
}

/* @since_ns: as in summary_send() */
static void trace_finish(struct trace *t, uint64_t since_ns)
{
	if (t->is_ending || t->state == TRACE_OVER)
		return;
	if (trace_end_begin(t)) {
		if (graces_request(&t->context->capture->graces, hold_ended, t) == 0)
			return;
		(void)grace_wait();
	}
	trace_settle(t, since_ns);
}

static void duration_fired(uv_timer_t *timer)
{
	trace_finish(timer->data, clock_spent_ns());
}

/* By a timer, never at once: the exit is reported from within the reading of the rings, which the end needs, too. */
static void end_set(struct trace *t)
{
	if (t->lease && lease_is_over(t->lease))
		(void)uv_timer_start(&t->duration_timer, duration_fired, 0, 0);
	else if (t->duration_ms && !uv_is_active((uv_handle_t *)&t->duration_timer)) {
		uv_update_time(t->context->loop); /* attaching may have taken long since the loop read the clock */
		(void)uv_timer_start(&t->duration_timer, duration_fired, t->duration_ms, 0);
	}
}

void trace_hub_exit(struct trace_hub *hub)
{
	for (size_t i = 0; i < hub->traces.n; i++)
		if (hub->traces.items[i]->state == TRACE_RUNNING)
			end_set(hub->traces.items[i]);
}

static void call_stopped(struct call *call, void *data)
{
	(void)call;
	trace_finish(data, 0);
}

static void call_closed(struct call *call, void *data)
{
	struct trace *t = data;

	(void)call;
	t->call = NULL; /* the client is gone: it cannot resume a program any more */
	trace_over(t);
}

static void call_drained(struct call *call, void *data)
{
	struct trace *t = data;

	(void)call;
	if (t->state == TRACE_FINISHING)
		summary_send(t, 0);
	else if (t->state == TRACE_RUNNING) {
		(void)seconds_send(t);
		trace_held_send(t, /* is_forced= */ false);
	}
}

/* ---- the start ---- */

void trace_looking_done(struct trace *t)
{
	int r;

	if (t->state != TRACE_LOOKING || t->n_looking)
		return;
	r = trace_start_send(t);
	if (r < 0) {
		trace_fail(t, "the start could not be sent", r);
		return;
	}
	t->state = TRACE_RUNNING;
	if (t->figures_period_ms && !t->has_seconds)
		(void)uv_timer_start(&t->figures_timer, figures_fired, t->figures_period_ms, t->figures_period_ms);
	end_set(t); /* all its processes may have ended meanwhile */
}

static int trace_start(struct trace *t, const Ingero__V1__TraceRequest *request)
{
	int r;

	t->wants_events = request->events;
	t->wants_stacks = request->events && strcmp(request->stacks, "none") != 0;
	t->figures_period_ms = request->figures_period_ns / NSEC_PER_MSEC;
	if (request->figures_period_ns)
		t->figures_period_ms = MAX(t->figures_period_ms, FIGURES_PERIOD_MIN_MS);
	t->duration_ms = request->duration_ns / NSEC_PER_MSEC;
	t->batch = calloc(TRACE_BATCH_EVENTS, sizeof(t->batch[0]));
	if (!t->batch)
		return -ENOMEM;

	capture_collect(t->context->capture);
	r = since_take(t->context, call_identity(t->call), &t->since);
	if (r < 0)
		return r;
	t->has_seconds = request->each_second;
	t->recent.span_ns = MIN(request->recent_ns, RECENT_MAX_NS);
	r = t->has_seconds ? since_take(t->context, call_identity(t->call), &t->seconds.since) : 0;
	if (r < 0)
		return r;
	t->seconds.since.since_ns = t->since.since_ns; /* both count from the same time */
	t->seconds_bytes = seconds_bytes(&t->seconds);
	kept_charge(t);
	memcpy(t->lost_sent.losses, t->since.losses, sizeof(t->since.losses));
	t->lost_sent.refused = t->since.refused;
	t->lost_sent.watched_ns = t->since.watched_ns;
	r = trace_lease_take(t, request, call_identity(t->call)->uid);
	if (r < 0)
		return r;
	return ARRAY_PUSH(&t->context->traces->traces, t);
}

void rpc_trace_trace(struct call *call, const Ingero__V1__TraceRequest *request)
{
	struct rpc_context *context = call_context(call);
	struct trace *t;
	int r;

	if (context->wait(context, call))
		return;
	if (context->must_keep && !context->store) {
		call_fail(call, CALL_ERROR_UNAVAILABLE, "%s", context->store_problem);
		return;
	}
	if (!context->capture->source) {
		call_fail(call, CALL_ERROR_UNAVAILABLE,
			  "cannot capture: %s; 'ingero demo', 'ingero check' and 'ingero explain' of what was recorded "
			  "work",
			  context->capture->probes_reason);
		return;
	}
	if (!trace_request_check(call, request))
		return;
	if (!call_begin_lease(call)) {
		call_fail(call, CALL_ERROR_QUOTA, "you have %d traces running, which is the limit; end one of them",
			  QUOTA_USER_LEASES);
		return;
	}
	if (!call_may_keep(call, QUOTA_NEEDED)) {
		call_fail(call, CALL_ERROR_QUOTA,
			  "no room to note the figures at the start (running traces keep at most %u MiB for one user, "
			  "%u MiB "
			  "for all); end one of your traces, or try again later",
			  QUOTA_USER_KEPT_BYTES / 1024 / 1024, QUOTA_TOTAL_KEPT_BYTES / 1024 / 1024);
		return;
	}

	t = calloc(1, sizeof(*t));
	if (!t) {
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
		return;
	}
	ingero__v1__life__init(&t->life);
	t->context = context;
	t->call = call;
	t->n_references = 1;
	r = trace_start(t, request);
	if (r < 0) {
		trace_fail(t, "the lease could not be taken", r);
		return;
	}
	(void)uv_timer_init(context->loop, &t->figures_timer);
	(void)uv_timer_init(context->loop, &t->duration_timer);
	t->figures_timer.data = t->duration_timer.data = t;
	t->has_timers = true;
	t->n_references += 2;
	call_on_stop(call, call_stopped, t);
	call_on_close(call, call_closed, t);
	call_on_drain(call, call_drained, t);

	t->n_looking = 1; /* kept above 0 until all scans were requested */
	if (t->lease && lease_names_owners(t->lease))
		trace_left_out_look(t);
	r = trace_processes_look(t);
	t->n_looking--;
	if (r < 0) {
		trace_fail(t, "the processes could not be listed", r);
		return;
	}
	trace_looking_done(t);
}

unsigned int trace_hub_count(const struct trace_hub *hub, const struct call_identity *identity)
{
	unsigned int n = 0;

	for (size_t i = 0; i < hub->traces.n; i++)
		n += access_may_see(identity, call_identity(hub->traces.items[i]->call)->uid, /* is_guarded= */ false);
	return n;
}

/* At once, for the loop ends: one grace period for all, also for those that wait for one. */
void trace_hub_finish(struct trace_hub *hub)
{
	bool must_wait = false;

	for (size_t i = 0; i < hub->traces.n; i++) {
		struct trace *t = hub->traces.items[i];

		if (t->is_ending) {
			must_wait |= t->state != TRACE_FINISHING;
			continue;
		}
		must_wait |= trace_end_begin(t);
	}
	if (must_wait)
		(void)grace_wait();
	/* A trace that ends leaves the list, possibly at once. */
	for (size_t i = hub->traces.n; i-- > 0;) {
		struct trace *t = i < hub->traces.n ? hub->traces.items[i] : NULL;

		if (!t || t->state == TRACE_FINISHING)
			continue;
		graces_forget(&t->context->capture->graces, t);
		if (!t->is_settling)
			trace_settle(t, 0);
		if (t->is_settling)
			trace_held_send(t, /* is_forced= */ true);
	}
}
