// SPDX-License-Identifier: Apache-2.0
/*
 * The handler of Io: a lease on system calls that lasts as long as its stream.
 *
 * States of a call: running → ending (the kernel half is read once more) → summing up (the pieces of the summary wait
 * for room) → over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "capture.h"
#include "clock.h"
#include "io/io_calls.h"
#include "rpc/context.h"
#include "rpc/handlers.h"
#include "rpc/io_state.h"

#define FIGURES_FILES 200u  /* of the live table */
#define SUMMARY_FILES 1000u /* of a piece */
#define EVENTS_MOST 256u    /* of a message */
#define EVENTS_BYTES (256u << 10)

struct io_trace {
	struct rpc_context *context;
	struct call *call;
	struct io_lease_state *lease;
	struct io_pattern *pattern;	/* NULL: all */
	uint64_t started_ns, ended_ns;	/* 0: runs */
	uint64_t period_ns, figures_ns; /* when the last figures were sent */
	uint64_t duration_ns;
	uint64_t subscriber_slow;
	bool ends_with_processes;
	bool is_summing_up;
	struct io_view summary; /* while it sums up */
	size_t n_sent;
	Ingero__V1__IoEvent *events[EVENTS_MOST];
	size_t n_events;
	struct arena events_arena;
};

static void io_trace_over(struct io_trace *t)
{
	io_view_done(&t->summary);
	if (t->lease)
		io_hub_leave(t->lease);
	arena_done(&t->events_arena);
	free(t->pattern);
	free(t);
}

static int io_reply(struct io_trace *t, Ingero__V1__IoReply__BodyCase which, void *body)
{
	Ingero__V1__IoReply message = INGERO__V1__IO_REPLY__INIT;

	message.body_case = which;
	message.start = body; /* all members of the union are pointers to messages */
	return call_reply(t->call, &message.base);
}

static struct io_view io_view_of(const struct io_trace *t)
{
	return (struct io_view){ .book = io_hub_book(t->lease),
				 .files = io_hub_files(t->lease),
				 .identity = call_identity(t->call),
				 .pattern = t->pattern };
}

/* ---- single calls ---- */

static void io_events_send(struct io_trace *t)
{
	Ingero__V1__IoEvents message = INGERO__V1__IO_EVENTS__INIT;

	if (!t->n_events)
		return;
	message.events = t->events;
	message.n_events = t->n_events;
	if (io_reply(t, INGERO__V1__IO_REPLY__BODY_EVENTS, &message) < 0)
		t->subscriber_slow += t->n_events;
	t->n_events = 0;
	arena_done(&t->events_arena);
}

static void io_called(const struct io_call_record *record, void *data)
{
	struct io_trace *t = data;
	const struct io_view view = io_view_of(t);
	Ingero__V1__IoEvent *event = io_answer_event(&view, record, &t->events_arena);

	if (event)
		t->events[t->n_events++] = event;
	if (t->n_events == EVENTS_MOST || arena_bytes(&t->events_arena) > EVENTS_BYTES)
		io_events_send(t);
}

/* ---- figures ---- */

static void lost_fill(const struct io_trace *t, Ingero__V1__IoLost *ret)
{
	ingero__v1__io_lost__init(ret);
	ret->calls = io_hub_lost(t->lease, IO_LOSS_ROWS) + io_hub_lost(t->lease, IO_LOSS_THREADS) +
		     io_hub_book(t->lease)->lost;
	ret->events = io_hub_lost(t->lease, IO_LOSS_EVENTS);
	ret->paths = io_hub_lost(t->lease, IO_LOSS_PATHS);
	ret->compat = io_hub_lost(t->lease, IO_LOSS_COMPAT);
	ret->subscriber_slow = t->subscriber_slow;
}

static int figures_send(struct io_trace *t, const struct io_view *view, size_t from, size_t n, bool is_summary)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__IoFigures figures = INGERO__V1__IO_FIGURES__INIT;
	Ingero__V1__IoLost lost;
	uint64_t now_ns = t->ended_ns ? t->ended_ns : clock_now_ns();
	int r = from ? 0 : io_answer_operations(view, &arena, &figures);

	if (r == 0)
		r = io_answer_files(view, from, n, &arena, &figures);
	if (r < 0)
		return r;
	lost_fill(t, &lost);
	figures.timestamp_unix_ns = clock_to_unix_ns(now_ns);
	figures.window_ns = now_ns - t->started_ns;
	figures.lost = &lost;
	figures.is_whole = !is_summary || from + n >= view->n;
	figures.more_files = is_summary ? 0 : (uint32_t)(view->n - figures.n_files);
	return io_reply(t, is_summary ? INGERO__V1__IO_REPLY__BODY_SUMMARY : INGERO__V1__IO_REPLY__BODY_FIGURES,
			&figures);
}

static void live_send(struct io_trace *t)
{
	struct io_view view = io_view_of(t);
	uint64_t now_ns = clock_now_ns();

	if (!t->period_ns || now_ns - t->figures_ns < t->period_ns || !call_can_reply(t->call))
		return; /* outdated figures are not sent later */
	t->figures_ns = now_ns;
	if (io_view_make(&view) == 0)
		(void)figures_send(t, &view, 0, FIGURES_FILES, /* is_summary= */ false);
	io_view_done(&view);
}

/* The rest goes when the client has read some. */
static void summary_go_on(struct io_trace *t)
{
	struct call *call = t->call;
	int r = 0;

	while (r == 0 && (t->n_sent < t->summary.n || !t->n_sent)) {
		r = figures_send(t, &t->summary, t->n_sent, SUMMARY_FILES, /* is_summary= */ true);
		if (r == 0)
			t->n_sent += SUMMARY_FILES;
	}
	if (r == -ENOBUFS)
		return;
	io_trace_over(t);
	if (r == 0)
		call_end(call);
	else
		call_fail(call, CALL_ERROR_INTERNAL, "the summary could not be built (%s)", strerror(-r));
}

static void summary_begin(struct io_trace *t)
{
	struct call *call = t->call;

	t->is_summing_up = true;
	t->summary = io_view_of(t);
	if (io_view_make(&t->summary) == 0) {
		summary_go_on(t);
		return;
	}
	io_trace_over(t);
	call_fail(call, CALL_ERROR_INTERNAL, "the summary could not be built (out of memory)");
}

/* ---- the end ---- */

static void io_finish(struct io_trace *t)
{
	if (t->ended_ns)
		return;
	t->ended_ns = clock_now_ns();
	io_hub_end(t->lease);
}

static bool io_is_over(const struct io_trace *t)
{
	return (t->duration_ns && clock_now_ns() - t->started_ns >= t->duration_ns) ||
	       (t->ends_with_processes && io_hub_is_idle(t->lease));
}

static void io_read(bool is_last, void *data)
{
	uint64_t before_ns = clock_spent_ns();
	struct io_trace *t = data;

	if (t->is_summing_up)
		return;
	io_events_send(t);
	if (is_last) {
		summary_begin(t);
		return;
	}
	if (!t->ended_ns && !call_must_wait(t->call))
		live_send(t);
	call_charge(t->call, before_ns);
	if (io_is_over(t))
		io_finish(t);
}

static void io_stopped(struct call *call, void *data)
{
	(void)call;
	io_finish(data);
}

static void io_closed(struct call *call, void *data)
{
	(void)call;
	io_trace_over(data);
}

static void io_drained(struct call *call, void *data)
{
	struct io_trace *t = data;

	(void)call;
	if (t->is_summing_up)
		summary_go_on(t);
}

/* ---- the start ---- */

static int start_send(struct io_trace *t)
{
	Ingero__V1__IoStart start = INGERO__V1__IO_START__INIT;
	const uint64_t *missing = io_hub_missing(t->lease);
	char *names[IO_CALL_COUNT];
	struct utsname uts = { .release = "" };

	(void)uname(&uts);
	start.timestamp_unix_ns = clock_to_unix_ns(t->started_ns);
	start.version = (char *)(uintptr_t)INGERO_VERSION;
	start.kernel = uts.release;
	start.missing = names;
	for (uint32_t i = 1; i < IO_CALL_COUNT; i++)
		if (missing[i / 64] & 1ull << (i & 63))
			names[start.n_missing++] = (char *)(uintptr_t)io_call_name(i);
	return io_reply(t, INGERO__V1__IO_REPLY__BODY_START, &start);
}

static int io_join(struct io_trace *t, const Ingero__V1__IoRequest *request, char *why, size_t why_bytes)
{
	const struct io_listener listener = { io_called, io_read, t };
	uint32_t own_uid;
	struct io_wish wish = io_request_wish(t->call, request, &own_uid);
	int r;

	if (request->path[0]) {
		t->pattern = malloc(sizeof(*t->pattern));
		if (!t->pattern)
			return -ENOMEM;
		(void)io_pattern_parse(t->pattern, request->path); /* checked with the request */
	}
	r = io_hub_join(&t->context->io, t->context->loop, &wish, &listener, why, why_bytes, &t->lease);
	if (r == 0)
		r = io_request_follow(t->lease, request);
	t->started_ns = t->figures_ns = clock_now_ns();
	return r < 0 ? r : start_send(t);
}

/* Whether this daemon captures processes of this machine, or will for its first trace. */
static bool io_can_capture(const struct capture *capture)
{
	return capture->is_loading || capture->leases;
}

void rpc_trace_io(struct call *call, const Ingero__V1__IoRequest *request)
{
	struct rpc_context *context = call_context(call);
	char why[256] = "out of memory";
	struct io_trace *t;

	if (!io_can_capture(context->capture)) {
		call_fail(call, CALL_ERROR_UNAVAILABLE, "cannot trace system calls: %s",
			  context->capture->probes_reason[0] ? context->capture->probes_reason
							     : "this daemon plays a demo");
		return;
	}
	if (!io_request_check(call, request))
		return;
	if (!call_begin_lease(call)) {
		call_fail(call, CALL_ERROR_QUOTA, "you have %d traces running, which is the limit; end one of them",
			  QUOTA_USER_LEASES);
		return;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
		return;
	}
	t->context = context;
	t->call = call;
	t->period_ns = request->period_ns ? MAX(request->period_ns, IO_READ_MS * NSEC_PER_MSEC) : 0;
	t->duration_ns = request->duration_ns;
	t->ends_with_processes = request->n_pids && !request->n_uids && !request->all;
	if (io_join(t, request, why, sizeof(why)) < 0) {
		io_trace_over(t);
		call_fail(call, CALL_ERROR_UNAVAILABLE, "%s", why);
		return;
	}
	call_on_stop(call, io_stopped, t);
	call_on_close(call, io_closed, t);
	call_on_drain(call, io_drained, t);
}
