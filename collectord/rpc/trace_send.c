// SPDX-License-Identifier: Apache-2.0
/* Messages of a running Trace call before its end, and the sink that feeds it. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "capture.h"
#include "clock.h"
#include "events/event.h"
#include "events/event_message.h"
#include "events/op.h"
#include "events/source.h"
#include "events/stack.h"
#include "probes/lease.h"
#include "rpc/access.h"
#include "rpc/answer.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/coverage.h"
#include "rpc/trace.h"
#include "rpc/trace_state.h"
#include "archive/write/store.h"

/* Frames of one message, bytes: a guess that leaves room for its events. */
#define BATCH_STACKS_BYTES (256u << 10)
#define LIBRARIES_WAITING 256 /* some KiB each */

struct scope trace_scope(const struct trace *t)
{
	return (struct scope){ .identity = call_identity(t->call), .lease = t->lease };
}

int trace_reply(struct trace *t, Ingero__V1__TraceReply__BodyCase which, void *body)
{
	Ingero__V1__TraceReply message = INGERO__V1__TRACE_REPLY__INIT;

	message.body_case = which;
	message.start = body; /* all members of the union are pointers to messages */
	return call_reply(t->call, &message.base);
}

int trace_start_send(struct trace *t)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	static const struct {
		enum blame_class class;
		const char *name;
	} classes[] = {
#define BLAME(id, field, label, phrase, remedy) { BLAME_##id, #field },
#include "bpf/blame.def"
#undef BLAME
	};
	char *missing[ARRAY_SIZE(classes)];
	Ingero__V1__Start start = INGERO__V1__START__INIT;
	struct coverage_libraries libraries = { .n = 0 };
	struct coverage_processes processes = { .n = 0 };
	struct coverage_not_shown not_shown = { .n = 0 };
	struct rpc_context *context = t->context;
	struct utsname names = { .release = "" };
	int r;

	(void)uname(&names);
	start.timestamp_unix_ns = clock_to_unix_ns(context->capture->source->ops->now_ns(context->capture->source));
	start.version = (char *)INGERO_VERSION;
	start.kernel = names.release;
	start.back_end = (char *)context->capture->source->ops->name(context->capture->source);
	start.back_end_reason = (char *)context->capture->probes_reason;
	start.closing_probes = context->n_closing;
	start.not_measured = missing;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!context->capture->source->ops->measures(context->capture->source, classes[i].class))
			missing[start.n_not_measured++] = (char *)classes[i].name;

	r = coverage_libraries(context, &arena, call_identity(t->call), COVERAGE_BYTES, &libraries);
	start.libraries = libraries.items;
	start.n_libraries = libraries.n;
	start.more_libraries = libraries.more;
	if (r == 0)
		r = coverage_processes(context, &arena, call_identity(t->call), t->lease, &processes);
	start.cuda_processes = processes.items;
	start.n_cuda_processes = processes.n;
	start.more_cuda_processes = processes.more;
	if (r == 0 && t->lease && lease_names_owners(t->lease))
		r = coverage_not_shown(context, &arena, call_identity(t->call), t->lease, &not_shown);
	start.not_shown = not_shown.items;
	start.n_not_shown = not_shown.n;
	if (r == 0)
		r = answer_families(context, &arena, &start.families, &start.n_families);
	start.store = answer_store(context, &arena);
	if (!start.store)
		r = -ENOMEM;
	return r < 0 ? r : trace_reply(t, INGERO__V1__TRACE_REPLY__BODY_START, &start);
}

/* Return: 0, or -ENOMEM: the event goes without it */
static int trace_stack_add(struct trace *t, struct stack *stack)
{
	for (size_t i = t->batch_stacks.n; i-- > 0;)
		if (t->batch_stacks.items[i] == stack)
			return 0;
	if (ARRAY_PUSH(&t->batch_stacks, stack) < 0)
		return -ENOMEM;
	(void)stack_ref(stack);
	t->batch_stacks_bytes += stack_message_bytes(stack);
	return 0;
}

static Ingero__V1__Event *event_new(struct trace *t, const struct event *event)
{
	const struct record_header *header = event_header(event);
	struct event_about about = {
		.process_name = arena_copy_name(&t->batch_arena, process_name(event->process)),
		.program = &event->process->identity.program,
		.source = op_layer_to_source(event->op->layer),
		.op = event->op->name,
		.start_unix_ns = clock_to_unix_ns(header->start_ns),
		.pid = header->tgid,
		.uid = header->uid,
		.boot = t->context->store ? store_boot(t->context->store) : 0,
		.measured = event->measured,
		.n_args = op_n_args(event->op),
	};

	if (!about.process_name)
		return NULL;
	if (event->stack && trace_stack_add(t, event->stack) == 0)
		about.stack = event->stack->number;
	return event->life ? event_host_to_message(event->life, &about, &t->batch_arena)
			   : event_to_message(event->call, &about, &t->batch_arena);
}

static void batch_stacks_drop(struct trace *t)
{
	for (size_t i = 0; i < t->batch_stacks.n; i++)
		(void)stack_unref(t->batch_stacks.items[i]);
	t->batch_stacks.n = t->batch_stacks_bytes = 0;
}

void trace_batch_send(struct trace *t)
{
	Ingero__V1__EventBatch batch = INGERO__V1__EVENT_BATCH__INIT;

	if (!t->n_batch)
		return;
	batch.events = t->batch;
	batch.n_events = t->n_batch;
	batch.stacks = ARENA_NEW_N(&t->batch_arena, Ingero__V1__Stack *, t->batch_stacks.n + 1);
	for (size_t i = 0; batch.stacks && i < t->batch_stacks.n; i++) {
		Ingero__V1__Stack *stack = stack_to_message(t->batch_stacks.items[i], &t->batch_arena);

		if (stack)
			batch.stacks[batch.n_stacks++] = stack;
	}
	if (trace_reply(t, INGERO__V1__TRACE_REPLY__BODY_EVENTS, &batch) < 0)
		t->subscriber_slow += t->n_batch;
	batch_stacks_drop(t);
	t->n_batch = 0;
	arena_done(&t->batch_arena);
}

/* Sources other than the kernel half have no lease. */
static bool trace_covers(const struct trace *t, uint32_t tgid, uint32_t uid, uint64_t start_boot_ns)
{
	return !t->lease || lease_covers(t->lease, tgid, uid, start_boot_ns);
}

static bool trace_sees(const struct trace *t, const struct event *event, uint64_t start_boot_ns)
{
	const struct record_header *header = event_header(event);
	struct scope scope;

	if (t->state != TRACE_RUNNING || t->is_settling)
		return false;
	scope = trace_scope(t);
	return trace_covers(t, header->tgid, header->uid, start_boot_ns) &&
	       scope_sees(&scope, header->tgid, header->uid, process_is_guarded(event->process));
}

static void event_send(struct trace *t, const struct event *event)
{
	Ingero__V1__Event *e;

	if (!call_can_reply(t->call)) {
		t->subscriber_slow++;
		return;
	}
	e = event_new(t, event);
	if (!e) {
		t->subscriber_slow++;
		return;
	}
	t->batch[t->n_batch++] = e;
	if (t->n_batch == TRACE_BATCH_EVENTS || t->batch_stacks_bytes > BATCH_STACKS_BYTES)
		trace_batch_send(t);
}

void trace_held_send(struct trace *t, bool is_forced)
{
	const struct event *event;

	while (t->call && (is_forced || call_can_reply(t->call)) && (event = trace_held_next(&t->held, is_forced))) {
		event_send(t, event);
		trace_held_drop(&t->held);
	}
	if (!t->call)
		return;
	trace_batch_send(t);
	if (t->is_settling && !trace_held_count(&t->held))
		trace_held_over(t);
}

/* Without room for more that wait, the oldest go out as they are. */
static void event_add(struct trace *t, const struct event *event)
{
	struct event told = *event;

	if (!t->wants_stacks)
		told.stack = NULL;
	if (!trace_held_needs(&t->held, &told) &&
	    (call_can_reply(t->call) || trace_held_count(&t->held) >= TRACE_HELD_SLOW)) {
		event_send(t, &told);
		return;
	}
	while (trace_held_count(&t->held) >= TRACE_HELD_MAX) {
		event_send(t, trace_held_next(&t->held, true));
		trace_held_drop(&t->held);
	}
	if (trace_held_add(&t->held, &told) < 0)
		t->subscriber_slow++;
}

/*
 * A traced process may now belong to another user, by exec: a lease on its pid still covers it, so visibility is
 * checked for each event.
 */
static void trace_call(struct trace *t, const struct event *event)
{
	if (t->wants_events && trace_sees(t, event, /* start_boot_ns= */ 0))
		event_add(t, event);
}

static void life_count(Ingero__V1__Life *sums, const struct life_record *life)
{
	switch ((enum record_type)life->type) {
	case RECORD_EXEC:
		sums->execs++;
		break;
	case RECORD_FORK:
		sums->forks++;
		break;
	case RECORD_EXIT:
		sums->exits++;
		break;
	case RECORD_OOM:
		sums->oom_kills++;
		break;
	default: /* not shown */
		break;
	}
}

static void trace_host(struct trace *t, const struct event *event)
{
	if (!trace_sees(t, event, event->process->identity.start_boot_ns))
		return;
	life_count(&t->life, event->life);
	if (t->wants_events)
		event_add(t, event);
}

void trace_loss_send(struct trace *t)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Loss loss = INGERO__V1__LOSS__INIT;
	const struct scope scope = trace_scope(t);
	uint64_t slow = t->subscriber_slow - t->subscriber_slow_sent, forgotten = t->forgotten - t->forgotten_sent, sum;

	loss.lost = answer_lost(t->context, &arena, &scope, &t->lost_sent);
	if (!loss.lost)
		return;
	loss.lost->subscriber_slow = slow;
	loss.lost->forgotten = forgotten;
	sum = slow + forgotten + loss.lost->decode;
#define LOSS(reason, field, kind, one, many) sum += loss.lost->field;
#include "bpf/losses.def"
	if (!sum)
		return;
	loss.timestamp_unix_ns =
		clock_to_unix_ns(t->context->capture->source->ops->now_ns(t->context->capture->source));
	if (trace_reply(t, INGERO__V1__TRACE_REPLY__BODY_LOSS, &loss) < 0)
		return; /* reported next time */
	since_losses(t->context, call_identity(t->call), t->lost_sent.losses);
	t->lost_sent.refused += loss.lost->decode;
	t->subscriber_slow_sent = t->subscriber_slow;
	t->forgotten_sent = t->forgotten;
}

static void trace_finding(struct trace *t, const struct finding *finding)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	const struct process_identity *process = &finding->process;
	Ingero__V1__Finding *message;

	if (t->state != TRACE_RUNNING || !trace_covers(t, process->tgid, process->uid, process->start_boot_ns) ||
	    !access_may_see(call_identity(t->call), process->uid, process->flags & PROCESS_GUARDED))
		return;
	findings_note(&t->findings, finding);
	message = findings_message(t->context, call_identity(t->call), &arena, finding);
	if (message)
		(void)trace_reply(t, INGERO__V1__TRACE_REPLY__BODY_FINDING, message); /* the summary has it, too */
}

/* ---- as a sink ---- */

static void sink_event(const struct event *event, void *data)
{
	const struct trace_hub *hub = data;

	for (size_t i = 0; i < hub->traces.n; i++)
		if (event->life)
			trace_host(hub->traces.items[i], event);
		else
			trace_call(hub->traces.items[i], event);
}

/* A trace that was settling leaves the list with its last event. */
static void sink_stack(struct stack *stack, void *data)
{
	const struct trace_hub *hub = data;

	(void)stack;
	for (size_t i = hub->traces.n; i-- > 0;)
		if (i < hub->traces.n && hub->traces.items[i]->state == TRACE_RUNNING)
			trace_held_send(hub->traces.items[i], /* is_forced= */ false);
}

static void sink_drained(void *data)
{
	const struct trace_hub *hub = data;

	for (size_t i = 0; i < hub->traces.n; i++)
		if (hub->traces.items[i]->state == TRACE_RUNNING)
			trace_batch_send(hub->traces.items[i]);
}

/* In the order in which they were found; without room they wait for the next second. */
static void libraries_send(struct trace *t)
{
	size_t n = 0;

	while (n < t->libraries.n &&
	       trace_reply(t, INGERO__V1__TRACE_REPLY__BODY_LIBRARY, t->libraries.items[n]) != -ENOBUFS)
		n++;
	t->libraries.n -= n;
	if (t->libraries.n)
		memmove(t->libraries.items, t->libraries.items + n, t->libraries.n * sizeof(*t->libraries.items));
	else
		arena_done(&t->libraries_arena);
}

static void sink_second(void *data)
{
	const struct trace_hub *hub = data;

	for (size_t i = 0; i < hub->traces.n; i++) {
		if (hub->traces.items[i]->state == TRACE_RUNNING)
			libraries_send(hub->traces.items[i]);
		trace_second(hub->traces.items[i]);
	}
}

static void sink_finding(const struct finding *finding, void *data)
{
	const struct trace_hub *hub = data;

	for (size_t i = 0; i < hub->traces.n; i++)
		trace_finding(hub->traces.items[i], finding);
}

/* The calls of this process are missing in every later answer. */
static void sink_forget(const struct process_figures *process, void *data)
{
	const struct trace_hub *hub = data;

	for (size_t i = 0; i < hub->traces.n; i++) {
		struct trace *t = hub->traces.items[i];
		struct scope scope;

		if (t->state != TRACE_RUNNING && t->state != TRACE_FINISHING)
			continue;
		scope = trace_scope(t);
		if (!scope_sees_process(&scope, process))
			continue;
		t->forgotten += answer_untold_calls(&t->told, process, &t->since);
		if (t->has_seconds)
			seconds_forget(&t->seconds, process);
	}
}

struct sink trace_hub_sink(struct trace_hub *hub)
{
	static const struct sink_ops ops = { .event = sink_event,
					     .stack = sink_stack,
					     .drained = sink_drained,
					     .second = sink_second,
					     .finding = sink_finding,
					     .forget = sink_forget };

	return (struct sink){ &ops, hub };
}

/* ---- events outside of sinks ---- */

void trace_hub_library(struct trace_hub *hub, const struct target_library *library)
{
	for (size_t i = 0; i < hub->traces.n; i++) {
		struct trace *t = hub->traces.items[i];
		Ingero__V1__Library *l;

		if (t->state != TRACE_RUNNING || t->libraries.n == LIBRARIES_WAITING)
			continue; /* it will be in the start, or only in the summary */
		l = coverage_library(t->context, &t->libraries_arena, call_identity(t->call), library);
		if (l)
			(void)ARRAY_PUSH(&t->libraries, l);
		libraries_send(t);
	}
}

bool trace_hub_resume(struct trace_hub *hub, uint32_t tgid)
{
	bool is_asked = false;

	for (size_t i = 0; i < hub->traces.n; i++) {
		Ingero__V1__Resume resume = INGERO__V1__RESUME__INIT;
		struct trace *t = hub->traces.items[i];

		resume.pid = tgid;
		if (t->call && (t->state == TRACE_RUNNING || t->state == TRACE_FINISHING) && t->lease &&
		    lease_holds(t->lease, tgid))
			is_asked |= trace_reply(t, INGERO__V1__TRACE_REPLY__BODY_RESUME, &resume) == 0;
	}
	return is_asked;
}
