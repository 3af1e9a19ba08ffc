// SPDX-License-Identifier: Apache-2.0
/*
 * The front of a server: connections over TLS, each with a gate, handed on as plain HTTP on a socket pair. What a
 * connection holds, how long it may take, and how many there are is bounded here.
 */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>

#include "web/gate.h"

#define FRONT_GUESTS_MAX 128	/* connections that sent the token */
#define FRONT_STRANGERS_MAX 128 /* those that did not yet */
#define FRONT_ENDING_MAX 64	/* whose place another one has already */
#define FRONT_HEAD_S 5		/* from the first byte of a head to its last; also for the handshake */
#define FRONT_IDLE_S 30		/* between requests; from the first byte of a body to its last; while nobody reads */
#define FRONT_ANSWER_S 330	/* for an answer to begin; then FRONT_IDLE_S until it goes on */

struct front;

struct front_wish {
	const char *address; /* as of listener_open() */
	SSL_CTX *tls;	     /* borrowed */
	const struct gate_rules *rules;
	/* Takes the other end of a connection, plain HTTP; the callee owns it. Return: 0 or -errno */
	int (*hand)(int fd, void *data);
	void *data;
};

/**
 * front_open() - listen
 * @error: WEB_ERROR_BYTES
 * Return: 0; -EINVAL: no such address; -errno, with a sentence
 */
int front_open(const struct front_wish *wish, char *error, struct front **ret);
/** front_name() - "127.0.0.1:8080", with the port that was chosen for port 0 */
const char *front_name(const struct front *front);
/** front_is_loopback() - whether only this machine reaches it */
bool front_is_loopback(const struct front *front);
/** front_run() - accept connections until stop_fd becomes readable. Return: 0 or -errno */
int front_run(struct front *front, int stop_fd);
/** front_close() - end the connections, and wait for their threads */
void front_close(struct front *front);
