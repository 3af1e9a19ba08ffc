// SPDX-License-Identifier: Apache-2.0
/*
 * One process of a child on the loop: started from the daemon's own executable, connected by a seqpacket socket,
 * killed, reaped.
 *
 * After process_end() it lives until the kernel reports its exit (its pidfd becomes readable), and is reaped then;
 * nothing waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct child_process;

/**
 * typedef process_readable_func - the socket can be read, or has ended: @status is negative in case of an error of the
 * loop
 */
typedef void (*process_readable_func)(int status, void *data);

/* State of a process: running, or ended with its CPU time. */
struct process_news {
	uint32_t pid;
	const char *role;
	bool is_running;
	uint64_t cpu_ns;
};
typedef void (*process_observe_func)(const struct process_news *news, void *data);

/* A message that lies in the socket before the process starts, so that the process never waits for our next turn. */
struct process_message {
	const void *bytes;
	size_t n;
};

/**
 * process_start() - start one as `--child ROLE` and watch its socket
 * @messages: the first that it receives
 * Return: 0 or -errno
 */
int process_start(uv_loop_t *loop, const char *role, const struct process_message *messages, size_t n_messages,
		  process_readable_func func, void *data, struct child_process **ret_process);
/**
 * process_ask() - send messages to a process that waits for its first, and watch its socket from now on with func
 * Return: 0 or -errno: it has ended, and func is not called
 */
int process_ask(struct child_process *process, const struct process_message *messages, size_t n_messages,
		process_readable_func func, void *data);
/**
 * process_observe() - set the observer of all processes: called when one has started, and when its pid is free again
 * One for the whole program, on the loop; NULL: none
 */
void process_observe(process_observe_func func, void *data);
/** process_end() - kill it; no more callbacks, and memory is released in a turn of the loop */
void process_end(struct child_process *process);
/** process_socket() - our end of the socket, non-blocking, borrowed */
int process_socket(const struct child_process *process);
uint32_t process_pid(const struct child_process *process);
/** process_cpu_ns() - CPU time used until now; 0: unknown, the process has ended */
uint64_t process_cpu_ns(const struct child_process *process);
/** process_be_nice() - lower its priority, irreversibly */
void process_be_nice(const struct child_process *process, int nice_value);
/** process_pause() - stop reading the socket until process_resume(): its messages wait, and then the process does */
void process_pause(struct child_process *process);
int process_resume(struct child_process *process);
