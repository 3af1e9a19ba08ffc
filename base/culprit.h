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

/* One of the processes that are to blame. */
struct culprit_one {
	bool is_hidden; /* the reader may not know it */
	uint32_t group; /* those of a group have one name: its owner's user id, or whether that is the reader's */
	double share;	/* of the blame, 0...1 */
};

/* Those of a group that the reader may not know: a text tells them once, together. */
struct culprit_group {
	size_t n;
	double share; /* of all of them */
	size_t first; /* index of the first; 0 where there is none */
};

/** typedef culprit_one_func - one of the processes to blame, by its index */
typedef struct culprit_one (*culprit_one_func)(const void *data, size_t i);
/**
 * culprit_group_of() - count the processes of a group that the reader may not know
 * @one: called with @data for the indices below @n
 */
struct culprit_group culprit_group_of(culprit_one_func one, const void *data, size_t n, uint32_t group);
/** culprit_hidden() - name of a process that the reader may not know: "another user's process" */
const char *culprit_hidden(bool is_same_user);
