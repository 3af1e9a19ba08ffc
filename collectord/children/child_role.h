// SPDX-License-Identifier: Apache-2.0
/*
 * What a child process can be: the row a role fills in, and the list of them.
 * Each program names its own roles (roles.c has the daemon's).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define CHILD_SOCKET_FD 3	/* where a child finds its end of the conversation */
#define CHILD_QUESTION_MAX 4096 /* bytes */
#define CHILD_ANSWER_MAX 65536	/* bytes: a message that any kernel's default socket buffer holds */

struct child_role {
	const char *name;
	/*
	 * Runs sealed. fd: the descriptor that came with the question, or -1; closed by the caller.
	 * Return: bytes of the answer; negative when the question makes no sense, which ends the child.
	 */
	ssize_t (*answer)(const void *question, size_t n, int fd, void *answer, size_t room);
};

extern const struct child_role *const child_roles[]; /* ends in NULL */
