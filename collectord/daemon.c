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
#include <sys/utsname.h>
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
#include "events/source.h"
#include "privilege.h"
#include "recording.h"
#include "rpc/cost.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/server.h"
#include "rpc/trace.h"
#include "serve.h"
#include "start_report.h"
#include "tracers.h"

/* What recording costs is kept so often: a kill loses no more of it. */
#define COST_NS (10 * NSEC_PER_SEC)
/* The daemon's parts, introduced to each other. */
struct daemon {
	const struct daemon_options *options;
	bool is_private;
	bool is_stopping;
	int result; /* of what failed while serving */
	struct start_report report;
	uv_loop_t loop;
	uv_signal_t signals[2];
	uv_timer_t load_timer;
	struct tracers *tracers;
	struct serve serve;
	struct trace_hub *traces;
	struct read_hub *reads;
	struct capture capture;
	struct recording recording;
	struct store *store; /* NULL: nothing is kept */
	char store_problem[512];
	uint64_t cost_kept_ns;
};

static void daemon_stop(struct daemon *d);

/* For what fails while serving. */
static void daemon_end(struct daemon *d, int r)
{
	if (r >= 0)
		return;
	d->result = r;
	daemon_stop(d);
}

/* ---- the loop ---- */

static void signal_fired(uv_signal_t *signal, int number)
{
	(void)number;
	daemon_stop(signal->data);
}

static int loop_start(struct daemon *d)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	int r = privilege_refuse_rings();

	if (r == 0)
		r = uv_loop_init(&d->loop);
	if (r < 0)
		return start_failed(&d->report, r, "cannot make a loop");
	(void)uv_timer_init(&d->loop, &d->load_timer);
	d->load_timer.data = d;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		(void)uv_signal_init(&d->loop, &d->signals[i]);
		d->signals[i].data = d;
		(void)uv_signal_start(&d->signals[i], signal_fired, numbers[i]);
	}
	return 0;
}

/* ---- who is ours ---- */

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
		return start_failed(&d->report, r, "cannot start");
	tracers_child(d->tracers, (uint32_t)getpid(), true);
	process_observe(child_changed, d);
	return 0;
}

static int tracer_add(uint32_t pid, void *data)
{
	return probe_set_tracer_add(data, pid);
}

static int tracer_remove(uint32_t pid, void *data)
{
	return probe_set_tracer_remove(data, pid);
}

/* ---- what capture asks and tells ---- */

static void cost_keep_now(struct daemon *d)
{
	cost_keep(&d->serve.context);
	d->cost_kept_ns = clock_now_ns();
}

static bool held_ask(uint32_t tgid, void *data)
{
	const struct daemon *d = data;

	return trace_hub_resume(d->traces, tgid);
}

/* Our user's process, somebody's question. */
static void behind_name(uint32_t tgid, struct behind_value *value, void *data)
{
	const struct daemon *d = data;

	if (read_hub_asker(d->reads, tgid, value->comm, &value->uid))
		(void)snprintf(value->comm, sizeof(value->comm), "%s", READER_TITLE);
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
}

static const struct capture_events capture_events = {
	.ask = held_ask,
	.behind = behind_name,
	.library = library_tell,
	.exited = process_exited,
	.ended = source_ended,
	.second = second_over,
};

/* ---- what is kept ---- */

static uint64_t store_unix_ns(uint64_t monotonic_ns, void *data)
{
	(void)data;
	return clock_to_unix_ns(monotonic_ns);
}

/* Whatever is wrong with the file, capture and the live view go on, and say so. */
static void keep_start(struct daemon *d, const char *back_end)
{
	struct store_options store = d->options->db;
	struct store_clock clock = { capture_now_ns, store_unix_ns, &d->capture };
	struct utsname names = { .release = "" };
	int r;

	if (!store.path)
		return;
	(void)uname(&names);
	store.kernel = names.release;
	store.back_end = back_end;
	if (d->capture.source)
		store.clock = &clock;
	r = store_open(&store, d->store_problem, sizeof(d->store_problem), &d->store);
	if (r < 0)
		d->store = NULL;
	if (d->store_problem[0] && !d->is_private) /* a private one's client says it */
		(void)log_warning(r, "%s", d->store_problem);
}

/* ---- where calls come from, each with the privilege that it needs ---- */

static int privilege_give_up(struct daemon *d, const struct privilege_need *need)
{
	int r = privilege_seal(need);

	return r < 0 ? start_failed(&d->report, r, "cannot give up privilege") : 0;
}

static int capture_seal(struct daemon *d, bool late_perf)
{
	return privilege_give_up(d, &(struct privilege_need){ .late_perf = late_perf, .continues = d->is_private });
}

/* Where the probes cannot be had the daemon serves all the same and says why. Return: whether they can */
static bool probes_load(struct daemon *d)
{
	struct capture *c = &d->capture;
	int r = capture_load(c, d->options->back_end, d->options->ring_bytes);

	if (r < 0) {
		if (!d->is_private) /* a private one's client says it */
			(void)log_warning(r, "%s; serving without capture", c->probes_reason);
		return false;
	}
	tracers_begin(d->tracers, &(struct tracers_sink){ tracer_add, tracer_remove, c->probes });
	return true;
}

static struct capture_wish capture_wish_of(struct daemon *d)
{
	return (struct capture_wish){
		.ring_bytes = d->serve.context.ring_bytes,
		.before = { trace_hub_sink(d->traces), rpc_operations_sink(&d->serve.context) },
		.behind = { store_sink(d->store) },
	};
}

static int parts_start(struct daemon *d)
{
	const struct store_options *db = &d->options->db;
	struct capture_wish wish = capture_wish_of(d);
	CLEANUP(freep) char *libraries = NULL;
	int r = 0;

	/* A service's database has its list of libraries beside it; a private daemon's place is its user's, and has
	 * none. */
	if (!d->is_private && !db->has_owner && db->path)
		r = asprintf(&libraries, "%s.libraries", db->path) < 0 ? -ENOMEM : 0;
	wish.libraries = libraries;
	if (r == 0)
		r = capture_start(&d->capture, &wish);
	return r < 0 ? start_failed(&d->report, r, "cannot start to capture") : 0;
}

/* Whoever waited for the probes is answered before. Return: 0, also when it was begun; -errno, said */
static int recording_begin(struct daemon *d)
{
	int r = 0;

	if (!d->recording.lease && !d->is_stopping && d->capture.leases)
		r = recording_apply(&d->recording, d->capture.leases, d->capture.targets);
	return r < 0 ? start_failed(&d->report, r, "cannot start to capture") : 0;
}

/* Before anybody is served: where one daemon is for one client, who waits for just that. */
static int capture_start_first(struct daemon *d)
{
	bool is_loaded = probes_load(d), has_owner = d->options->db.has_owner;
	int r;

	/* A thread that takes the identity of the file's owner needs for it what is given up next; any other starts
	 * without: what is given up is this thread's, and that of those it starts from then on. */
	if (is_loaded && has_owner)
		keep_start(d, capture_back_end(&d->capture));
	if (is_loaded)
		discover_prepare(&d->capture.discover, &d->loop);
	r = capture_seal(d, capture_uses_perf(&d->capture));
	if (r < 0 || !is_loaded)
		return r;
	if (!has_owner)
		keep_start(d, capture_back_end(&d->capture));
	r = parts_start(d);
	return r < 0 ? r : recording_begin(d);
}

/* Links to several uprobes at once came with Linux 6.6; without them only perf events are left. */
static bool may_need_perf(enum probe_back_end back_end)
{
	struct utsname names;
	int major = 0, minor = 0;

	if (back_end != PROBE_BACK_END_AUTO)
		return back_end == PROBE_BACK_END_PERF;
	if (uname(&names) < 0 || sscanf(names.release, "%d.%d", &major, &minor) != 2)
		return true;
	return major < 6 || (major == 6 && minor < 6);
}

/*
 * Loading takes longer than whoever comes should wait: what needs no probes is answered before. What
 * the probes do not need is given up by then all the same.
 */
static int capture_start_later(struct daemon *d)
{
	int r;

	discover_prepare(&d->capture.discover, &d->loop);
	r = capture_seal(d, may_need_perf(d->options->back_end));
	if (r < 0)
		return r;
	keep_start(d, "none"); /* as long as none are there */
	d->capture.is_loading = true;
	return 0;
}

/* The probes at once, and answer who waits for them. Return: 0, also without probes; -errno, said */
static int late_load(struct daemon *d)
{
	int r = 0;

	if (!d->capture.is_loading)
		return 0;
	(void)uv_timer_stop(&d->load_timer);
	if (probes_load(d)) {
		if (may_need_perf(d->options->back_end) && !capture_uses_perf(&d->capture))
			r = capture_seal(d, /* late_perf= */ false);
		r = r == 0 ? parts_start(d) : r;
	}
	if (r < 0)
		return r;
	d->capture.is_loading = false;
	if (d->store)
		store_back_end(d->store, capture_back_end(&d->capture));
	server_resume(d->serve.server);
	return 0;
}

static void recording_fired(uv_timer_t *timer)
{
	daemon_end(timer->data, recording_begin(timer->data));
}

static void load_fired(uv_timer_t *timer)
{
	struct daemon *d = timer->data;
	int r = late_load(d);

	if (r == 0)
		(void)uv_timer_start(timer, recording_fired, 0, 0); /* behind the answers of who waited */
	daemon_end(d, r);
}

/* In the loop's next turn. */
static void load_soon(struct daemon *d)
{
	if (d->capture.is_loading && !d->is_stopping)
		(void)uv_timer_start(&d->load_timer, load_fired, 0, 0);
}

/* A demo needs neither the kernel half nor any privilege. */
static int demo_start(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	struct capture_wish wish;
	int r = capture_demo_open(&d->capture, options->demo, options->demo_speed);

	if (r < 0)
		return start_failed(&d->report, r, "cannot play '%s'", options->demo);
	keep_start(d, d->capture.source->ops->name(d->capture.source));
	r = privilege_give_up(d, &(struct privilege_need){ .nothing = true });
	if (r < 0)
		return r;
	wish = capture_wish_of(d);
	r = capture_demo_start(&d->capture, &wish);
	return r < 0 ? start_failed(&d->report, r, "cannot play '%s'", options->demo) : 0;
}

/* Answers from a file that was recorded before, or says what is wrong: that does not go away by starting again. */
static int nothing_start(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	struct capture *c = &d->capture;

	if (options->fault) {
		(void)snprintf(c->probes_reason, sizeof(c->probes_reason), "%s", options->fault);
		(void)snprintf(d->store_problem, sizeof(d->store_problem), "%s", options->fault);
	} else {
		(void)snprintf(c->probes_reason, sizeof(c->probes_reason), "this daemon only reads '%s'",
			       options->read_path);
	}
	return privilege_give_up(d, &(struct privilege_need){ .nothing = true });
}

static int calls_start(struct daemon *d)
{
	const struct daemon_options *options = d->options;

	if (options->fault || options->read_path)
		return nothing_start(d);
	if (options->demo)
		return demo_start(d);
	return d->is_private || options->db.has_owner ? capture_start_first(d) : capture_start_later(d);
}

/* ---- who comes ---- */

static void probes_wanted(void *data)
{
	load_soon(data);
}

static int probes_now(void *data)
{
	return late_load(data);
}

static int record_now(void *data)
{
	return recording_begin(data);
}

static void serve_over(int r, void *data)
{
	struct daemon *d = data;

	d->result = r < 0 ? r : d->result;
	daemon_stop(d);
}

/* What it works on, as far as that is there from the beginning. */
static void serve_init(struct daemon *d)
{
	d->serve = (struct serve){
		.options = &d->options->serve,
		.events = { .want = probes_wanted, .load = probes_now, .record = record_now, .stop = serve_over },
		.data = d,
		.report = &d->report,
		.loop = &d->loop,
		.capture = &d->capture,
		.recording = &d->recording,
		.context = { .loop = &d->loop,
			     .capture = &d->capture,
			     .recording = &d->recording,
			     .started_ns = clock_now_ns(),
			     .ring_bytes = d->options->ring_bytes ? d->options->ring_bytes : PROBE_RING_BYTES,
			     .store_problem = d->store_problem,
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
	r = privilege_become(options->user, options->db.is_own_place ? options->db.path : NULL);
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

static int clients_start(struct daemon *d)
{
	struct rpc_context *context = &d->serve.context;

	context->traces = d->traces;
	context->reads = d->reads;
	context->store = d->store;
	context->store_path = d->options->read_path ? d->options->read_path : d->store ? d->options->db.path : NULL;
	return serve_start(&d->serve);
}

/* ---- starting and stopping ---- */

static int (*const starts[])(struct daemon *d) = {
	loop_start, tracers_start, listen_start, user_start, hubs_start, calls_start, clients_start,
};

/* No new peers and summaries out first; what the loop holds goes in its last turns. Twice is harmless. */
static void daemon_stop(struct daemon *d)
{
	if (d->is_stopping)
		return;
	d->is_stopping = true;

	serve_leave(&d->serve);
	if (d->traces)
		trace_hub_finish(d->traces);
	serve_close(&d->serve);
	read_hub_stop(d->reads);
	capture_finish(&d->capture);
	cost_keep_now(d);
	store_close(d->store); /* asks the source for the time */
	d->store = NULL;
	capture_close(&d->capture);
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
	recording_end(&d->recording, d->capture.leases);
	capture_done(&d->capture);
	process_observe(NULL, NULL);
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
	serve_init(d);

	/* Not for other processes of this user to look into or attach to. */
	(void)prctl(PR_SET_DUMPABLE, 0);

	for (size_t i = 0; i < ARRAY_SIZE(starts) && r == 0; i++) {
		r = starts[i](d);
		if (r < 0 && i == 0)
			return r; /* there is no loop to stop anything in */
	}
	if (r == 0)
		(void)uv_run(&d->loop, UV_RUN_DEFAULT);
	r = r == 0 ? d->result : r;
	daemon_done(d);
	return r;
}
