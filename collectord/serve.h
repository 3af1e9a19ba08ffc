// SPDX-License-Identifier: Apache-2.0
/* Clients of the daemon, and its life as a service: listening, clients, idleness, reload. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "rpc/context.h"
#include "service.h"

struct recording_wish;
struct server;
struct source_start;
struct start_report;
struct tracers;

struct serve_options {
	int private_fd;		 /* serve this connected socket and end with it; -1: listen */
	int socket_fd;		 /* a listening socket, borrowed; negative: none */
	const char *socket_path; /* path to listen on otherwise */
	uint64_t idle_ns;	 /* with a passed socket and no recording: exit when idle for this time; 0: stay */
	/*
	 * Current configuration; uids live until the next call. Return: 0; -errno, logged. NULL: no configuration to
	 * read again
	 */
	int (*reload)(struct recording_wish *ret_wish, uint64_t *ret_idle_ns, void *data);
	void *reload_data;
};

struct serve {
	const struct serve_options *options;
	void (*stop)(int r, void *data); /* 0, or -errno, said */
	void *data;
	const struct start_report *report;
	uv_loop_t *loop;
	struct source_start *source;
	struct tracers *tracers;
	struct server *server;
	struct service service; /* unless private */
	bool can_leave;		/* the socket is systemd's: a later client starts the next daemon */
	bool is_over;
	struct rpc_context context; /* of the handlers */
};

/** serve_is_private() - whether one client started this daemon for itself */
static inline bool serve_is_private(const struct serve_options *options)
{
	return options->private_fd >= 0;
}

/**
 * serve_listen() - listen, before any right is given up; clients queue from now on
 * @serve: its members from options to tracers are set, and the context
 * Return: 0 or -errno, logged
 */
int serve_listen(struct serve *serve);
/** serve_start() - answer clients from now on. Return: 0 or -errno, logged */
int serve_start(struct serve *serve);
/** serve_leave() - report to the supervisor that it stops */
void serve_leave(struct serve *serve);
/** serve_close() - accept no more peers */
void serve_close(struct serve *serve);
