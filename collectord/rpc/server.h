// SPDX-License-Identifier: Apache-2.0
/*
 * Connections on the loop: a listening Unix socket, or one end of a socket pair
 * for a private daemon. Dispatch goes by the rows of proto/methods.h.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct call;
struct loop_times;
struct server;

/** typedef rpc_handler - answers a call, now or later (rpc/call.h); the request is freed when it returns */
typedef void (*rpc_handler)(struct call *call, const ProtobufCMessage *request);

struct server_events {
	void (*on_peer_open)(uint32_t pid, uint32_t uid, void *data); /* a client connected */
	void (*on_peer_close)(uint32_t pid, void *data);
	void (*on_answered)(void *data); /* a client has all its answers, beyond the greeting */
	/* Requests were looked at. Return: whether there is more to do: then it is called again after others had a turn
	 */
	bool (*on_turn)(void *data);
	void (*on_idle)(void *data); /* the last connection has ended; not called while the server closes */
};

/**
 * server_open() - prepare to serve
 * @handlers: of each method, METHOD_COUNT of them (rpc/handlers.h); borrowed as long as the server lives
 * @events:   copied; any member may be NULL
 * @context:  handed to every handler through call_context(), and to events as data
 *
 * Return: 0; -ENOMEM; -errno of the loop
 */
int server_open(uv_loop_t *loop, const rpc_handler *handlers, const struct server_events *events, void *context,
		struct server **ret_server);
/** server_share_time() - requests count in these times of users, too; borrowed, they outlive it. Before the first
 * client */
void server_share_time(struct server *server, struct loop_times *times);
/**
 * server_listen() - bind and listen on a path, mode 0666; a socket that nobody answers is replaced
 * Return: 0; -EADDRINUSE when another server answers there, or what is there is no socket; -errno
 */
int server_listen(struct server *server, const char *path);
/** server_listen_fd() - serve a socket that listens already; takes the descriptor on success */
int server_listen_fd(struct server *server, int fd);
/** server_adopt() - serve one connected socket; takes the descriptor on success */
int server_adopt(struct server *server, int fd);
/** server_accept() - accept clients that wait now; before an exit or long work */
void server_accept(struct server *server);
/** server_count() - number of open connections; 0 for NULL */
unsigned int server_count(const struct server *server);
/** server_resume() - resume parked calls; not from a handler */
void server_resume(struct server *server);
/** server_close() - end every call and connection; memory is released after the loop has run; NULL is allowed */
void server_close(struct server *server);

/** server_check() - do all work that is due; the server's own timer calls it too. For clocks turned by hand */
void server_check(struct server *server);

/** call_context() - context given to server_open(): in the daemon, struct daemon */
void *call_context(const struct call *call);
