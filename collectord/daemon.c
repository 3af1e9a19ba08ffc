// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "daemon_state.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <uv.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "children/child.h"
#include "children/process.h"
#include "archive/reader.h"
#include "clock.h"
#include "detect/engine.h"
#include "events/host.h"
#include "events/kernel.h"
#include "events/life.h"
#include "events/source.h"
#include "pipeline.h"
#include "privilege.h"
#include "probes/lease.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "procs/process_table.h"
#include "rpc/call.h"
#include "rpc/cost.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/server.h"
#include "rpc/trace.h"
#include "archive/write/store.h"
#include "tracers.h"

/* Answers that come close together are of the same moment: no more ticks and commits than this, nanoseconds apart. */
#define SETTLE_NS 200000000ull
/* What recording costs is kept so often: a kill loses no more of it. */
#define COST_NS (10 * NSEC_PER_SEC)
/* Of the loop, for who waited at the socket and was let in: read, written to. */
#define TURNS_BEFORE_LOAD 2
#define TURNS_AFTER_LOAD 1 /* written to */

/* ---- figures ---- */

/* A demo is watched as long as it plays. */
static bool is_watched(const struct daemon *d)
{
	return !d->leases || lease_set_count(d->leases) > 0;
}

static void cost_keep_now(struct daemon *d)
{
	cost_keep(&d->context);
	d->cost_kept_ns = clock_now_ns();
}

static void source_second(void *data)
{
	struct daemon *d = data;

	pipeline_tick(d->pipeline, is_watched(d));
	if (d->host && !is_watched(d))
		host_clear(d->host);
	if (is_watched(d) && clock_now_ns() - d->cost_kept_ns >= COST_NS)
		cost_keep_now(d);
	tracers_second(d->tracers, clock_now_ns());
	discover_second(&d->discover);
}

static void context_refresh(struct rpc_context *context)
{
	struct daemon *d = context->owner;

	if (d->pipeline)
		pipeline_collect(d->pipeline);
}

static bool context_wait(struct rpc_context *context, struct call *call)
{
	struct daemon *d = context->owner;

	if (!d->is_loading)
		return false;
	if (!call_park(call))
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
	daemon_capture_soon(d);
	return true;
}

static void context_settle(struct rpc_context *context)
{
	struct daemon *d = context->owner;
	uint64_t now_ns = clock_now_ns();

	if (!d->pipeline)
		return;
	if (d->targets) {
		d->source->ops->drain(d->source); /* of what was loaded until now */
		target_set_settle(d->targets);
	}
	if (now_ns - d->settled_ns < SETTLE_NS) {
		context_refresh(context); /* the figures of an answer are of now in any case */
		return;
	}
	source_second(d);
	if (d->store)
		(void)store_flush(d->store); /* what failed is in its state */
	d->settled_ns = now_ns;
}

static void context_let_go(struct rpc_context *context, const struct lease *lease)
{
	struct daemon *d = context->owner;

	hold_end(&d->hold, lease);
}

static void context_guard(struct rpc_context *context, uint32_t pid, bool begins)
{
	struct daemon *d = context->owner;

	tracers_peer(d->tracers, pid, begins);
}

/* Our user's process, somebody's question. */
void daemon_behind(uint32_t tgid, struct behind_value *value, void *data)
{
	const struct daemon *d = data;

	if (read_hub_asker(d->reads, tgid, value->comm, &value->uid))
		(void)snprintf(value->comm, sizeof(value->comm), "%s", READER_TITLE);
}

/* ---- records ---- */

static void source_call(const struct call_record *call, void *data)
{
	struct daemon *d = data;

	pipeline_call(d->pipeline, call);
}

static void source_drained(void *data)
{
	struct daemon *d = data;

	pipeline_drained(d->pipeline);
}

/* Nobody has to be told to stop watching a demo: when its process ends, so does every Trace call. */
static void demo_life(struct daemon *d, const struct life_record *life)
{
	if (life->type != RECORD_EXIT)
		return;
	pipeline_finish(d->pipeline);
	trace_hub_finish(d->traces);
}

static void host_tell(struct daemon *d, const struct life_record *told)
{
	struct life_record whole = *told, *life = &whole;
	struct host_event host;
	bool is_unknown = life->flags & LIFE_UNKNOWN;

	if (is_unknown && life_complete(life, d->source->ops->slots(d->source)) < 0) {
		probe_set_loss_add(d->probes, LOSS_LIFE_FULL, 1);
		return;
	}
	if (is_unknown && !lease_set_covers(d->leases, life->tgid, life->uid))
		return;
	if (host_life(d->host, life, clock_boot_to_unix_ns(life->start_boot_ns), &host))
		pipeline_host(d->pipeline, &host, life);
}

static void source_life(const struct life_record *life, void *data)
{
	struct daemon *d = data;

	if (!d->probes) {
		demo_life(d, life);
		return;
	}

	host_tell(d, life);
	switch ((enum record_type)life->type) {
	case RECORD_FORK:
		lease_set_fork(d->leases, life->tgid, life->fork.child);
		return;
	case RECORD_EXIT:
		lease_set_exit(d->leases, life->tgid, life->start_boot_ns);
		trace_hub_exit(d->traces);
		target_set_forget(d->targets, life->tgid);
		return;
	case RECORD_EXEC: /* perhaps with a loader not seen before */
		target_set_exec(d->targets, life->tgid, life->time_ns);
		return;
	case RECORD_LIBRARY:
		hold_library(&d->hold, life);
		return;
	default: /* only told */
		return;
	}
}

void daemon_library(const struct target_library *library, void *data)
{
	struct daemon *d = data;

	trace_hub_library(d->traces, library);
}

const struct source_sinks daemon_sinks = {
	.ring = { .on_call = source_call, .on_life = source_life, .on_drained = source_drained },
	.on_second = source_second,
};

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
		return daemon_failed(d, r, "cannot make a loop");
	(void)uv_timer_init(&d->loop, &d->load_timer);
	d->load_timer.data = d;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		(void)uv_signal_init(&d->loop, &d->signals[i]);
		d->signals[i].data = d;
		(void)uv_signal_start(&d->signals[i], signal_fired, numbers[i]);
	}
	return 0;
}

/*
 * What somebody asks of a service takes CPU time from others like any program of his, and is named to them. A private
 * daemon's is its user's own.
 */
static void child_changed(const struct process_news *news, void *data)
{
	struct daemon *d = data;

	if (!d->is_private && strcmp(news->role, READER_ROLE) == 0) {
		if (!news->is_running)
			read_hub_gone(d->reads, news->pid, news->cpu_ns);
		return;
	}
	tracers_child(d->tracers, news->pid, news->is_running);
}

static int tracers_start(struct daemon *d)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int r;

	path[n < 0 ? 0 : n] = 0; /* without it no client is known as ours */
	r = tracers_new(path, d->is_private, &d->tracers);
	if (r < 0)
		return daemon_failed(d, r, "cannot start");
	tracers_child(d->tracers, (uint32_t)getpid(), true);
	process_observe(child_changed, d);
	return 0;
}

static int user_start(struct daemon *d, const struct daemon_options *options)
{
	int r;

	if (!options->user)
		return 0;
	r = privilege_become(options->user, options->db.is_own_place ? options->db.path : NULL);
	if (r == -ENOENT)
		return daemon_failed(d, r, "there is no user '%s' to serve as; 'useradd --system %s' makes it",
				     options->user, options->user);
	return r < 0 ? daemon_failed(d, r, "cannot serve as user '%s'", options->user) : 0;
}

static void turns_run(struct daemon *d, int n)
{
	for (int i = 0; i < n && !d->is_stopping; i++)
		(void)uv_run(&d->loop, UV_RUN_NOWAIT);
}

/* Where everybody's or somebody's calls are recorded unasked, ready means that they are. */
static int service_begin(struct daemon *d)
{
	int r = 0;

	if (d->is_loading && (d->options->policy.everyone || d->options->policy.n_uids)) {
		/* Who waits at the socket already is let in, read and answered first. */
		server_accept(d->server);
		turns_run(d, TURNS_BEFORE_LOAD);
		if (!d->is_stopping)
			r = daemon_capture_load(d);
		turns_run(d, TURNS_AFTER_LOAD);
		if (r == 0)
			r = daemon_policy_begin(d);
	}
	if (r == 0 && !d->is_stopping)
		service_ready(&d->service);
	return r;
}

static int serve_start(struct daemon *d, const struct daemon_options *options)
{
	int r;

	d->context = (struct rpc_context){
		.loop = &d->loop,
		.probes_reason = d->probes_reason,
		.traces = d->traces,
		.recorded = d->recorded,
		.record_whom = d->record_whom,
		.started_ns = clock_now_ns(),
		.ring_bytes = daemon_ring_bytes(options),
		.store = d->store,
		.store_problem = d->store_problem,
		.store_path = options->read_path ? options->read_path
			      : d->store	 ? options->db.path
						 : NULL,
		.reads = d->reads,
		.is_private = d->is_private,
		.wait = context_wait,
		.refresh = context_refresh,
		.settle = context_settle,
		.let_go = context_let_go,
		.guard = context_guard,
		.owner = d,
	};
	daemon_context_fill(d);
	if (!d->is_private)
		return service_begin(d);
	r = server_adopt(d->server, options->private_fd);
	return r < 0 ? daemon_failed(d, r, "cannot serve the socket given") : 0;
}

/* No new peers and summaries out first; what the loop holds goes in its last turns. */
void daemon_stop(struct daemon *d)
{
	if (d->is_stopping)
		return;
	d->is_stopping = true;

	if (!d->is_private)
		service_stop(&d->service);
	if (d->traces)
		trace_hub_finish(d->traces);
	server_close(d->server);
	d->server = NULL;
	read_hub_stop(d->reads);
	/* What the source still has goes to all that is open: it ends before any of that. */
	if (d->pipeline)
		pipeline_finish(d->pipeline);
	cost_keep_now(d);
	hold_release(&d->hold);
	store_close(d->store); /* asks the source for the time */
	d->store = NULL;
	if (d->source)
		d->source->ops->close(d->source);
	d->source = NULL;
	discover_close(&d->discover);
	target_set_close(d->targets);
	d->targets = NULL;
	child_close(d->parser);
	d->parser = NULL;
	uv_close((uv_handle_t *)&d->load_timer, NULL);
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
	engine_free(d->engine);
	process_table_free(d->processes);
	lease_remove(d->leases, d->policy);
	lease_set_free(d->leases);
	host_free(d->host);
	process_observe(NULL, NULL);
	tracers_free(d->tracers);
	probe_set_close(d->probes);
	hold_done(&d->hold);
}

int daemon_run(const struct daemon_options *options, char *why, size_t why_bytes)
{
	struct daemon *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return log_err(-ENOMEM, "cannot start");
	d->is_private = options->private_fd >= 0;
	d->options = options;
	(void)snprintf(d->recorded, sizeof(d->recorded), "nobody");
	d->why = why;
	d->why_bytes = why_bytes;

	/* Not for other processes of this user to look into or attach to. */
	(void)prctl(PR_SET_DUMPABLE, 0);

	r = loop_start(d);
	if (r < 0) {
		free(d);
		return r;
	}
	r = tracers_start(d);
	if (r == 0)
		r = daemon_listen(d);
	if (r == 0)
		r = user_start(d, options);
	if (r == 0)
		r = trace_hub_new(&d->traces);
	if (r == 0)
		r = read_hub_new(&d->loop, d->is_private ? 0 : options->query_cpu_ns, &d->reads);
	if (r == 0)
		r = daemon_capture_start(d);
	if (r == 0)
		r = serve_start(d, options);
	if (r == 0)
		(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	r = r == 0 ? d->result : r;
	daemon_done(d);
	free(d);
	return r;
}
