// SPDX-License-Identifier: Apache-2.0
/*
 * A helper process that reads data which users can write, so that the daemon does not.
 *
 * It is started from the daemon's own executable, has no capability and no file but its socket, cannot open, signal or
 * trace anything (seccomp), and is killed and replaced when it dies or misses a deadline. Questions are sent one after
 * another; answers are validated as untrusted input.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct child;

#define CHILD_QUEUE_MAX 256 /* maximum number of waiting questions, each with its descriptor */
#define CHILD_QUEUE_OWNER_MAX (CHILD_QUEUE_MAX / 4 * 3) /* of one owner */

/**
 * child_open() - prepare a child; the process starts with the first question
 * @role: its role, passed to main() as `--child ROLE` and from there to child_main(); borrowed for ever
 */
int child_open(uv_loop_t *loop, const char *role, struct child **ret_child);
/** child_begin() - start the process before its first question, if none runs. Nothing is said if it cannot start */
void child_begin(struct child *child);
/**
 * child_renew() - replace a process that has answered, and waits for the next question for idle_ns or longer: the fresh
 * one has nothing in memory
 */
void child_renew(struct child *child, uint64_t idle_ns);
/** child_close() - kill it; open questions end with -ECANCELED; memory is released in a turn of the loop */
void child_close(struct child *child);
/** child_pid() - process id while it runs, else 0 */
uint32_t child_pid(const struct child *child);

/**
 * typedef child_answer_func - called once per question, on the loop
 * @r: 0, -ETIMEDOUT (killed), -EPIPE (died), -ECANCELED
 * @answer: n bytes, aligned for any type, valid during the call; NULL when r < 0
 */
typedef void (*child_answer_func)(int r, const void *answer, size_t n, void *data);

/**
 * child_ask() - send a question with one descriptor
 * @fd:       borrowed, the child gets a copy; -1: none
 * @owner:    owner of the bytes; a process that saw bytes of one owner never sees another's
 * @limit_ns: time for the answer, counted from when the child gets the question
 * Return: 0, or -errno (-ENOBUFS: too many wait), and then func is not called
 */
int child_ask(struct child *child, const void *question, size_t n, int fd, uint32_t owner, uint64_t limit_ns,
	      child_answer_func func, void *data);

/**
 * child_main() - body of a child process, called by main(): seal, then answer until the socket closes
 * Return: exit status when the process could not be sealed; a sealed one does not return
 */
int child_main(const char *role);
