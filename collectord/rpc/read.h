// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to the database: each is answered by a sealed process of its own, whose
 * replies are handed on unread.
 *
 * Few run at once, of one user and in all; others wait their turn.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h" /* NSEC_PER_SEC */

/*
 * All are guesses: revisit with real dashboards. One process may use a CPU and 64 MiB. Of one user so many run, or one
 * less than the machine has CPUs, so that from three on he leaves one to the others; but two, since one may wait for
 * its reader.
 */
#define READ_USER_RUNNING 4
#define READ_USER_RUNNING_MIN 2
#define READ_TOTAL_RUNNING 16 /* without root's, who must always get in */
#define READ_USER_WAITING 32
#define READ_TOTAL_WAITING 256

/* A question computes like any program for so long; then, or where its user has used half of his time, it is nice. */
#define READ_QUICK_NS NSEC_PER_SEC
#define READ_NICE 10
#define READ_SPARE_MS 60000 /* a process for the next question waits so long (children/spare.h) */
#define READ_LOOK_MS 250    /* between two looks at what those that run have used */

struct call;
struct read_hub;
struct rpc_context;

struct read_question {
	struct call *call;
	uint64_t limit_ns;
	bool is_only_reply;
	struct buf packed; /* for the process: struct reader_question and the request behind it */
	struct buf more;   /* packed fields that the daemon adds to the one reply */
};

/** read_hub_has_room() - whether one more question of this user may wait */
bool read_hub_has_room(const struct read_hub *hub, uint32_t uid);
/**
 * read_hub_ask() - takes the call, which is answered later, and both buffers
 * @context: borrowed as long as the hub lives
 * Return: 0, or -ENOMEM with nothing taken
 */
int read_hub_ask(struct read_hub *hub, const struct rpc_context *context, struct read_question *question);

/**
 * read_hub_start() - start one waiting question that may run, of the user with the fewest running questions
 *
 * Once in a turn of the loop, behind all requests that came with it: the loop stands still while a process starts,
 * and a question that is cancelled at once needs none. Return: whether there may be another
 */
bool read_hub_start(struct read_hub *hub);
/** read_hub_new() - @cpu_ns: that questions of one user may use at once (rpc/cpu_budget.h); 0: no limit */
int read_hub_new(uv_loop_t *loop, uint64_t cpu_ns, struct read_hub **ret_hub);
/** read_hub_gone() - a process that answered is gone */
void read_hub_gone(struct read_hub *hub, uint32_t pid, uint64_t cpu_ns);
/** read_hub_asker() - for whom a process of this name answers, or did a moment ago. Return: whether it does */
bool read_hub_asker(const struct read_hub *hub, uint32_t pid, const char *comm, uint32_t *ret_uid);
/** read_hub_stop() - nothing is asked any more; NULL is fine */
void read_hub_stop(struct read_hub *hub);
/** read_hub_free() - after every call is over; NULL is fine */
void read_hub_free(struct read_hub *hub);
