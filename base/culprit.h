// SPDX-License-Identifier: Apache-2.0
/* What the process that another one waits for is called, in every text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct culprit_name {
	char text[96];
};

struct culprit_of {
	uint32_t pid; /* 0: the reader may not know the process */
	uint32_t tid; /* its thread; 0: several, or not known */
	uint32_t victim_pid;
	const char *comm;	 /* of the victim's own threads: the name of one; "": not known */
	bool is_same_user;	 /* of a process that the reader may not know: it belongs to the same user */
	const char *user;	 /* its owner's name; NULL: the text leaves it out */
	const char *victim_name; /* a name of its own threads that says nothing; NULL: none is known */
	uint32_t same_name;	 /* it is so many processes of its name and user; 0: it is one */
};

/** culprit_name() - "logrotate (pid 6603, root)", "cc1 (9 processes, root)", "its own thread 4715", "its own other
 * threads", "another process" */
struct culprit_name culprit_name(const struct culprit_of *culprit);
/**
 * culprit_hidden_several() - name of processes that the reader may not know: "3 processes (root)", "another process"
 * @n: number of processes
 * @is_same_user: they belong to the victim's or the reader's own user. @user: their owner's name; NULL: left out
 */
struct culprit_name culprit_hidden_several(size_t n, bool is_same_user, const char *user);
/** culprit_hidden() - name of a process that the reader may not know: "another user's process" */
const char *culprit_hidden(bool is_same_user);
