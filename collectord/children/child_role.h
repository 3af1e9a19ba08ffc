// SPDX-License-Identifier: Apache-2.0
/*
 * What a child process can be: the row a role fills in, and the list of them.
 * Each program names its own roles (roles.c has the daemon's).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_SOCKET_FD 3	/* where a child finds its end of the conversation */
#define CHILD_QUESTION_MAX 4096 /* bytes */
#define CHILD_ANSWER_MAX 65536	/* bytes: a message that any kernel's default socket buffer holds */
#define CHILD_CPU_LIMIT_S 20	/* guess: a parse takes milliseconds */

/* A system call beyond those of every child, on descriptors of this range alone. */
struct child_grant {
	int call;	       /* SYS_... */
	int first_fd, last_fd; /* of its first argument; last_fd -1: whatever that is */
};

struct child_role {
	const char *name;
	const char *title; /* that people see; NULL: the name */
	/*
	 * Runs before anything is given up, with no descriptor but the socket: to open what a sealed process cannot.
	 * NULL: nothing. Return: 0; negative ends the child (it may say why on the socket).
	 */
	int (*prepare)(void);
	const struct child_grant *grants;
	size_t n_grants;
	bool maps_files;	 /* may map files it has open, though not to execute */
	int descriptors_max;	 /* it may hold at once; 0: the socket and those of a question */
	uint64_t file_bytes_max; /* each file it writes may grow to; 0: it writes none */
	uint32_t cpu_limit_s;	 /* then it is killed; 0: CHILD_CPU_LIMIT_S */
	/* Either: runs sealed, the whole conversation. Return: exit status */
	int (*serve)(void);
	/*
	 * Or: runs sealed, once per question. fd: the descriptor that came with the question, or -1; closed by the
	 * caller. Return: bytes of the answer; negative when the question makes no sense, which ends the child.
	 */
	ssize_t (*answer)(const void *question, size_t n, int fd, void *answer, size_t room);
};

extern const struct child_role *const child_roles[]; /* ends in NULL */
