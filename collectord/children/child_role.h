// SPDX-License-Identifier: Apache-2.0
/*
 * Roles of a child process: the row of a role, and the list of roles. Each program has its own list (roles.c has the
 * daemon's).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_SOCKET_FD 3	/* descriptor of the child's end of the socket */
#define CHILD_QUESTION_MAX 65536 /* bytes: the copy of a code object */
#define CHILD_ANSWER_MAX 65536	/* bytes: a message that any kernel's default socket buffer can hold */
#define CHILD_CPU_LIMIT_S 20	/* guess: a parse takes milliseconds */

/* A system call beside those of every child, for this range of descriptors alone. */
struct child_grant {
	int call;	       /* SYS_... */
	int first_fd, last_fd; /* range of its first argument; last_fd -1: any */
};

struct child_role {
	const char *name;
	const char *title; /* name shown to users; NULL: the name of the role */
	/*
	 * Runs before any right is given up, with no descriptor but the socket: opens what a sealed process cannot.
	 * NULL: nothing.
	 * Return: 0; a negative value ends the child (which may send the reason).
	 */
	int (*prepare)(void);
	const struct child_grant *grants;
	size_t n_grants;
	bool maps_files;	 /* may map its open files, though not executable */
	int descriptors_max;	 /* maximum number of descriptors; 0: the socket and those of a question */
	uint64_t file_bytes_max; /* maximum size of each file that it writes; 0: it writes none */
	uint32_t cpu_limit_s;	 /* CPU seconds until it is killed; 0: CHILD_CPU_LIMIT_S */
	/* One of the two: runs sealed, for the whole conversation. Return: exit status */
	int (*serve)(void);
	/*
	 * Or: runs sealed, once per question. fd: the descriptor sent with the question, or -1; closed by the caller.
	 * Return: bytes of the answer; negative for an invalid question, which ends the child.
	 */
	ssize_t (*answer)(const void *question, size_t n, int fd, void *answer, size_t room);
};

extern const struct child_role *const child_roles[]; /* ends in NULL */
