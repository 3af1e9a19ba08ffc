// SPDX-License-Identifier: Apache-2.0
/*
 * The guardian: a process which makes sure that no process of a traced program stays stopped after the daemon or the
 * client has ended.
 *
 * The kernel half stops a process only below a guardian: a running ancestor of the same user that inherits orphans
 * (PR_SET_CHILD_SUBREAPER) and is marked as guarding (PR_SET_PDEATHSIG is SIGCONT). So every process that can be
 * stopped is a descendant of the guardian and can be found. The guardian stands between client and program: it is the
 * parent of the program, in a process group of its own, and reacts to no signal but SIGKILL and SIGSTOP. When the
 * client or the daemon ends, the guardian removes its mark, waits until every program of the kernel half has seen that,
 * and continues all stopped descendants. It ends when the client or the program ends, and sends the client the
 * program's exit status.
 *
 * There are two guardians, and each covers the other's death. The second guardian is the parent of the guardian and a
 * child of the client, and only waits for the guardian's exit. If the guardian is killed, the second guardian inherits
 * the program and its orphans, continues those that are stopped, and exits; the program becomes a child of the client.
 * If the second guardian is killed, the guardian continues all stopped descendants and never guards again. The kernel
 * half stops a process only if both meet the conditions above.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Messages of the guardian: the first, then how the program ended. */
struct guardian_hello {
	pid_t guardian;
	pid_t program;	/* or -errno */
	bool can_guard; /* it can find and signal its descendants */
};

struct guardian_end {
	int status; /* status as of wait(2) */
};

/* Messages of the client. End of file without a message: the client was killed. */
enum guardian_word {
	GUARDIAN_START = 's',  /* the client has its pidfd of the program */
	GUARDIAN_LET_GO = 'l', /* the trace has ended */
	GUARDIAN_END = 'e',    /* the daemon has continued all stopped processes */
};

struct guardian_start {
	pid_t client;
	int client_fd; /* socket of a pair that keeps message boundaries */
	int daemon_fd; /* a pidfd; -1: none */
	int second_fd; /* read end of a pipe; only the second guardian keeps the write end open */
	pid_t program; /* the waiting child; or -errno */
	bool can_guard;
	bool is_job; /* in a shell's job, which the shell continues after Ctrl-Z: guardian_is_job() */
};

/** guardian_is_job() - in the client: whether a parent in its session controls its process group */
bool guardian_is_job(void);

/** guardian_prepare() - in each guardian, before it forks: become the subreaper. Return: whether it can guard */
bool guardian_prepare(void);
/**
 * guardian_second_run() - the second guardian, from the fork of the guardian on
 * @start:    that of the guardian; without the program
 * @guardian: its child
 * @alive_fd: write end of the pipe of start->second_fd
 * @is_ready: it can guard
 */
__attribute__((noreturn)) void guardian_second_run(const struct guardian_start *start, pid_t guardian, int alive_fd,
						   bool is_ready);
/** guardian_run() - guard until the end; closes all descriptors but those in `start` */
__attribute__((noreturn)) void guardian_run(const struct guardian_start *start);
/** guardian_tell() - in the client: send a message. Return: 0, or -errno: the guardian has ended */
int guardian_tell(int fd, enum guardian_word word);
