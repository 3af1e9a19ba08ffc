// SPDX-License-Identifier: Apache-2.0
/*
 * Who makes sure that no process of a traced program stays stopped, whatever becomes of the daemon and of the client.
 *
 * The kernel half stops a process only below a guardian: an ancestor that runs, has the process's user, inherits
 * orphans (PR_SET_CHILD_SUBREAPER) and says that it guards (PR_SET_PDEATHSIG is SIGCONT). So all that can be stopped
 * descends from it and can be found. It stands between
 * client and program: parent of the program, in a process group of its own, deaf to every signal but SIGKILL and
 * SIGSTOP. When the client or the daemon ends, it says so no more, waits until no program of the kernel
 * half can have missed that, and lets all go on. It ends when the client or the program does, and tells the client
 * how the program ended. Should it be killed, the program becomes the client's child.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What the guardian says first, and then how the program ended, each as one message. */
struct guardian_hello {
	pid_t program;	/* or -errno */
	bool can_guard; /* it can find and signal its descendants */
};

struct guardian_end {
	int status; /* as wait(2) has it */
};

/* What the client says. When its end is closed without a word, it was killed. */
enum guardian_word {
	GUARDIAN_START = 's',  /* it knows the program */
	GUARDIAN_LET_GO = 'l', /* nobody traces any more */
	GUARDIAN_END = 'e',    /* the daemon has let all go on */
};

struct guardian_start {
	int client_fd; /* of a pair of sockets that keep messages apart */
	int daemon_fd; /* a pidfd; -1: none */
	pid_t program; /* its child, which waits; or -errno */
	bool can_guard;
	bool is_job; /* of a shell, which continues what Ctrl-Z has stopped: guardian_is_job() */
};

/** guardian_is_job() - in the client: whether its process group has a parent in its session to look after it */
bool guardian_is_job(void);

/** guardian_prepare() - before the program is forked: inherit its orphans. Return: whether it can guard */
bool guardian_prepare(void);
/** guardian_run() - from then on; what is open besides `start` is closed */
__attribute__((noreturn)) void guardian_run(const struct guardian_start *start);
/** guardian_tell() - in the client. Return: 0, or -errno: it is gone */
int guardian_tell(int fd, enum guardian_word word);
