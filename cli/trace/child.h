// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is started under trace.
 *
 * It is forked first, already as the user it will run as, and waits until the probes are in place; then it calls exec.
 * Its parent is a guardian (guardian.h), whose parent, the second guardian, is our child. It stays in our process
 * group, so terminal, pipes and job control work as usual: the terminal sends Ctrl-C and Ctrl-Z to the whole group, and
 * only signals sent to this process alone are passed on.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "libingero/connect/caller.h"

struct trace_child {
	pid_t pid;	 /* 0: none */
	int pidfd;	 /* -1: none */
	uid_t uid;	 /* user that it runs as */
	pid_t guardian;	 /* its parent; 0: none, or the guardian was killed and the program is our child */
	pid_t second;	 /* the guardian's parent, our child */
	int guardian_fd; /* readable when a child can be reaped */
	bool is_guarded; /* the guardian continues stopped processes */
	int go_fd;	 /* a byte starts the program; closing it makes the child give up */
	int status_fd;	 /* the child writes here when it waits, then the errno of a failed exec */
	bool is_released;
	bool has_ended;
	bool has_failed; /* exec failed */
	int exit_status; /* exit status as shells report it, once the program has ended */
};

#define TRACE_CHILD_INIT                                                                                               \
	{                                                                                                              \
		.pidfd = -1, .guardian_fd = -1, .go_fd = -1, .status_fd = -1                                           \
	}

/** trace_child_name() - the program that a command line starts: of one with env(1) the program behind its variables */
const char *trace_child_name(char *const *argv);
/**
 * trace_child_start() - fork the child and wait until it is ready
 * @argv:             the program and its arguments, NULL-terminated
 * @stdout_to_stderr: send its output to stderr, because stdout carries data
 * @mask:             its initial signal mask
 * @daemon:           pid of the daemon; 0: unknown
 * Return: 0, or -errno
 */
int trace_child_start(struct trace_child *child, char **argv, const struct caller *caller, bool stdout_to_stderr,
		      const sigset_t *mask, pid_t daemon);
/**
 * trace_child_release() - start the program
 * Return: 0, or -errno of the exec that failed; then it has ended with status 127 or 126
 */
int trace_child_release(struct trace_child *child);
/** trace_child_reap() - reap the program if it has ended; never blocks, and a stopped program has not ended */
void trace_child_reap(struct trace_child *child);
/** trace_child_resume() - continue a process of the program that was stopped while its libraries were attached */
void trace_child_resume(const struct trace_child *child, pid_t pid);
/** trace_child_let_go() - after the trace: continue all processes of the program that the daemon had stopped */
void trace_child_let_go(const struct trace_child *child);
/** trace_child_signal() - pass on a signal, unless the sender reached the program anyway */
void trace_child_signal(const struct trace_child *child, int signal_number, int code);
/**
 * trace_child_done() - close descriptors; a child that was never started gives up, and is reaped
 * @is_well: whether the daemon has continued all stopped processes, so that no search is needed
 */
void trace_child_done(struct trace_child *child, bool is_well);
