// SPDX-License-Identifier: Apache-2.0
/*
 * Who comes to the daemon, and what becomes of it as a service: listening, clients, idleness, reload.
 */
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
	int socket_fd;		 /* that listens already, borrowed; negative: there is none */
	const char *socket_path; /* where to listen otherwise */
	uint64_t idle_ns;	 /* with a socket passed and nothing to record: leave when idle for so long; 0: stay */
	/* What the configuration says now; uids live until the next. Return: 0; -errno, said. NULL: nothing to read
	 * again */
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
	bool can_leave;		/* the socket is systemd's: whoever comes later starts the next one */
	bool is_over;
	struct rpc_context context; /* of the handlers */
};

/** serve_is_private() - of the one client that started this daemon */
static inline bool serve_is_private(const struct serve_options *options)
{
	return options->private_fd >= 0;
}

/**
 * serve_listen() - before anything is given up: not everybody may listen there. Clients wait from now on
 * @serve: its members from options to tracers are set, and the context
 * Return: 0 or -errno, said
 */
int serve_listen(struct serve *serve);
/** serve_start() - answer them from now on. Return: 0 or -errno, said */
int serve_start(struct serve *serve);
/** serve_leave() - the supervisor hears that it stops */
void serve_leave(struct serve *serve);
/** serve_close() - no more peers */
void serve_close(struct serve *serve);
