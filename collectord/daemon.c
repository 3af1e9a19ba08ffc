// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "daemon.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <uv.h>

#include "archive/reader.h"
#include "archive/write/store.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "capture.h"
#include "children/process.h"
#include "clock.h"
#include "privilege.h"
#include "probes/closer.h"
#include "recording.h"
#include "rpc/cost.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/server.h"
#include "rpc/trace.h"
#include "serve.h"
#include "source_start.h"
#include "start_report.h"
#include "tracers.h"

/* Interval of storing the recording's cost: a kill loses at most this. */
#define COST_NS (10 * NSEC_PER_SEC)
/* The daemon's parts, connected to each other. */
struct daemon {
	const struct daemon_options *options;
	bool is_private;
	bool is_stopping;
	int result; /* errno of a failure while serving */
	struct start_report report;
	uv_loop_t loop;
	uv_signal_t signals[3];
	struct tracers *tracers;
	struct serve serve;
	struct trace_hub *traces;
	struct read_hub *reads;
	struct capture capture;
	struct recording recording;
	struct source_start source;
	uint64_t cost_kept_ns;
};

static void daemon_stop(struct daemon *d);

/* ---- the loop ---- */

static void signal_fired(uv_signal_t *signal, int number)
{
	(void)number;
	daemon_stop(signal->data);
}

static int loop_start(struct daemon *d)
{
	/*
	 * The kernel sends SIGHUP to a private daemon that is stopped when its client ends. A service takes it as the
	 * wish to read its configuration again (service.c).
	 */
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	int r = privilege_refuse_rings();

	if (r == 0)
		r = uv_loop_init(&d->loop);
	if (r < 0)
		return start_failed(&d->report, r, "cannot make a loop");
	source_start_init(&d->source);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		(void)uv_signal_init(&d->loop, &d->signals[i]);
		d->signals[i].data = d;
		if (numbers[i] != SIGHUP || d->is_private)
			(void)uv_signal_start(&d->signals[i], signal_fired, numbers[i]);
	}
	return 0;
}

/* ---- our own processes ---- */

/*
 * A question to a service uses CPU time like any program of its user, and is named to the users who waited. A question
 * to a private daemon belongs to the user who started it.
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

static void closer_started(uint32_t pid, uint32_t n_probes, void *data)
{
	const struct daemon *d = data;

	tracers_closer(d->tracers, pid, n_probes);
}

static int tracers_start(struct daemon *d)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int r;

	path[n < 0 ? 0 : n] = 0; /* without it no client counts as ours */
	r = tracers_new(path, d->is_private, &d->tracers);
	if (r < 0)
		return start_failed(&d->report, r, "cannot start");
	tracers_child(d->tracers, (uint32_t)getpid(), true);
	process_observe(child_changed, d);
	closer_observe(closer_started, d);
	return 0;
}

/* ---- what capture asks and tells ---- */

static void cost_keep_now(struct daemon *d)
{
	cost_keep(&d->serve.context);
	d->cost_kept_ns = clock_now_ns();
}

static bool hub_held_ask(uint32_t tgid, void *data)
{
	const struct daemon *d = data;

	return trace_hub_resume(d->traces, tgid);
}

/* A process of our own user that works for another user. */
static void behind_name(uint32_t tgid, struct behind_value *value, void *data)
{
	const struct daemon *d = data;

	if (!read_hub_asker(d->reads, tgid, value->comm, &value->uid))
		return;
	(void)snprintf(value->comm, sizeof(value->comm), "%s", READER_TITLE);
	value->is_guarded = false; /* from the one who asked nothing is hidden by this name */
}

static void library_tell(const struct target_library *library, void *data)
{
	const struct daemon *d = data;

	trace_hub_library(d->traces, library);
}

static void process_exited(void *data)
{
	const struct daemon *d = data;

	trace_hub_exit(d->traces);
}

static void source_ended(void *data)
{
	const struct daemon *d = data;

	trace_hub_finish(d->traces);
}

static void second_over(bool is_watched, void *data)
{
	struct daemon *d = data;

	if (is_watched && clock_now_ns() - d->cost_kept_ns >= COST_NS)
		cost_keep_now(d);
	tracers_second(d->tracers, clock_now_ns());
	d->serve.context.n_closing = tracers_closing(d->tracers);
}

static const struct capture_events capture_events = {
	.ask = hub_held_ask,
	.behind = behind_name,
	.library = library_tell,
	.exited = process_exited,
	.ended = source_ended,
	.second = second_over,
};

/* ---- who comes ---- */

static void serve_over(int r, void *data)
{
	struct daemon *d = data;

	d->result = r < 0 ? r : d->result;
	daemon_stop(d);
}

static void source_loaded(void *data)
{
	struct daemon *d = data;

	d->serve.context.n_closing = tracers_closing(d->tracers);
	server_resume(d->serve.server);
}

/* What they work on, as far as that is there from the beginning. */
static void source_init(struct daemon *d)
{
	d->source = (struct source_start){
		.options = &d->options->source,
		.events = { .loaded = source_loaded, .failed = serve_over },
		.data = d,
		.report = &d->report,
		.loop = &d->loop,
		.capture = &d->capture,
		.recording = &d->recording,
		.ring_bytes = d->options->source.ring_bytes ? d->options->source.ring_bytes : PROBE_RING_BYTES,
		.is_private = d->is_private,
	};
}

static void serve_init(struct daemon *d)
{
	d->serve = (struct serve){
		.options = &d->options->serve,
		.stop = serve_over,
		.data = d,
		.report = &d->report,
		.loop = &d->loop,
		.source = &d->source,
		.context = { .loop = &d->loop,
			     .capture = &d->capture,
			     .recording = &d->recording,
			     .started_ns = clock_now_ns(),
			     .ring_bytes = d->source.ring_bytes,
			     .store_problem = d->source.store_problem,
			     .is_private = d->is_private },
	};
}

static int listen_start(struct daemon *d)
{
	d->serve.tracers = d->tracers;
	return serve_listen(&d->serve);
}

static int user_start(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	int r;

	if (!options->user)
		return 0;
	r = privilege_become(options->user, options->source.db.is_own_place ? options->source.db.path : NULL);
	if (r == -ENOENT)
		return start_failed(&d->report, r, "there is no user '%s' to serve as; 'useradd --system %s' makes it",
				    options->user, options->user);
	return r < 0 ? start_failed(&d->report, r, "cannot serve as user '%s'", options->user) : 0;
}

static int hubs_start(struct daemon *d)
{
	int r = trace_hub_new(&d->traces);

	return r < 0 ? r : read_hub_new(&d->loop, d->is_private ? 0 : d->options->query_cpu_ns, &d->reads);
}

static int calls_start(struct daemon *d)
{
	int r;

	d->source.tracers = d->tracers;
	d->source.before[0] = trace_hub_sink(d->traces);
	d->source.before[1] = rpc_operations_sink(&d->serve.context);
	r = source_start_begin(&d->source);
	d->serve.context.n_closing = tracers_closing(d->tracers);
	return r;
}

static int clients_start(struct daemon *d)
{
	const struct source_options *options = &d->options->source;
	struct rpc_context *context = &d->serve.context;

	context->traces = d->traces;
	context->reads = d->reads;
	context->store = d->source.store;
	context->must_keep = source_start_must_keep(&d->source);
	if (options->read_path)
		context->store_path = options->read_path;
	else
		context->store_path = d->source.store ? options->db.path : NULL;
	if (context->store_path)
		context->store_path_bytes = options->read_path ? options->read_path_bytes : strlen(options->db.path);
	return serve_start(&d->serve);
}

/* ---- starting and stopping ---- */

static int (*const starts[])(struct daemon *d) = {
	loop_start, tracers_start, listen_start, user_start, hubs_start, calls_start, clients_start,
};

/*
 * First no new peers, and summaries are sent; the loop releases its handles in its last turns. Calling it twice is
 * harmless.
 */
static void daemon_stop(struct daemon *d)
{
	if (d->is_stopping)
		return;
	d->is_stopping = true;

	source_start_stop(&d->source);
	serve_leave(&d->serve);
	if (d->traces)
		trace_hub_finish(d->traces);
	serve_close(&d->serve);
	read_hub_stop(d->reads);
	capture_finish(&d->capture);
	cost_keep_now(d);
	store_close(d->source.store); /* asks the source for the time */
	d->source.store = NULL;
	capture_close(&d->capture);
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
	recording_end(&d->recording, d->capture.leases);
	capture_done(&d->capture);
	process_observe(NULL, NULL);
	closer_observe(NULL, NULL);
	tracers_free(d->tracers);
}

int daemon_run(const struct daemon_options *options, char *why, size_t why_bytes)
{
	CLEANUP(freep) struct daemon *d = calloc(1, sizeof(*d));
	int r = 0;

	if (!d)
		return log_err(-ENOMEM, "cannot start");
	d->is_private = serve_is_private(&options->serve);
	d->options = options;
	d->report = (struct start_report){ why, why_bytes };
	capture_init(&d->capture, &d->loop, &capture_events, d);
	recording_init(&d->recording);
	recording_wish(&d->recording, &options->policy);
	source_init(d);
	serve_init(d);

	/* Other processes of this user must not inspect it or attach to it. */
	(void)prctl(PR_SET_DUMPABLE, 0);

	for (size_t i = 0; i < ARRAY_SIZE(starts) && r == 0; i++) {
		r = starts[i](d);
		if (r < 0 && i == 0)
			return r; /* without a loop there is nothing to stop */
	}
	if (r == 0)
		(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	r = r == 0 ? d->result : r;
	daemon_done(d);
	return r;
}
