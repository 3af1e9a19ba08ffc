// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is started under trace.
 *
 * It is forked first and waits, already as the user it will run as, until the
 * trace is in place; only then it becomes the program. Its parent is a guardian
 * (guardian.h), which is our child. It stays in our process
 * group, so terminal, pipes and job control work as without us: Ctrl-C and
 * Ctrl-Z reach it from the terminal, and only what was sent to us alone is
 * passed on.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libingero/connect/caller.h"

struct trace_child {
	pid_t pid;	 /* 0: none */
	int pidfd;	 /* -1: none */
	uid_t uid;	 /* that it runs as */
	pid_t guardian;	 /* its parent; 0: none, or it was killed and the program is our child */
	int guardian_fd; /* readable when there is something to reap */
	bool is_guarded; /* somebody is sure to let go on what is stopped */
	int go_fd;	 /* written to when it may start; closed: it gives up */
	int status_fd;	 /* tells that it waits, then why it could not start */
	bool is_released;
	bool has_ended;
	bool has_failed; /* could not become the program */
	int exit_status; /* as a shell would see it, once it has ended */
};

#define TRACE_CHILD_INIT                                                                                               \
	{                                                                                                              \
		.pidfd = -1, .guardian_fd = -1, .go_fd = -1, .status_fd = -1                                           \
	}

/**
 * trace_child_start() - fork it and wait until it waits
 * @argv:             the program and its arguments, NULL-terminated
 * @stdout_to_stderr: its output must not mix with ours
 * @mask:             signal mask it starts with
 * @daemon:           process that traces; 0: not known
 * Return: 0, or -errno
 */
int trace_child_start(struct trace_child *child, char **argv, const struct caller *caller, bool stdout_to_stderr,
		      const sigset_t *mask, pid_t daemon);
/**
 * trace_child_release() - let it become the program
 * Return: 0, or -errno of the exec that failed; then it has ended with status 127 or 126
 */
int trace_child_release(struct trace_child *child);
/** trace_child_reap() - learn whether it has ended; never blocks, and a stopped program has not ended */
void trace_child_reap(struct trace_child *child);
/** trace_child_resume() - continue a process of the program that was stopped while its libraries were attached */
void trace_child_resume(const struct trace_child *child, pid_t pid);
/** trace_child_let_go() - nobody traces any more: whatever of the program was stopped for that goes on */
void trace_child_let_go(const struct trace_child *child);
/** trace_child_signal() - pass on a signal that we got, unless the sender reached it anyway */
void trace_child_signal(const struct trace_child *child, int signal_number, int code);
/**
 * trace_child_done() - close descriptors; one that never was released gives up, and is waited for
 * @is_well: the daemon has let all go on: nobody has to look for them
 */
void trace_child_done(struct trace_child *child, bool is_well);
