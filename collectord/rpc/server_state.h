// SPDX-License-Identifier: Apache-2.0
/*
 * State of the server, for server.c and accept.c; its peers read what all of them share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "rpc/access.h"
#include "rpc/quota.h"
#include "rpc/server.h"
#include "rpc/socket_file.h"

struct peer;

struct server {
	uv_loop_t *loop;
	struct server_events events;
	void *context;
	const rpc_handler *handlers; /* of each method */
	struct access_groups groups;
	struct quota quota;

	LIST_HEAD(, peer) peers;
	struct peer *next_peer; /* of the walk over all peers that is going on */
	unsigned int n_peers;

	uv_check_t turn; /* counts those of the loop */
	uint64_t n_turns;
	uint64_t checked_turn; /* in which the timer came last */
	uv_timer_t timer;      /* looks again at due_ns */
	uint64_t due_ns;
	uv_poll_t listen_poll;
	int listen_fd;
	int spare_fd;		 /* given up to accept a client when descriptors have run out */
	uint64_t tell_full_ns;	 /* not told again before that connections are closed for others */
	struct socket_file file; /* none where the listening socket was passed */

	unsigned int n_handles; /* the loop still holds */
	bool is_closing;
};

/** server_on_handle_closed() - the loop has let go of a handle of the server's own; its data is the server */
void server_on_handle_closed(uv_handle_t *handle);
/** server_stop_listening() - nobody is let in any more */
void server_stop_listening(struct server *server);
