// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that take time run on threads of their own, so that a ping and a cancellation are heard meanwhile. A thread
 * starts when all others are busy, and keeps its connection to the daemon; their number and that of waiting requests
 * are bounded.
 */
#pragma once

#include "mcp-server/rpc.h"

#define WORKERS_MAX 4
#define WORKERS_JOBS_MAX 64 /* running and waiting */
#define WORKERS_IDLE_S 30   /* then a thread closes its connection: a private daemon ends with it */
#define WORKERS_END_S 5	    /* of the input, for what was asked before */

struct workers;

/* Whoever asks: ids of requests are those of one asker. */
struct workers_asker {
	/*
	 * Sends one message of n bytes; called from any thread. @is_answer: not a notification before it; @code: of an
	 * answer that is an error, 0: none
	 */
	void (*send)(const char *json, size_t n, bool is_answer, enum rpc_code code, void *data);
	void *data;
};

/** workers_new() - Return: 0 or -ENOMEM */
int workers_new(const struct server *server, struct workers **ret);
/**
 * workers_add() - run a request, and send its answer
 * @message: taken over, also on failure, which is answered
 * @asker:   copied
 */
void workers_add(struct workers *workers, struct rpc_message *message, const struct workers_asker *asker);
/**
 * workers_cancel() - end the work of a request early, and send nothing for it any more
 * @id: of the request, as JSON
 * Return: whether its answer will not be sent; false: it was, or is being sent, or there is no such request
 */
bool workers_cancel(struct workers *workers, const struct workers_asker *asker, const char *id);
/** workers_cancel_all() - the same for each request: nobody hears the answers any more */
void workers_cancel_all(struct workers *workers);
/** workers_free() - wait for the answers, WORKERS_END_S at most; refuse what is not done by then, and end the threads
 */
void workers_free(struct workers *workers);
