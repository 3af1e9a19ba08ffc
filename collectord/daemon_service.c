// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon and who comes to it: clients, the supervisor, the administrator's policy.
 */
#define LOG_TOPIC "daemon"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "daemon_state.h"
#include "events/source.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "procs/process_list.h"
#include "rpc/handlers.h"
#include "rpc/read.h"
#include "rpc/server.h"
#include "tracers.h"

/* What becomes a record beside slow calls, when everybody is captured: one call in this many of each thread. */
#define POLICY_SAMPLE_EVERY 64

int daemon_failed(struct daemon *d, int r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (d->why_bytes)
		(void)snprintf(d->why, d->why_bytes, "%s: %s", text, strerror(-r));
	return log_err(r, "%s", text);
}

/* ---- clients ---- */

static void peers_changed(struct daemon *d)
{
	if (!d->is_private)
		service_changed(&d->service);
}

static void peer_open(uint32_t pid, void *data)
{
	struct rpc_context *context = data;
	struct daemon *d = context->owner;

	tracers_peer(d->tracers, pid, true);
	peers_changed(d);
}

static void peer_close(uint32_t pid, void *data)
{
	struct rpc_context *context = data;
	struct daemon *d = context->owner;

	tracers_peer(d->tracers, pid, false);
}

/* Whoever asked once may ask for more: probes are there by then. */
static bool peers_looked(void *data)
{
	const struct rpc_context *context = data;

	return context->reads && read_hub_start(context->reads);
}

static void peer_answered(void *data)
{
	struct rpc_context *context = data;

	daemon_capture_soon(context->owner);
}

static void peers_gone(void *data)
{
	struct rpc_context *context = data;
	struct daemon *d = context->owner;

	if (d->is_private)
		daemon_stop(d);
	else
		service_changed(&d->service);
}

/* ---- as a service ---- */

static bool service_is_idle(void *data)
{
	const struct daemon *d = data;

	return d->can_leave && !d->policy && server_count(d->server) == 0;
}

static void service_admit(void *data)
{
	const struct daemon *d = data;

	server_accept(d->server);
}

static void service_leave(void *data)
{
	(void)log_notice("nobody has asked for a while: leaving until somebody does");
	daemon_stop(data);
}

static void policy_describe(const struct daemon_policy *policy, char *text, size_t bytes)
{
	if (policy->everyone)
		(void)snprintf(text, bytes, "everyone");
	else if (policy->n_uids)
		(void)snprintf(text, bytes, "%zu %s", policy->n_uids, policy->n_uids == 1 ? "user" : "users");
	else
		(void)snprintf(text, bytes, "nobody");
}

void daemon_policy_wish(struct daemon *d, const struct daemon_policy *policy)
{
	d->policy_wish = *policy;
	policy_describe(policy, d->record_whom, sizeof(d->record_whom));
}

static void service_describe(char *text, size_t bytes, void *data)
{
	const struct daemon *d = data;
	const struct daemon_policy *wish = &d->policy_wish;
	bool is_wished = wish->everyone || wish->n_uids;

	if (d->is_loading && !is_wished) {
		(void)snprintf(text, bytes, "Recording nobody unasked; probes are loaded when somebody asks");
		return;
	}
	if (d->is_loading || (is_wished && d->source && !d->policy)) {
		(void)snprintf(text, bytes, "Recording nobody yet, %s once the probes are there", d->record_whom);
		return;
	}
	if (!d->source) {
		(void)snprintf(text, bytes, "Nothing is captured: %s", d->probes_reason);
		return;
	}
	(void)snprintf(text, bytes, "Recording %s%s, back end %s, %u %s", d->recorded, d->policy ? "" : " unasked",
		       d->source->ops->name(d->source), server_count(d->server),
		       server_count(d->server) == 1 ? "client" : "clients");
}

/* Those that were there before: later ones are heard of when they load a library. */
static void policy_look(struct daemon *d)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	process_list list = { .items = NULL };
	int r = proc_fd < 0 ? -errno : process_list_read(proc_fd, &list);

	if (r < 0)
		(void)log_warning(r, "cannot list processes: those that run already are found late");
	for (size_t i = 0; i < list.n; i++)
		if (lease_covers(d->policy, list.items[i].pid, list.items[i].uid, 0))
			(void)target_set_scan(d->targets, list.items[i].pid, 0, NULL, NULL);
	ARRAY_DONE(&list);
}

/* The new lease comes before the old one goes: what both name is not let go meanwhile. */
int daemon_policy_apply(struct daemon *d)
{
	const struct daemon_policy *policy = &d->policy_wish;
	struct lease_wish wish = {
		.all = policy->everyone,
		.uids = policy->uids,
		.n_uids = policy->n_uids,
		.each = process_wish_of(!policy->record_none, policy->record_all, POLICY_SAMPLE_EVERY),
	};
	struct lease *lease = NULL;
	int r = 0;

	if (!d->leases)
		return 0;
	if (policy->everyone || policy->n_uids)
		r = lease_add(d->leases, &wish, &lease);
	if (r < 0)
		return r;
	lease_remove(d->leases, d->policy);
	d->policy = lease;
	policy_describe(policy, d->recorded, sizeof(d->recorded));
	target_set_keep(d->targets, policy->everyone);
	if (lease)
		policy_look(d);
	return 0;
}

static void service_reload(void *data)
{
	struct daemon *d = data;
	struct daemon_policy policy;
	uint64_t idle_ns;
	int r;

	if (!d->options->reload || d->options->reload(&policy, &idle_ns, d->options->reload_data) < 0)
		return;
	daemon_policy_wish(d, &policy);
	if (policy.everyone || policy.n_uids) {
		r = daemon_capture_load(d);
		if (r < 0) {
			d->result = r;
			daemon_stop(d);
			return;
		}
	}
	r = daemon_policy_apply(d);
	if (r < 0)
		(void)log_err(r, "cannot record as the configuration says, going on as before");
	service_idle_after(&d->service, idle_ns);
	(void)log_notice("the configuration was read again");
}

static const struct service_events service_events = {
	.is_idle = service_is_idle,
	.admit = service_admit,
	.leave = service_leave,
	.reload = service_reload,
	.describe = service_describe,
};

/* ---- listening ---- */

/* Before anything is given up: not everybody may listen there. Clients wait from now on; they are answered later. */
int daemon_listen(struct daemon *d)
{
	const struct daemon_options *options = d->options;
	struct server_events events = { .on_peer_open = peer_open,
					.on_peer_close = peer_close,
					.on_answered = peer_answered,
					.on_turn = peers_looked,
					.on_idle = peers_gone };
	CLEANUP(closep) int fd = -1;
	int r = server_open(&d->loop, rpc_handlers, &events, &d->context, &d->server);

	if (r < 0)
		return daemon_failed(d, r, "cannot serve");
	if (d->is_private)
		return 0;
	r = service_start(&d->loop, &service_events, d, &d->service);
	if (r < 0)
		return daemon_failed(d, r, "cannot serve");
	if (options->socket_fd < 0) {
		r = server_listen(d->server, options->socket_path);
		return r < 0 ? daemon_failed(d, r, "cannot listen on '%s'", options->socket_path) : 0;
	}
	fd = fcntl(options->socket_fd, F_DUPFD_CLOEXEC, 0);
	r = fd < 0 ? -errno : server_listen_fd(d->server, fd);
	if (r < 0)
		return daemon_failed(d, r, "cannot serve the socket passed");
	(void)TAKE_FD(fd);
	d->can_leave = true;
	service_idle_after(&d->service, options->idle_ns);
	return 0;
}
