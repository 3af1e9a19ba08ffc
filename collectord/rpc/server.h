// SPDX-License-Identifier: Apache-2.0
/*
 * Connections on the loop: a listening Unix socket, or one end of a socket pair
 * for a private daemon. Dispatch goes by the generated service descriptors to the
 * handlers named rpc_query_*, rpc_trace_*.
 */
#pragma once

#include <uv.h>

struct server;

struct server_events {
	void (*on_peer_open)(uint32_t pid, void *data); /* a client connected (its pid is a tracer's) */
	void (*on_peer_close)(uint32_t pid, void *data);
	void (*on_idle)(void *data); /* the last connection is gone */
};

/** server_open() - @context is handed to every handler through server_context() */
int server_open(uv_loop_t *loop, const struct server_events *events, void *context, struct server **ret_server);
/** server_listen() - bind and listen on a path. Return: 0 or -errno */
int server_listen(struct server *server, const char *path);
/** server_adopt() - serve one connected socket; takes the descriptor on success */
int server_adopt(struct server *server, int fd);
void server_close(struct server *server);

struct call;
/** call_context() - what server_open() was given: in the daemon, struct daemon */
void *call_context(const struct call *call);
