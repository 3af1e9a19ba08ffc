// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <uv.h>

#include "base/array.h"
#include "base/log.h"
#include "children/child.h"
#include "clock.h"
#include "events/kernel.h"
#include "events/source.h"
#include "pipeline.h"
#include "privilege.h"
#include "probes/lease.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "rpc/context.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/server.h"
#include "rpc/trace.h"
#include "store/store.h"

/* Answers that come close together are of the same moment: no more ticks and commits than this, nanoseconds apart. */
#define SETTLE_NS 200000000ull
/* What becomes a record beside slow calls, when everybody is captured: one call in this many of each thread. */
#define POLICY_SAMPLE_EVERY 64
/* Every demo is the same each time. */
#define DEMO_SEED 1

/* A process that the kernel half stopped until its libraries are attached. */
struct held_process {
	uint32_t tgid;
	uint32_t n; /* scans that must end before it goes on */
};

struct daemon {
	uv_loop_t loop;
	uv_signal_t signals[2];
	bool is_private;
	bool is_stopping;
	struct source *source;	  /* NULL where nothing can be captured */
	struct probe_set *probes; /* of the kernel half; NULL for a demo */
	char probes_reason[512];
	struct child *parser;
	uint32_t parser_pid; /* as last told to the kernel half */
	struct target_set *targets;
	struct lease_set *leases;
	struct lease *policy; /* the daemon's own; NULL: only what callers ask for is captured */
	struct store *store;  /* NULL: nothing is kept */
	char store_problem[512];
	struct pipeline *pipeline; /* NULL without a source */
	uint64_t settled_ns;
	struct trace_hub *traces;
	struct read_hub *reads;
	struct server *server;
	struct rpc_context context;
	ARRAY(struct held_process) held;
};

/* ---- figures ---- */

/* The parser comes and goes; whichever runs is never traced and never named. */
static void parser_note(struct daemon *d)
{
	uint32_t pid = d->parser ? child_pid(d->parser) : 0;

	if (pid == d->parser_pid)
		return;
	if (d->parser_pid)
		(void)probe_set_tracer_remove(d->probes, d->parser_pid);
	if (pid)
		(void)probe_set_tracer_add(d->probes, pid);
	d->parser_pid = pid;
}

/* A demo is watched as long as it plays. */
static bool is_watched(const struct daemon *d)
{
	return !d->leases || lease_set_count(d->leases) > 0;
}

static void source_second(void *data)
{
	struct daemon *d = data;

	pipeline_tick(d->pipeline, is_watched(d));
	parser_note(d);
}

static void context_refresh(struct rpc_context *context)
{
	struct daemon *d = context->owner;

	if (d->pipeline)
		pipeline_collect(d->pipeline);
	parser_note(d);
}

static void context_settle(struct rpc_context *context)
{
	struct daemon *d = context->owner;
	uint64_t now_ns = clock_now_ns();

	if (!d->pipeline || now_ns - d->settled_ns < SETTLE_NS)
		return;
	source_second(d);
	if (d->store)
		(void)store_flush(d->store); /* what failed is in its state */
	d->settled_ns = now_ns;
}

static void finding_changed(const struct finding *finding, enum engine_change change, void *data)
{
	struct daemon *d = data;

	(void)change;
	trace_hub_finding(d->traces, finding);
}

/* ---- records ---- */

static void source_call(const struct call_record *call, void *data)
{
	struct daemon *d = data;

	pipeline_call(d->pipeline, call);
	trace_hub_call(d->traces, call);
}

static void source_drained(void *data)
{
	struct daemon *d = data;

	trace_hub_drained(d->traces);
}

static struct held_process *held_find(struct daemon *d, uint32_t tgid)
{
	for (size_t i = 0; i < d->held.n; i++)
		if (d->held.items[i].tgid == tgid)
			return &d->held.items[i];
	return NULL;
}

static void held_continue(struct daemon *d, uint32_t tgid)
{
	struct held_process *held = held_find(d, tgid);

	if (!held || --held->n)
		return;
	ARRAY_REMOVE_SWAP(&d->held, (size_t)(held - d->held.items));
	/* The service has no right to signal; whoever started the program has. */
	if (kill((pid_t)tgid, SIGCONT) < 0 && errno != ESRCH && !trace_hub_resume(d->traces, tgid))
		(void)log_err(-errno, "cannot let process %u go on, continue it with 'kill -CONT %u'", tgid, tgid);
}

static void held_scanned(uint32_t tgid, void *data)
{
	held_continue(data, tgid);
}

static void library_look(struct daemon *d, const struct life_record *life)
{
	struct held_process fresh = { .tgid = life->tgid };
	struct held_process *held;

	if (!life->is_held) {
		(void)target_set_scan(d->targets, life->tgid, life->library_base, NULL, NULL);
		return;
	}
	held = held_find(d, life->tgid);
	if (!held && ARRAY_PUSH(&d->held, fresh) == 0)
		held = &d->held.items[d->held.n - 1];
	if (!held) {
		(void)kill((pid_t)life->tgid, SIGCONT); /* without memory it goes on untraced */
		return;
	}
	held->n++;
	(void)target_set_scan(d->targets, life->tgid, life->library_base, held_scanned, d);
}

/* Nobody has to be told to stop watching a demo: when its process ends, so does every Trace call. */
static void demo_life(struct daemon *d, const struct life_record *life)
{
	if (life->type != RECORD_EXIT)
		return;
	pipeline_finish(d->pipeline);
	trace_hub_finish(d->traces);
}

static void source_life(const struct life_record *life, void *data)
{
	struct daemon *d = data;

	if (!d->probes) {
		demo_life(d, life);
		return;
	}

	switch ((enum record_type)life->type) {
	case RECORD_FORK:
		lease_set_fork(d->leases, life->tgid, life->child);
		return;
	case RECORD_EXIT:
		lease_set_exit(d->leases, life->tgid, life->start_boot_ns);
		return;
	case RECORD_EXEC: /* perhaps with a loader not seen before */
		(void)target_set_scan(d->targets, life->tgid, 0, NULL, NULL);
		return;
	case RECORD_LIBRARY:
		library_look(d, life);
		return;
	case RECORD_CALL:
		return;
	}
}

static void library_found(const struct target_library *library, void *data)
{
	struct daemon *d = data;

	trace_hub_library(d->traces, library);
}

static const struct source_sinks source_sinks = {
	.ring = { .on_call = source_call, .on_life = source_life, .on_drained = source_drained },
	.on_second = source_second,
};

/* ---- clients ---- */

static void daemon_stop(struct daemon *d);

static void peer_open(uint32_t pid, void *data)
{
	struct rpc_context *context = data;

	if (context->probes)
		(void)probe_set_tracer_add(context->probes, pid);
}

static void peer_close(uint32_t pid, void *data)
{
	struct rpc_context *context = data;

	if (context->probes)
		(void)probe_set_tracer_remove(context->probes, pid);
}

static void peers_gone(void *data)
{
	struct rpc_context *context = data;
	struct daemon *d = context->owner;

	if (d->is_private)
		daemon_stop(d);
}

static void signal_fired(uv_signal_t *signal, int number)
{
	(void)number;
	daemon_stop(signal->data);
}

/* ---- starting and stopping ---- */

static int loop_start(struct daemon *d)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	int r = uv_loop_init(&d->loop);

	if (r < 0)
		return log_err(r, "cannot make a loop");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		(void)uv_signal_init(&d->loop, &d->signals[i]);
		d->signals[i].data = d;
		(void)uv_signal_start(&d->signals[i], signal_fired, numbers[i]);
	}
	return 0;
}

static uint64_t ring_bytes(const struct daemon_options *options)
{
	return options->ring_bytes ? options->ring_bytes : PROBE_RING_BYTES;
}

static uint64_t store_now_ns(void *data)
{
	const struct source *source = data;

	return source->ops->now_ns(source);
}

static uint64_t store_unix_ns(uint64_t monotonic_ns, void *data)
{
	(void)data;
	return clock_to_unix_ns(monotonic_ns);
}

/* Whatever is wrong with the file, capture and the live view go on, and say so. */
static void keep_start(struct daemon *d, const struct daemon_options *options, const char *back_end)
{
	struct store_options store = options->db;
	struct store_clock clock = { store_now_ns, store_unix_ns, d->source };
	struct utsname names = { .release = "" };
	int r;

	if (!store.path)
		return;
	(void)uname(&names);
	store.kernel = names.release;
	store.back_end = back_end;
	if (d->source)
		store.clock = &clock;
	r = store_open(&store, d->store_problem, sizeof(d->store_problem), &d->store);
	if (r < 0)
		d->store = NULL;
	if (d->store_problem[0] && !d->is_private) /* a private one's client says it */
		(void)log_warning(r, "%s", d->store_problem);
}

static int pipeline_start(struct daemon *d)
{
	struct pipeline_options options = {
		.source = d->source, .store = d->store, .on_finding = finding_changed, .data = d
	};

	return pipeline_new(&options, &d->pipeline);
}

static int policy_start(struct daemon *d, const struct daemon_options *options)
{
	struct lease_wish wish = {
		.all = true,
		.recording = { .is_on = !options->record_none,
			       .all = options->record_all,
			       .sample_every = POLICY_SAMPLE_EVERY },
	};

	return options->captures_everyone ? lease_add(d->leases, &wish, &d->policy) : 0;
}

/*
 * Everything that needs the kernel half. Where it cannot be had the daemon serves all
 * the same and says why: a service that died here would only be started again.
 */
static int capture_start(struct daemon *d, const struct daemon_options *options)
{
	struct probe_set_options probes = { .back_end = options->back_end, .ring_bytes = options->ring_bytes };
	struct privilege_need need = { .late_perf = false };
	int r;

	r = probe_set_open(&probes, d->probes_reason, sizeof(d->probes_reason), &d->probes);
	if (r < 0) {
		(void)log_warning(r, "%s; serving without capture", d->probes_reason);
		d->probes = NULL;
		return 0;
	}
	(void)probe_set_tracer_add(d->probes, (uint32_t)getpid());
	/* Its thread takes the identity of the file's owner, for which it needs what is given up next. */
	keep_start(d, options, probe_back_end_to_string(probe_set_back_end(d->probes)));
	need.late_perf = probe_set_back_end(d->probes) == PROBE_BACK_END_PERF;
	need.continues = d->is_private;
	r = privilege_seal(&need);
	if (r < 0)
		return log_err(r, "cannot give up privilege");

	r = lease_set_new(d->probes, &d->leases);
	if (r == 0)
		r = child_open(&d->loop, "parser", &d->parser);
	if (r == 0)
		r = target_set_open(&d->loop, d->parser, d->probes, library_found, d, &d->targets);
	if (r == 0)
		r = kernel_open(&d->loop, d->probes, ring_bytes(options), &source_sinks, d, &d->source);
	if (r == 0)
		r = pipeline_start(d);
	if (r == 0)
		r = policy_start(d, options);
	if (r < 0)
		return log_err(r, "cannot start to capture");

	r = target_set_scan_loader(d->targets);
	if (r < 0)
		(void)log_warning(r, "cannot watch the program loader, libraries loaded later are found late");
	return 0;
}

/* A demo needs neither the kernel half nor any privilege. */
static int demo_start(struct daemon *d, const struct daemon_options *options)
{
	struct privilege_need need = { .nothing = true };
	int r = demo_open(&d->loop, options->demo, options->demo_speed, DEMO_SEED, &source_sinks, d, &d->source);

	if (r < 0)
		return log_err(r, "cannot play '%s'", options->demo);
	keep_start(d, options, d->source->ops->name(d->source));
	r = privilege_seal(&need);
	if (r < 0)
		return log_err(r, "cannot give up privilege");
	r = pipeline_start(d);
	return r < 0 ? log_err(r, "cannot play '%s'", options->demo) : 0;
}

/* Answers from a file that was recorded before: no source, and nothing that needs privilege. */
static int read_start(struct daemon *d, const struct daemon_options *options)
{
	struct privilege_need need = { .nothing = true };
	int r = privilege_seal(&need);

	if (r < 0)
		return log_err(r, "cannot give up privilege");
	(void)snprintf(d->probes_reason, sizeof(d->probes_reason), "this daemon only reads '%s'", options->read_path);
	return 0;
}

static int serve_start(struct daemon *d, const struct daemon_options *options)
{
	static Ingero__V1__Query_Service query = INGERO__V1__QUERY__INIT(rpc_query_);
	static Ingero__V1__Trace_Service trace = INGERO__V1__TRACE__INIT(rpc_trace_);
	ProtobufCService *const services[] = { &query.base, &trace.base };
	struct server_events events = { .on_peer_open = peer_open, .on_peer_close = peer_close, .on_idle = peers_gone };
	int r;

	d->context = (struct rpc_context){
		.loop = &d->loop,
		.source = d->source,
		.source_started_ns = d->source ? d->source->ops->now_ns(d->source) : 0,
		.probes = d->probes,
		.probes_reason = d->probes_reason,
		.targets = d->targets,
		.leases = d->leases,
		.figures = d->pipeline ? pipeline_figures(d->pipeline) : NULL,
		.traces = d->traces,
		.started_ns = clock_now_ns(),
		.ring_bytes = ring_bytes(options),
		.store = d->store,
		.store_problem = d->store_problem,
		.store_path = options->read_path ? options->read_path
			      : d->store	 ? options->db.path
						 : NULL,
		.reads = d->reads,
		.is_private = d->is_private,
		.refresh = context_refresh,
		.settle = context_settle,
		.owner = d,
	};
	r = server_open(&d->loop, services, ARRAY_SIZE(services), &events, &d->context, &d->server);
	if (r < 0)
		return log_err(r, "cannot serve");
	if (options->private_fd >= 0) {
		r = server_adopt(d->server, options->private_fd);
		return r < 0 ? log_err(r, "cannot serve the socket given") : 0;
	}
	r = server_listen(d->server, options->socket_path);
	return r < 0 ? log_err(r, "cannot listen on '%s'", options->socket_path) : 0;
}

/* No new peers and summaries out first; what the loop holds goes in its last turns. */
static void daemon_stop(struct daemon *d)
{
	if (d->is_stopping)
		return;
	d->is_stopping = true;

	if (d->traces)
		trace_hub_finish(d->traces);
	server_close(d->server);
	d->server = NULL;
	/* What the source still has goes to all that is open: it ends before any of that. */
	if (d->pipeline)
		pipeline_finish(d->pipeline);
	while (d->held.n) {
		d->held.items[0].n = 1;
		held_continue(d, d->held.items[0].tgid);
	}
	store_close(d->store); /* asks the source for the time */
	d->store = NULL;
	if (d->source)
		d->source->ops->close(d->source);
	d->source = NULL;
	target_set_close(d->targets);
	d->targets = NULL;
	child_close(d->parser);
	d->parser = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(d->signals); i++)
		uv_close((uv_handle_t *)&d->signals[i], NULL);
}

static void daemon_done(struct daemon *d)
{
	daemon_stop(d);
	(void)uv_run(&d->loop, UV_RUN_DEFAULT); /* until every handle is closed */
	if (uv_loop_close(&d->loop) < 0)
		(void)log_err(0, "something still holds the loop");
	trace_hub_free(d->traces);
	read_hub_free(d->reads);
	pipeline_free(d->pipeline);
	lease_remove(d->leases, d->policy);
	lease_set_free(d->leases);
	probe_set_close(d->probes);
	ARRAY_DONE(&d->held);
}

int daemon_run(const struct daemon_options *options)
{
	struct daemon *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return log_err(-ENOMEM, "cannot start");
	d->is_private = options->private_fd >= 0;

	/* Not for other processes of this user to look into or attach to. */
	(void)prctl(PR_SET_DUMPABLE, 0);

	r = loop_start(d);
	if (r < 0) {
		free(d);
		return r;
	}
	r = trace_hub_new(&d->traces);
	if (r == 0)
		r = read_hub_new(&d->reads);
	if (r == 0)
		r = options->demo	 ? demo_start(d, options)
		    : options->read_path ? read_start(d, options)
					 : capture_start(d, options);
	if (r == 0)
		r = serve_start(d, options);
	if (r == 0)
		(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	daemon_done(d);
	free(d);
	return r;
}
