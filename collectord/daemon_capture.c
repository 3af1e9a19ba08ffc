// SPDX-License-Identifier: Apache-2.0
/*
 * Where calls come from: the kernel half, a demo, a file, or nowhere. Each with the privilege that it needs.
 */
#define LOG_TOPIC "daemon"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "children/child.h"
#include "clock.h"
#include "daemon_state.h"
#include "detect/engine.h"
#include "events/host.h"
#include "events/kernel.h"
#include "events/source.h"
#include "pipeline.h"
#include "privilege.h"
#include "probes/lease.h"
#include "probes/probe_set.h"
#include "probes/target.h"
#include "procs/process_table.h"
#include "rpc/handlers.h"
#include "rpc/server.h"
#include "rpc/trace.h"
#include "archive/write/store.h"
#include "tracers.h"

/* Every demo is the same each time. */
#define DEMO_SEED 1

uint64_t daemon_ring_bytes(const struct daemon_options *options)
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

static void finding_told(const struct finding *finding, enum engine_change change, void *data)
{
	const struct daemon *d = data;

	(void)change;
	pipeline_finding(d->pipeline, finding);
}

/* In this order everything that comes goes down: who watches, who judges, what keeps. */
static int pipeline_start(struct daemon *d)
{
	struct pipeline_options options = { .source = d->source, .on_behind = daemon_behind, .data = d };
	int r = process_table_new(&d->processes);

	if (r == 0)
		r = engine_new(d->processes, finding_told, d, &d->engine);
	if (r < 0)
		return r;
	engine_set_cpus(d->engine, (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 0));
	options.processes = d->processes;
	options.sinks[0] = trace_hub_sink(d->traces);
	options.sinks[1] = rpc_operations_sink(&d->context);
	options.sinks[2] = engine_sink(d->engine);
	options.sinks[3] = store_sink(d->store);
	return pipeline_new(&options, &d->pipeline);
}

/* A service's database has its list of libraries beside it; a private daemon's place is its user's, and has none. */
static int libraries_remember(struct daemon *d)
{
	const struct store_options *db = &d->options->db;
	CLEANUP(freep) char *path = NULL;

	if (d->is_private || db->has_owner || !db->path)
		return 0;
	return asprintf(&path, "%s.libraries", db->path) < 0 ? -ENOMEM : target_set_remember(d->targets, path);
}

static bool held_ask(uint32_t tgid, void *data)
{
	const struct daemon *d = data;

	return trace_hub_resume(d->traces, tgid);
}

static void source_drain(void *data)
{
	const struct daemon *d = data;

	d->source->ops->drain(d->source);
}

static const struct hold_events hold_events = { .ask = held_ask, .drain = source_drain };

/* What is left of capture once the probes are there. */
static int parts_start(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	int r = host_new(&d->host);

	if (r == 0)
		r = lease_set_new(d->probes, &d->leases);
	if (r == 0)
		r = child_open(&d->loop, "parser", &d->parser);
	if (r == 0)
		r = target_set_open(&d->loop, d->parser, d->probes, daemon_library, d, &d->targets);
	if (r == 0)
		r = libraries_remember(d);
	if (r == 0)
		hold_open(&d->hold, &d->loop, d->targets, &hold_events, d);
	if (r == 0)
		r = discover_open(&d->discover, d->probes, d->targets, d->leases);
	if (r == 0)
		r = kernel_open(&d->loop, d->probes, daemon_ring_bytes(options), &daemon_sinks, d, &d->source);
	if (r == 0)
		r = pipeline_start(d);
	if (r < 0)
		return daemon_failed(d, r, "cannot start to capture");

	r = target_set_scan_loader(d->targets, NULL, NULL);
	if (r < 0)
		(void)log_warning(r, "cannot watch the program loader, libraries loaded later are found late");
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

/* Where they cannot be had the daemon serves all the same and says why. Return: whether they can */
static bool probes_load(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	struct probe_set_options probes = { .back_end = options->back_end, .ring_bytes = options->ring_bytes };
	int r = probe_set_open(&probes, d->probes_reason, sizeof(d->probes_reason), &d->probes);

	if (r < 0) {
		if (!d->is_private) /* a private one's client says it */
			(void)log_warning(r, "%s; serving without capture", d->probes_reason);
		d->probes = NULL;
		return false;
	}
	tracers_begin(d->tracers, &(struct tracers_sink){ tracer_add, tracer_remove, d->probes });
	return true;
}

static int capture_seal(struct daemon *d, bool late_perf)
{
	struct privilege_need need = {
		.late_perf = late_perf,
		.continues = d->is_private,
	};
	int r = privilege_seal(&need);

	return r < 0 ? daemon_failed(d, r, "cannot give up privilege") : 0;
}

static bool uses_perf(const struct daemon *d)
{
	return d->probes && probe_set_back_end(d->probes) == PROBE_BACK_END_PERF;
}

static const char *back_end(const struct daemon *d)
{
	return d->probes ? probe_back_end_to_string(probe_set_back_end(d->probes)) : "none";
}

/* Before anybody is served: where one daemon is for one client, who waits for just that. */
static int capture_start_first(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	bool is_loaded = probes_load(d);
	int r;

	/* A thread that takes the identity of the file's owner needs for it what is given up next; any other starts
	 * without: what is given up is this thread's, and that of those it starts from then on. */
	if (is_loaded && options->db.has_owner)
		keep_start(d, options, back_end(d));
	if (is_loaded)
		discover_prepare(&d->discover, &d->loop);
	r = capture_seal(d, uses_perf(d));
	if (r < 0 || !is_loaded)
		return r;
	if (!options->db.has_owner)
		keep_start(d, options, back_end(d));
	r = parts_start(d);
	return r < 0 ? r : daemon_policy_begin(d);
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

	discover_prepare(&d->discover, &d->loop);
	r = capture_seal(d, may_need_perf(d->options->back_end));
	if (r < 0)
		return r;
	keep_start(d, d->options, "none"); /* as long as none are there */
	d->is_loading = true;
	return 0;
}

int daemon_capture_load(struct daemon *d)
{
	int r = 0;

	if (!d->is_loading)
		return 0;
	(void)uv_timer_stop(&d->load_timer);
	if (probes_load(d)) {
		if (may_need_perf(d->options->back_end) && !uses_perf(d))
			r = capture_seal(d, /* late_perf= */ false);
		r = r == 0 ? parts_start(d) : r;
	}
	if (r < 0)
		return r;
	d->is_loading = false;
	if (d->store)
		store_back_end(d->store, back_end(d));
	daemon_context_fill(d);
	server_resume(d->server);
	return 0;
}

int daemon_policy_begin(struct daemon *d)
{
	int r = 0;

	if (!d->policy && !d->is_stopping)
		r = daemon_policy_apply(d);
	return r < 0 ? daemon_failed(d, r, "cannot start to capture") : 0;
}

static void timer_over(struct daemon *d, int r)
{
	if (r >= 0)
		return;
	d->result = r;
	daemon_stop(d);
}

static void policy_fired(uv_timer_t *timer)
{
	timer_over(timer->data, daemon_policy_begin(timer->data));
}

static void load_fired(uv_timer_t *timer)
{
	struct daemon *d = timer->data;
	int r = daemon_capture_load(d);

	if (r == 0)
		(void)uv_timer_start(timer, policy_fired, 0, 0); /* behind the answers of who waited */
	timer_over(d, r);
}

void daemon_capture_soon(struct daemon *d)
{
	if (d->is_loading && !d->is_stopping)
		(void)uv_timer_start(&d->load_timer, load_fired, 0, 0);
}

void daemon_context_fill(struct daemon *d)
{
	d->context.is_loading = d->is_loading;
	d->context.source = d->source;
	d->context.source_started_ns = d->source ? d->source->ops->now_ns(d->source) : 0;
	d->context.probes = d->probes;
	d->context.targets = d->targets;
	d->context.leases = d->leases;
	d->context.figures = d->pipeline ? pipeline_figures(d->pipeline) : NULL;
}

/* A demo needs neither the kernel half nor any privilege. */
static int demo_start(struct daemon *d, const struct daemon_options *options)
{
	struct privilege_need need = { .nothing = true };
	int r = demo_open(&d->loop, options->demo, options->demo_speed, DEMO_SEED, &daemon_sinks, d, &d->source);

	if (r < 0)
		return daemon_failed(d, r, "cannot play '%s'", options->demo);
	keep_start(d, options, d->source->ops->name(d->source));
	r = privilege_seal(&need);
	if (r < 0)
		return daemon_failed(d, r, "cannot give up privilege");
	r = pipeline_start(d);
	return r < 0 ? daemon_failed(d, r, "cannot play '%s'", options->demo) : 0;
}

/* Answers from a file that was recorded before: no source, and nothing that needs privilege. */
static int read_start(struct daemon *d, const struct daemon_options *options)
{
	struct privilege_need need = { .nothing = true };
	int r = privilege_seal(&need);

	if (r < 0)
		return daemon_failed(d, r, "cannot give up privilege");
	(void)snprintf(d->probes_reason, sizeof(d->probes_reason), "this daemon only reads '%s'", options->read_path);
	return 0;
}

/* What is wrong does not go away by starting again: it is told to whoever asks. */
static int fault_start(struct daemon *d, const struct daemon_options *options)
{
	struct privilege_need need = { .nothing = true };
	int r = privilege_seal(&need);

	if (r < 0)
		return daemon_failed(d, r, "cannot give up privilege");
	(void)snprintf(d->probes_reason, sizeof(d->probes_reason), "%s", options->fault);
	(void)snprintf(d->store_problem, sizeof(d->store_problem), "%s", options->fault);
	return 0;
}

int daemon_capture_start(struct daemon *d)
{
	const struct daemon_options *options = d->options;

	daemon_policy_wish(d, &options->policy);
	if (options->fault)
		return fault_start(d, options);
	if (options->demo)
		return demo_start(d, options);
	if (options->read_path)
		return read_start(d, options);
	return d->is_private || options->db.has_owner ? capture_start_first(d) : capture_start_later(d);
}
