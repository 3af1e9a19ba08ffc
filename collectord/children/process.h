// SPDX-License-Identifier: Apache-2.0
/*
 * One process of a child on the loop: started from the daemon's own executable, spoken
 * to over a seqpacket socket, killed, reaped.
 *
 * A process that was told to end lives on until the kernel says it is gone (its pidfd
 * becomes readable) and is reaped then; nobody waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct child_process;

/** typedef process_readable_func - the socket can be read, or has ended: @status is negative when the loop says so */
typedef void (*process_readable_func)(int status, void *data);

/* What became of one: it runs now, or is gone and has used so much. */
struct process_news {
	uint32_t pid;
	const char *role;
	bool is_running;
	uint64_t cpu_ns;
};
typedef void (*process_observe_func)(const struct process_news *news, void *data);

/**
 * process_start() - start one as `--child ROLE` and watch its socket
 * Return: 0 or -errno
 */
int process_start(uv_loop_t *loop, const char *role, process_readable_func func, void *data,
		  struct child_process **ret_process);
/**
 * process_observe() - be told when any of them has started, and when its number is free again
 * For the whole program, on the loop; NULL: nobody is told
 */
void process_observe(process_observe_func func, void *data);
/** process_end() - kill it; nothing is heard of it any more, memory goes in the loop's turn */
void process_end(struct child_process *process);
/** process_socket() - our end, not blocking, borrowed */
int process_socket(const struct child_process *process);
uint32_t process_pid(const struct child_process *process);
/** process_cpu_ns() - CPU time that it has used until now; 0: it cannot be told any more */
uint64_t process_cpu_ns(const struct child_process *process);
/** process_be_nice() - let others go before it; what was given up does not come back */
void process_be_nice(const struct child_process *process, int nice_value);
/** process_pause() - do not watch the socket until process_resume(): what it says waits, and then it does */
void process_pause(struct child_process *process);
int process_resume(struct child_process *process);
