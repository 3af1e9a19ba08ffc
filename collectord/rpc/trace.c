// SPDX-License-Identifier: Apache-2.0
/*
 * The one handler of the service Trace: a lease that lasts as long as its stream.
 *
 * A call goes through: asked → looking (libraries of its processes are being found)
 * → running → finishing (the summary waits for room) → over.
 */
#include "rpc/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/array.h"
#include "clock.h"
#include "events/call_id.h"
#include "events/op.h"
#include "events/source.h"
#include "figures/figures.h"
#include "ingero/v1/ingero.pb-c.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "procs/process_list.h"
#include "procs/procfs.h"
#include "rpc/access.h"
#include "rpc/answer.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/findings.h"
#include "rpc/handlers.h"
#include "rpc/server.h"
#include "store/store.h"

/* Records beside slow ones, unless asked otherwise: one call in this many. */
#define SAMPLE_EVERY_DEFAULT 64
/* Events of one message: at about 250 bytes each a quarter of the cap. */
#define BATCH_EVENTS 1000

enum trace_state { TRACE_LOOKING, TRACE_RUNNING, TRACE_FINISHING, TRACE_OVER };

struct trace {
	struct rpc_context *context;
	struct call *call; /* NULL once over */
	struct lease *lease;
	struct answer_since since;
	enum trace_state state;
	bool wants_events;
	bool has_timers;
	uint64_t figures_period_ms;
	uint64_t duration_ms;
	size_t n_looking;	       /* processes whose libraries are being found */
	size_t n_pieces_sent;	       /* of the summary */
	uint64_t subscriber_slow;      /* events that found no room */
	struct answer_since lost_sent; /* losses as last sent */
	struct findings_seen findings;
	uint64_t subscriber_slow_sent;
	struct arena batch_arena;
	Ingero__V1__Event **batch; /* BATCH_EVENTS */
	size_t n_batch;
	uv_timer_t figures_timer;
	uv_timer_t duration_timer;
	int n_references; /* list, open timers, scans under way */
};

struct trace_hub {
	ARRAY(struct trace *) traces;
};

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
	ARRAY_DONE(&hub->traces);
	free(hub);
}

static void trace_release(struct trace *t)
{
	if (--t->n_references)
		return;
	answer_since_done(&t->since);
	findings_done(&t->findings);
	arena_done(&t->batch_arena);
	free(t->batch);
	free(t);
}

static void timer_closed(uv_handle_t *timer)
{
	trace_release(timer->data);
}

/* The lease ends here, whatever the reason; the call itself was ended or is being ended by the caller. */
static void trace_over(struct trace *t)
{
	struct trace_hub *hub = t->context->traces;

	t->state = TRACE_OVER;
	t->call = NULL;
	if (t->lease)
		lease_remove(t->context->leases, t->lease);
	t->lease = NULL;
	for (size_t i = 0; i < hub->traces.n; i++)
		if (hub->traces.items[i] == t)
			ARRAY_REMOVE_SWAP(&hub->traces, i);
	if (t->has_timers) {
		uv_close((uv_handle_t *)&t->figures_timer, timer_closed);
		uv_close((uv_handle_t *)&t->duration_timer, timer_closed);
	}
	trace_release(t);
}

static void trace_fail(struct trace *t, enum call_error code, const char *text)
{
	struct call *call = t->call;

	trace_over(t);
	call_fail(call, code, "%s", text);
}

static struct answer_scope trace_scope(const struct trace *t)
{
	return (struct answer_scope){ .identity = call_identity(t->call), .lease = t->lease };
}

static int reply(struct trace *t, Ingero__V1__TraceReply__BodyCase which, void *body)
{
	Ingero__V1__TraceReply message = INGERO__V1__TRACE_REPLY__INIT;

	message.body_case = which;
	message.start = body; /* all members of the union are pointers to messages */
	return call_reply(t->call, &message.base);
}

/* ---- events ---- */

static const char *const reason_names[] = { "slow", "error", "sync", "alloc", "sample", "all" };

static Ingero__V1__Event *event_new(struct trace *t, const struct call_record *c)
{
	struct arena *arena = &t->batch_arena;
	Ingero__V1__Event *e = ARENA_NEW(arena, Ingero__V1__Event);
	const struct op *op = op_get(c->op);
	char id_text[CALL_ID_BYTES] = "";

	if (!e)
		return NULL;
	ingero__v1__event__init(e);
	e->timestamp_unix_ns = clock_to_unix_ns(c->start_ns);
	e->pid = c->tgid;
	e->tid = c->tid;
	e->process_name = arena_copy_text(arena, c->comm);
	e->source = (char *)op_layer_to_source(op->layer);
	e->op = (char *)op->name;
	e->duration_ns = c->duration_ns;
	e->duration_raw_ns = c->raw_ns;
	e->ret_code = c->ret;
	e->uid = c->uid;
	e->depth = c->depth;

	if (t->context->store) {
		struct call_id id = { .boot = store_boot(t->context->store), .tid = c->tid, .start_ns = c->start_ns };

		call_id_format(&id, id_text);
	}
	e->id = arena_copy_text(arena, id_text);
	e->args = ARENA_NEW_N(arena, uint64_t, 2);
	e->reasons = ARENA_NEW_N(arena, char *, ARRAY_SIZE(reason_names));
	if (!e->process_name || !e->id || !e->args || !e->reasons)
		return NULL;
	for (size_t i = 0; i < 2 && op->meaning[i] != OP_MEANING_NONE; i++)
		e->args[e->n_args++] = c->args[i];
	for (size_t i = 0; i < ARRAY_SIZE(reason_names); i++)
		if (c->reason & 1u << i)
			e->reasons[e->n_reasons++] = (char *)reason_names[i];

	e->blame_ns = answer_blame(t->context, arena, c->blame_ns, c->raw_ns);
	return e->blame_ns ? e : NULL;
}

static void batch_send(struct trace *t)
{
	Ingero__V1__EventBatch batch = INGERO__V1__EVENT_BATCH__INIT;

	if (!t->n_batch)
		return;
	batch.events = t->batch;
	batch.n_events = t->n_batch;
	if (reply(t, INGERO__V1__TRACE_REPLY__BODY_EVENTS, &batch) < 0)
		t->subscriber_slow += t->n_batch;
	t->n_batch = 0;
	arena_done(&t->batch_arena);
}

/* Under a source that has its processes already there is no lease. */
static bool trace_covers(const struct trace *t, uint32_t tgid, uint32_t uid, uint64_t start_boot_ns)
{
	return !t->lease || lease_covers(t->lease, tgid, uid, start_boot_ns);
}

/* A traced process may have become another user's program by exec: a lease on its pid follows it there. */
static bool has_mixed_ids(const struct trace *t, const struct call_record *c)
{
	struct source *source = t->context->source;
	const struct process_slot *slot = &source->ops->slots(source)[c->slot % PROCESS_SLOTS];

	return slot->tgid == c->tgid && slot->exec_gen == c->exec_gen && slot->flags & PROCESS_MIXED_IDS;
}

static void trace_call(struct trace *t, const struct call_record *c)
{
	struct answer_scope scope;
	Ingero__V1__Event *e;

	if (!t->wants_events || t->state != TRACE_RUNNING)
		return;
	scope = trace_scope(t);
	if (!trace_covers(t, c->tgid, c->uid, /* start_boot_ns= */ 0) ||
	    !answer_sees(&scope, c->tgid, c->uid, has_mixed_ids(t, c)))
		return;
	if (!call_can_reply(t->call)) {
		t->subscriber_slow++;
		return;
	}
	e = event_new(t, c);
	if (!e) {
		t->subscriber_slow++;
		return;
	}
	t->batch[t->n_batch++] = e;
	if (t->n_batch == BATCH_EVENTS)
		batch_send(t);
}

/* ---- losses, libraries, figures ---- */

static void loss_send(struct trace *t)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Loss loss = INGERO__V1__LOSS__INIT;
	uint64_t slow = t->subscriber_slow - t->subscriber_slow_sent, sum;

	loss.lost = answer_lost(t->context, &arena, &t->lost_sent);
	if (!loss.lost)
		return;
	loss.lost->subscriber_slow = slow;
	sum = loss.lost->ring_full + loss.lost->life_full + loss.lost->thread_state + loss.lost->process_slots +
	      loss.lost->cells + loss.lost->depth + loss.lost->switch_unseen + loss.lost->return_unpaired + slow +
	      loss.lost->decode;
	if (!sum)
		return;
	loss.timestamp_unix_ns = clock_to_unix_ns(t->context->source->ops->now_ns(t->context->source));
	if (reply(t, INGERO__V1__TRACE_REPLY__BODY_LOSS, &loss) < 0)
		return; /* said next time */
	t->context->source->ops->losses(t->context->source, t->lost_sent.losses);
	t->lost_sent.refused += loss.lost->decode;
	t->subscriber_slow_sent = t->subscriber_slow;
}

static int figures_piece(Ingero__V1__Summary *piece, void *data)
{
	return reply(data, INGERO__V1__TRACE_REPLY__BODY_FIGURES, piece);
}

static void figures_fired(uv_timer_t *timer)
{
	struct trace *t = timer->data;
	struct answer_scope scope;

	if (t->state != TRACE_RUNNING)
		return;
	t->context->refresh(t->context);
	loss_send(t);
	if (!call_can_reply(t->call))
		return; /* a live table that lags is not shown late */
	scope = trace_scope(t);
	(void)answer_summary(t->context, &scope, &t->since, t->subscriber_slow, NULL, figures_piece, t);
}

void trace_hub_library(struct trace_hub *hub, const struct target_library *library)
{
	for (size_t i = 0; i < hub->traces.n; i++) {
		CLEANUP(arena_done) struct arena arena = ARENA_INIT;
		struct trace *t = hub->traces.items[i];
		Ingero__V1__Library *l;

		if (t->state != TRACE_RUNNING)
			continue; /* it will be in the start */
		l = answer_library(t->context, &arena, call_identity(t->call), library);
		if (l)
			(void)reply(t, INGERO__V1__TRACE_REPLY__BODY_LIBRARY, l); /* also in the summary */
	}
}

static void trace_finding(struct trace *t, const struct finding *finding)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	const struct process_identity *process = &finding->process;
	Ingero__V1__Finding *message;

	if (t->state != TRACE_RUNNING || !trace_covers(t, process->tgid, process->uid, process->start_boot_ns) ||
	    !access_may_see(call_identity(t->call), process->uid, process->flags & PROCESS_MIXED_IDS))
		return;
	findings_note(&t->findings, finding);
	message = findings_message(t->context, call_identity(t->call), &arena, finding);
	if (message)
		(void)reply(t, INGERO__V1__TRACE_REPLY__BODY_FINDING, message); /* also in the summary */
}

void trace_hub_finding(struct trace_hub *hub, const struct finding *finding)
{
	for (size_t i = 0; i < hub->traces.n; i++)
		trace_finding(hub->traces.items[i], finding);
}

bool trace_hub_resume(struct trace_hub *hub, uint32_t tgid)
{
	bool is_asked = false;

	for (size_t i = 0; i < hub->traces.n; i++) {
		Ingero__V1__Resume resume = INGERO__V1__RESUME__INIT;
		struct trace *t = hub->traces.items[i];

		resume.pid = tgid;
		if (t->state == TRACE_RUNNING && t->lease && lease_holds(t->lease, tgid))
			is_asked |= reply(t, INGERO__V1__TRACE_REPLY__BODY_RESUME, &resume) == 0;
	}
	return is_asked;
}

/* ---- the end ---- */

struct summary_walk {
	struct trace *trace;
	size_t at;
};

static int summary_piece(Ingero__V1__Summary *piece, void *data)
{
	struct summary_walk *walk = data;
	int r;

	if (walk->at++ < walk->trace->n_pieces_sent)
		return 0;
	r = reply(walk->trace, INGERO__V1__TRACE_REPLY__BODY_SUMMARY, piece);
	if (r == 0)
		walk->trace->n_pieces_sent++;
	return r;
}

static void summary_send(struct trace *t)
{
	struct summary_walk walk = { .trace = t };
	struct answer_scope scope = trace_scope(t);
	struct call *call = t->call;
	int r = answer_summary(t->context, &scope, &t->since, t->subscriber_slow, &t->findings, summary_piece, &walk);

	if (r == -ENOBUFS)
		return; /* the rest when the client has read some */
	trace_over(t);
	if (r < 0)
		call_fail(call, CALL_ERROR_INTERNAL, "the summary could not be built (%s)", strerror(-r));
	else
		call_end(call);
}

static void trace_finish(struct trace *t)
{
	if (t->state == TRACE_FINISHING || t->state == TRACE_OVER)
		return;
	t->context->settle(t->context); /* its findings reach up to now */
	batch_send(t);
	loss_send(t);
	t->state = TRACE_FINISHING;
	summary_send(t);
}

static void duration_fired(uv_timer_t *timer)
{
	trace_finish(timer->data);
}

static void call_stopped(struct call *call, void *data)
{
	(void)call;
	trace_finish(data);
}

static void call_closed(struct call *call, void *data)
{
	(void)call;
	trace_over(data);
}

static void call_drained(struct call *call, void *data)
{
	struct trace *t = data;

	(void)call;
	if (t->state == TRACE_FINISHING)
		summary_send(t);
}

/* ---- the start ---- */

static int start_send(struct trace *t)
{
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	static const struct {
		enum blame_class class;
		const char *name;
	} classes[] = {
		{ BLAME_RUNNABLE, "runnable" }, { BLAME_QUOTA, "quota" },	{ BLAME_DEVICE, "device" },
		{ BLAME_LOCK, "lock" },		{ BLAME_BLOCK_IO, "block_io" }, { BLAME_MEMORY, "memory" },
		{ BLAME_NETWORK, "network" },	{ BLAME_SLEEP, "sleep" },	{ BLAME_OTHER, "other" },
	};
	char *missing[ARRAY_SIZE(classes)];
	Ingero__V1__Start start = INGERO__V1__START__INIT;
	struct rpc_context *context = t->context;
	struct utsname names = { .release = "" };
	int r;

	(void)uname(&names);
	start.timestamp_unix_ns = clock_to_unix_ns(context->source->ops->now_ns(context->source));
	start.version = (char *)INGERO_VERSION;
	start.kernel = names.release;
	start.back_end = (char *)context->source->ops->name(context->source);
	start.back_end_reason = (char *)context->probes_reason;
	start.not_measured = missing;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!context->source->ops->measures(context->source, classes[i].class))
			missing[start.n_not_measured++] = (char *)classes[i].name;

	r = answer_libraries(context, &arena, call_identity(t->call), &start.libraries, &start.n_libraries);
	if (r == 0)
		r = answer_families(context, &arena, &start.families, &start.n_families);
	start.store = answer_store(context, &arena);
	if (!start.store)
		r = -ENOMEM;
	return r < 0 ? r : reply(t, INGERO__V1__TRACE_REPLY__BODY_START, &start);
}

static void looking_done(struct trace *t)
{
	if (t->state != TRACE_LOOKING || t->n_looking)
		return;
	if (start_send(t) < 0) {
		trace_fail(t, CALL_ERROR_INTERNAL, "the start could not be sent");
		return;
	}
	t->state = TRACE_RUNNING;
	if (t->figures_period_ms)
		(void)uv_timer_start(&t->figures_timer, figures_fired, t->figures_period_ms, t->figures_period_ms);
	if (t->duration_ms)
		(void)uv_timer_start(&t->duration_timer, duration_fired, t->duration_ms, 0);
}

static void scan_done(uint32_t tgid, void *data)
{
	struct trace *t = data;

	(void)tgid;
	t->n_looking--;
	looking_done(t);
	trace_release(t);
}

static void scan(struct trace *t, uint32_t tgid)
{
	t->n_looking++;
	t->n_references++;
	(void)target_set_scan(t->context->targets, tgid, 0, scan_done, t); /* done is called in any case */
}

/* Descendants that were there before the lease; later ones the kernel half follows. */
static int descendants_follow(struct trace *t, const process_list *list)
{
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < list->n; i++) {
			const struct listed_process *p = &list->items[i];
			int r;

			if (lease_covers(t->lease, p->pid, UINT32_MAX, 0) ||
			    !lease_covers(t->lease, p->ppid, UINT32_MAX, 0))
				continue;
			r = lease_follow(t->context->leases, t->lease, p->pid);
			if (r < 0)
				return r;
			found = true;
		}
	}
	return 0;
}

static int processes_look(struct trace *t)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	process_list list = { .items = NULL };
	int r;

	if (!t->lease)
		return 0; /* a source that has its processes already */
	r = proc_fd < 0 ? -errno : process_list_read(proc_fd, &list);
	if (r == 0)
		r = descendants_follow(t, &list);
	for (size_t i = 0; r == 0 && i < list.n; i++)
		if (lease_covers(t->lease, list.items[i].pid, list.items[i].uid, 0))
			scan(t, list.items[i].pid);
	ARRAY_DONE(&list);
	return r;
}

/* Return: whether the request may be granted; if not it was refused with a sentence. */
static bool request_check(struct call *call, const Ingero__V1__TraceRequest *request)
{
	const struct call_identity *identity = call_identity(call);
	const struct rpc_context *context = call_context(call);
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (strcmp(request->record, "") != 0 && strcmp(request->record, "slow") != 0 &&
	    strcmp(request->record, "all") != 0 && strcmp(request->record, "none") != 0) {
		call_fail(call, CALL_ERROR_INVALID, "record: '%s' is none of slow, all, none", request->record);
		return false;
	}
	if (request->ringbuf_bytes && request->ringbuf_bytes != context->ring_bytes) {
		if (!identity->is_admin)
			call_fail(call, CALL_ERROR_NOT_ALLOWED,
				  "only root and members of ingero-admin may change the ring's size");
		else
			call_fail(call, CALL_ERROR_UNAVAILABLE,
				  "the ring has %" PRIu64
				  " bytes as long as this daemon runs: start it with '--ringbuf-size'",
				  context->ring_bytes);
		return false;
	}
	if (request->all && !identity->can_read_all) {
		call_fail(call, CALL_ERROR_NOT_ALLOWED,
			  "only root and members of ingero-read may trace everybody's processes");
		return false;
	}
	for (size_t i = 0; i < request->n_uids; i++)
		if (!access_may_see(identity, request->uids[i], false)) {
			call_fail(call, CALL_ERROR_NOT_ALLOWED,
				  "only root and members of ingero-read may trace another user's processes");
			return false;
		}
	for (size_t i = 0; i < request->n_pids; i++) {
		CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, request->pids[i]);
		struct procfs_status status;

		if (process_fd < 0 || procfs_status_read(process_fd, &status) < 0 ||
		    !access_may_see(identity, status.uids[0],
				    status.uids[0] != status.uids[1] || status.uids[0] != status.uids[2])) {
			call_fail(call, CALL_ERROR_NOT_FOUND, "no process %u of yours", request->pids[i]);
			return false;
		}
	}
	return true;
}

/* Beside the kernel half nobody captures for a lease: whoever may see the source's processes sees them. */
static int lease_take(struct trace *t, const Ingero__V1__TraceRequest *request, uint32_t own_uid)
{
	struct source *source = t->context->source;
	bool default_scope = !request->all && !request->n_pids && !request->n_uids;
	struct lease_wish wish = {
		.pids = request->pids,
		.n_pids = request->n_pids,
		.uids = default_scope ? &own_uid : request->uids,
		.n_uids = default_scope ? 1 : request->n_uids,
		.all = request->all,
		.hold = request->hold,
		.recording = {
			/* Also where none are streamed: they are kept, and detectors show some of them. */
			.is_on = strcmp(request->record, "none") != 0,
			.all = strcmp(request->record, "all") == 0,
			.sample_every = request->sample_every ? request->sample_every : SAMPLE_EVERY_DEFAULT,
		},
	};

	if (t->context->leases)
		return lease_add(t->context->leases, &wish, &t->lease);
	source->ops->record(source, wish.recording.is_on, wish.recording.all, wish.recording.sample_every);
	return 0;
}

static int trace_start(struct trace *t, const Ingero__V1__TraceRequest *request)
{
	int r;

	t->wants_events = request->events;
	t->figures_period_ms = request->figures_period_ns / NSEC_PER_MSEC;
	t->duration_ms = request->duration_ns / NSEC_PER_MSEC;
	t->batch = calloc(BATCH_EVENTS, sizeof(t->batch[0]));
	if (!t->batch)
		return -ENOMEM;

	t->context->refresh(t->context);
	r = answer_since_take(t->context, &t->since);
	if (r < 0)
		return r;
	memcpy(t->lost_sent.losses, t->since.losses, sizeof(t->since.losses));
	t->lost_sent.refused = t->since.refused;
	r = lease_take(t, request, call_identity(t->call)->uid);
	if (r < 0)
		return r;
	return ARRAY_PUSH(&t->context->traces->traces, t);
}

void rpc_trace_trace(Ingero__V1__Trace_Service *service, const Ingero__V1__TraceRequest *request,
		     Ingero__V1__TraceReply_Closure closure, void *closure_data)
{
	struct call *call = closure_data;
	struct rpc_context *context = call_context(call);
	struct trace *t;
	int r;

	(void)service;
	(void)closure;
	if (!context->source) {
		call_fail(call, CALL_ERROR_UNAVAILABLE, "cannot capture: %s", context->probes_reason);
		return;
	}
	if (!request_check(call, request))
		return;

	t = calloc(1, sizeof(*t));
	if (!t) {
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
		return;
	}
	t->context = context;
	t->call = call;
	t->n_references = 1;
	r = trace_start(t, request);
	if (r < 0) {
		trace_over(t);
		call_fail(call, CALL_ERROR_INTERNAL, "the lease could not be taken (%s)", strerror(-r));
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

	t->n_looking = 1; /* until all were asked for */
	r = processes_look(t);
	t->n_looking--;
	if (r < 0) {
		trace_fail(t, CALL_ERROR_INTERNAL, "the processes could not be listed");
		return;
	}
	looking_done(t);
}

void trace_hub_call(struct trace_hub *hub, const struct call_record *call)
{
	for (size_t i = 0; i < hub->traces.n; i++)
		trace_call(hub->traces.items[i], call);
}

void trace_hub_drained(struct trace_hub *hub)
{
	for (size_t i = 0; i < hub->traces.n; i++)
		if (hub->traces.items[i]->state == TRACE_RUNNING)
			batch_send(hub->traces.items[i]);
}

void trace_hub_finish(struct trace_hub *hub)
{
	/* Each one that ends leaves the list, possibly at once. */
	for (size_t i = hub->traces.n; i-- > 0;)
		if (i < hub->traces.n)
			trace_finish(hub->traces.items[i]);
}
