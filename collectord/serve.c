// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "serve"
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "events/source.h"
#include "recording.h"
#include "rpc/call.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/server.h"
#include "source_start.h"
#include "start_report.h"
#include "tracers.h"

/* Turns of the loop in which a client that waited at the socket is accepted: read, answered. */
#define TURNS_BEFORE_LOAD 2
#define TURNS_AFTER_LOAD 1 /* written to */

/* ---- clients ---- */

static void peer_open(uint32_t pid, uint32_t uid, void *data)
{
	const struct rpc_context *context = data;
	struct serve *s = context->owner;

	tracers_connected(s->tracers, pid, uid);
	if (!serve_is_private(s->options))
		service_changed(&s->service);
}

static void peer_close(uint32_t pid, void *data)
{
	const struct rpc_context *context = data;
	struct serve *s = context->owner;

	tracers_disconnected(s->tracers, pid);
}

static bool peers_looked(void *data)
{
	const struct rpc_context *context = data;

	return context->reads && read_hub_start(context->reads);
}

/* A client that asked once may ask again: the probes are loaded by then. */
static void peer_answered(void *data)
{
	const struct rpc_context *context = data;
	const struct serve *s = context->owner;

	source_start_load_soon(s->source);
}

static void peers_gone(void *data)
{
	const struct rpc_context *context = data;
	struct serve *s = context->owner;

	if (serve_is_private(s->options))
		s->stop(0, s->data);
	else
		service_changed(&s->service);
}

static bool context_wait(struct rpc_context *context, struct call *call)
{
	struct serve *s = context->owner;

	if (!s->source->capture->is_loading)
		return false;
	if (!call_park(call))
		call_fail(call, CALL_ERROR_INTERNAL, "out of memory");
	source_start_load_soon(s->source);
	return true;
}

static void context_guard(struct rpc_context *context, uint32_t pid, uint32_t uid, bool begins)
{
	struct serve *s = context->owner;

	if (begins)
		tracers_connected(s->tracers, pid, uid);
	else
		tracers_disconnected(s->tracers, pid);
}

/* ---- as a service ---- */

static bool service_is_idle(void *data)
{
	const struct serve *s = data;

	return s->can_leave && !s->source->recording->lease && server_count(s->server) == 0;
}

static void service_admit(void *data)
{
	const struct serve *s = data;

	server_accept(s->server);
}

static void service_leave(void *data)
{
	const struct serve *s = data;

	(void)log_notice("nobody has asked for a while: leaving until somebody does");
	s->stop(0, s->data);
}

static void service_describe(char *text, size_t bytes, void *data)
{
	const struct serve *s = data;
	const struct capture *c = s->source->capture;
	const struct recording *recording = s->source->recording;
	bool is_wished = recording_is_wished(&recording->wish);

	if (c->is_loading && !is_wished) {
		(void)snprintf(text, bytes, "Recording nobody unasked; probes are loaded when somebody asks");
		return;
	}
	if (c->is_loading || (is_wished && c->source && !recording->lease)) {
		(void)snprintf(text, bytes, "Recording nobody yet, %s once the probes are there", recording->whom);
		return;
	}
	if (!c->source) {
		(void)snprintf(text, bytes, "Nothing is captured: %s", c->probes_reason);
		return;
	}
	(void)snprintf(text, bytes, "Recording %s%s, back end %s, %u %s", recording->now,
		       recording->lease ? "" : " unasked", c->source->ops->name(c->source), server_count(s->server),
		       server_count(s->server) == 1 ? "client" : "clients");
}

static void service_reload(void *data)
{
	struct serve *s = data;
	struct recording_wish wish;
	uint64_t idle_ns;
	int r;

	if (!s->options->reload || s->options->reload(&wish, &idle_ns, s->options->reload_data) < 0)
		return;
	recording_wish(s->source->recording, &wish);
	r = recording_is_wished(&wish) ? source_start_load(s->source) : 0;
	if (r < 0) {
		s->stop(r, s->data);
		return;
	}
	if (s->source->capture->leases)
		r = recording_apply(s->source->recording, s->source->capture->leases, s->source->capture->targets);
	if (r < 0)
		(void)log_err(r, "cannot record as the configuration says, going on as before");
	service_idle_after(&s->service, idle_ns);
	(void)log_notice("the configuration was read again");
}

static const struct service_events service_events = {
	.is_idle = service_is_idle,
	.admit = service_admit,
	.leave = service_leave,
	.reload = service_reload,
	.describe = service_describe,
};

static void turns_run(const struct serve *s, int n)
{
	for (int i = 0; i < n && !s->is_over; i++)
		(void)uv_run(s->loop, UV_RUN_NOWAIT);
}

/* If all or some users are recorded without a trace, ready means that they are. */
static int service_begin(struct serve *s)
{
	int r = 0;

	if (s->source->capture->is_loading && recording_is_wished(&s->source->recording->wish)) {
		/* Who waits at the socket already is let in, read and answered first. */
		server_accept(s->server);
		turns_run(s, TURNS_BEFORE_LOAD);
		if (!s->is_over)
			r = source_start_load(s->source);
		if (r == 0) {
			turns_run(s, TURNS_AFTER_LOAD);
			r = source_start_record(s->source);
		}
	}
	if (r == 0 && !s->is_over)
		service_ready(&s->service);
	return r;
}

/* ---- listening ---- */

int serve_listen(struct serve *s)
{
	static const struct server_events events = { .on_peer_open = peer_open,
						     .on_peer_close = peer_close,
						     .on_answered = peer_answered,
						     .on_turn = peers_looked,
						     .on_idle = peers_gone };
	const struct serve_options *options = s->options;
	CLEANUP(closep) int fd = -1;
	int r;

	s->context.wait = context_wait;
	s->context.guard = context_guard;
	s->context.owner = s;
	r = server_open(s->loop, rpc_handlers, &events, &s->context, &s->server);
	if (r == 0)
		server_share_time(s->server, &s->context.capture->loop_times);
	if (r == 0 && !serve_is_private(options))
		r = service_start(s->loop, &service_events, s, &s->service);
	if (r < 0)
		return start_failed(s->report, r, "cannot serve");
	if (serve_is_private(options))
		return 0;
	if (options->socket_fd < 0) {
		r = server_listen(s->server, options->socket_path);
		return r < 0 ? start_failed(s->report, r, "cannot listen on '%s'", options->socket_path) : 0;
	}
	fd = fcntl(options->socket_fd, F_DUPFD_CLOEXEC, 0);
	r = fd < 0 ? -errno : server_listen_fd(s->server, fd);
	if (r < 0)
		return start_failed(s->report, r, "cannot serve the socket passed");
	(void)TAKE_FD(fd);
	s->can_leave = true;
	service_idle_after(&s->service, options->idle_ns);
	return 0;
}

int serve_start(struct serve *s)
{
	int r;

	if (!serve_is_private(s->options))
		return service_begin(s);
	r = server_adopt(s->server, s->options->private_fd);
	return r < 0 ? start_failed(s->report, r, "cannot serve the socket given") : 0;
}

void serve_leave(struct serve *s)
{
	s->is_over = true;
	if (!serve_is_private(s->options))
		service_stop(&s->service);
}

void serve_close(struct serve *s)
{
	server_close(s->server);
	s->server = NULL;
}
