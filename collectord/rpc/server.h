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
struct server;

/** typedef rpc_handler - answers a call, now or later (rpc/call.h); the request is gone when it returns */
typedef void (*rpc_handler)(struct call *call, const ProtobufCMessage *request);

struct server_events {
	void (*on_peer_open)(uint32_t pid, void *data); /* a client connected */
	void (*on_peer_close)(uint32_t pid, void *data);
	void (*on_answered)(void *data); /* a client has been sent all that it asked for, beyond the greeting */
	/* Requests were looked at. Return: whether there is more to do: then it is called again after others had a turn
	 */
	bool (*on_turn)(void *data);
	void (*on_idle)(void *data); /* the last connection is gone; not called while the server closes */
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
/**
 * server_listen() - bind and listen on a path, mode 0666; a socket that nobody answers is replaced
 * Return: 0; -EADDRINUSE when another server answers there, or what is there is no socket; -errno
 */
int server_listen(struct server *server, const char *path);
/** server_listen_fd() - serve a socket that listens already; takes the descriptor on success */
int server_listen_fd(struct server *server, int fd);
/** server_adopt() - serve one connected socket; takes the descriptor on success */
int server_adopt(struct server *server, int fd);
/** server_accept() - let in whoever waits now; for those who are about to leave, or to work for long */
void server_accept(struct server *server);
/** server_count() - connections that are open; NULL has none */
unsigned int server_count(const struct server *server);
/** server_resume() - calls that were parked go on; not from a handler */
void server_resume(struct server *server);
/** server_close() - end every call and connection; memory goes when the loop has run; NULL is fine */
void server_close(struct server *server);

/** server_check() - do what is due by the clock; the server's own timer calls it too. For clocks turned by hand */
void server_check(struct server *server);

/** call_context() - what server_open() was given: in the daemon, struct daemon */
void *call_context(const struct call *call);
