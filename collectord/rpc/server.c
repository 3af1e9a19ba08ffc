// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "clock.h"
#include "rpc/peer.h"
#include "rpc/server_state.h"

/* Clients may use one in this many descriptors: probes and children need the others. */
#define DESCRIPTORS_SHARE 4
#define NEVER UINT64_MAX

/* ---- for peers and calls ---- */

unsigned int server_count(const struct server *server)
{
	return server ? server->n_peers : 0;
}

static void server_on_timer(uv_timer_t *timer);

static void server_arm(struct server *server)
{
	uint64_t now_ns = clock_now_ns(), wait_ms = 0;

	if (server->due_ns == NEVER) {
		(void)uv_timer_stop(&server->timer);
		return;
	}
	if (server->due_ns > now_ns)
		wait_ms = (server->due_ns - now_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	/* The loop's cached time may be old, and timers count from it. */
	uv_update_time(server->loop);
	(void)uv_timer_start(&server->timer, server_on_timer, wait_ms, 0);
}

void server_due(struct server *server, uint64_t at_ns)
{
	if (server->is_closing || at_ns >= server->due_ns)
		return;
	server->due_ns = at_ns;
	server_arm(server);
}

void server_room_back(struct server *server)
{
	server_due(server, 0); /* deferred: this may run within another peer's turn */
}

void server_looked(struct server *server)
{
	if (!server->is_closing && server->events.on_turn && server->events.on_turn(server->context))
		server_due(server, clock_now_ns() + PEER_YIELD_NS);
}

void server_answered(struct server *server)
{
	if (server->events.on_answered)
		server->events.on_answered(server->context);
}

static void peers_resume(struct server *server, bool are_streams)
{
	struct peer *peer;

	for (peer = LIST_FIRST(&server->peers); peer; peer = server->next_peer) {
		server->next_peer = LIST_NEXT(peer, link);
		call_resume_all(peer, are_streams);
	}
}

/* Streams first, traces among them: so a question about the traced processes includes traces that also waited. */
void server_resume(struct server *server)
{
	peers_resume(server, /* are_streams= */ true);
	peers_resume(server, /* are_streams= */ false);
	server_looked(server);
}

void server_check(struct server *server)
{
	uint64_t now_ns = clock_now_ns();
	struct peer *peer;

	server->due_ns = NEVER;
	server->quota.turn++;
	for (peer = LIST_FIRST(&server->peers); peer; peer = server->next_peer) {
		uint64_t next_ns;

		server->next_peer = LIST_NEXT(peer, link);
		next_ns = peer_check(peer, now_ns);
		server->due_ns = MIN(server->due_ns, next_ns);
	}
	if (server->is_closing)
		return;
	server_arm(server);
	server_looked(server);
}

/* The loop runs all due timers before it polls: the remaining work of a user must not keep it there. */
static void server_on_timer(uv_timer_t *timer)
{
	struct server *server = timer->data;

	if (server->checked_turn == server->n_turns) {
		(void)uv_timer_start(timer, server_on_timer, 1, 0);
		return;
	}
	server->checked_turn = server->n_turns;
	server_check(server);
}

static void server_on_turn(uv_check_t *check)
{
	struct server *server = check->data;

	server->n_turns++;
	server->quota.turn++;
}

static void server_free(struct server *server)
{
	quota_done(&server->quota);
	free(server);
}

void server_handle_closed(struct server *server)
{
	assert(server->n_handles);
	if (--server->n_handles == 0)
		server_free(server);
}

void server_on_handle_closed(uv_handle_t *handle)
{
	server_handle_closed(handle->data);
}

void server_peer_gone(struct server *server, struct peer *peer)
{
	if (server->next_peer == peer)
		server->next_peer = LIST_NEXT(peer, link);
	assert(server->n_peers);
	LIST_REMOVE(peer, link);
	server->n_peers--;
	if (server->events.on_peer_close)
		server->events.on_peer_close(peer->identity.peer_pid, server->context);
	if (server->n_peers == 0 && !server->is_closing && server->events.on_idle)
		server->events.on_idle(server->context);
}

/* ---- life ---- */

static unsigned int connections_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return QUOTA_TOTAL_CONNECTIONS;
	return (unsigned int)MIN((rlim_t)QUOTA_TOTAL_CONNECTIONS, limit.rlim_cur / DESCRIPTORS_SHARE);
}

int server_open(uv_loop_t *loop, const rpc_handler *handlers, const struct server_events *events, void *context,
		struct server **ret_server)
{
	CLEANUP(freep) struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	server->handlers = handlers;
	server->loop = loop;
	if (events)
		server->events = *events;
	server->context = context;
	server->listen_fd = server->spare_fd = -1;
	server->due_ns = NEVER;
	server->quota = (struct quota)QUOTA_INIT;
	server->quota.connections_max = connections_max();
	server->groups = access_groups_find();
	LIST_INIT(&server->peers);
	r = uv_timer_init(loop, &server->timer);
	if (r)
		return r;

	server->timer.data = server;
	(void)uv_check_init(loop, &server->turn); /* cannot fail */
	server->turn.data = server;
	(void)uv_check_start(&server->turn, server_on_turn);
	uv_unref((uv_handle_t *)&server->turn);
	server->n_handles = 2;
	*ret_server = TAKE_PTR(server);
	return 0;
}

void server_share_time(struct server *server, struct loop_times *times)
{
	server->quota.times = times;
}

void server_close(struct server *server)
{
	if (!server || server->is_closing)
		return;

	server->is_closing = true;
	server_stop_listening(server);
	while (!LIST_EMPTY(&server->peers))
		peer_close(LIST_FIRST(&server->peers));
	(void)uv_timer_stop(&server->timer);
	uv_close((uv_handle_t *)&server->timer, server_on_handle_closed);
	uv_close((uv_handle_t *)&server->turn, server_on_handle_closed);
}
