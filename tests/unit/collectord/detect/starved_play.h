// SPDX-License-Identifier: Apache-2.0
/* Seconds of a driving thread that waits between its calls. */
#pragma once

#include "play.h"

#define SECONDS 20
#define BEGIN 5 /* seconds that are not looked at */
#define WORKER 4720u
#define EARLIER 4000u /* a process that is older than ours */
#define MAIN PLAY_PID
#define OTHER_THREAD 4712u

/* A second in which the main thread makes calls, waits between them, and computes in the rest. */
static inline void waiting_second(struct play *p, enum blame_class class, uint64_t waits_ns)
{
	struct account *a = play_account(p, MAIN, true);

	play_calls(p, "cudaLaunchKernel", 100, 5 * US, BLAME_ON_CPU);
	play_between(a, class, waits_ns);
	play_rest(a, S);
}

/* A thread waits for what a worker writes into a pipe. */
static inline void worker_wait(struct play *p, uint32_t tid, uint32_t worker, uint64_t ns, bool is_meanwhile)
{
	play_wait(p, &(struct account_wait){ .ns = ns,
					     .max_ns = 50 * MS,
					     .count = 10,
					     .tid = tid,
					     .is_meanwhile = is_meanwhile,
					     .class = BLAME_OTHER,
					     .kind = RESOURCE_PIPE,
					     .waker_tgid = worker,
					     .waker_tid = worker,
					     .waker_uid = PLAY_UID,
					     .waker_comm = "python" });
}
