// SPDX-License-Identifier: Apache-2.0
/*
 * A child process for one question, which answers in pieces and ends.
 *
 * Pieces are handed on as they come and never looked into. Whoever has no room for
 * more says so: then nothing is read, the process waits, and its time stands still.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#define STREAM_WHY_BYTES 512

/* First byte of each message of such a process. */
enum stream_piece {
	STREAM_PART = 'P',  /* bytes of a reply that goes on in the next message */
	STREAM_REPLY = 'R', /* the last bytes of a reply */
	STREAM_FAIL = 'F',  /* one byte: enum call_error; then a sentence; it was the last message */
	STREAM_END = 'E',   /* no more replies; it was the last message */
};

struct child_process;
struct stream;

/* Of the one that asked; on the loop. None is called from within a function below, and none after stream_close(). */
struct stream_events {
	/* A whole reply. Return: 0; 1: no room for another until stream_resume() */
	int (*reply)(const void *bytes, size_t n, void *data);
	/*
	 * Over; the last event. r: 0; -EREMOTEIO: the process says why (code, why); -ETIMEDOUT: killed, its time
	 * was up; -EPIPE: it died or did not keep to the conversation; then code and why mean nothing
	 */
	void (*end)(int r, uint8_t code, const char *why, void *data);
};

/**
 * stream_open() - start a process and ask it
 * @role:      of the program's list, borrowed for ever
 * @questions: sent one after another, each at most STREAM_QUESTION_MAX bytes; the first is read before the process
 *             is sealed
 * @reply_max: bytes of the largest reply
 * @limit_ns:  time it may take, pauses left out
 * Return: 0 or -errno
 */
#define STREAM_QUESTION_MAX (96u * 1024) /* what a socket holds by default twice over */
struct stream_question {
	const void *bytes;
	size_t n;
};
int stream_open(uv_loop_t *loop, const char *role, const struct stream_question *questions, size_t n_questions,
		size_t reply_max, uint64_t limit_ns, const struct stream_events *events, void *data,
		struct stream **ret_stream);
/** stream_process() - which answers, as long as it has not said its last word; NULL then */
const struct child_process *stream_process(const struct stream *stream);
/** stream_resume() - there is room again */
void stream_resume(struct stream *stream);
/** stream_close() - kill it if it still runs; memory goes in the loop's turn. NULL is fine */
void stream_close(struct stream *stream);

/* ---- in the process ---- */

/** stream_send() - one reply, in as many messages as it takes. Return: 0 or -errno */
int stream_send(const void *bytes, size_t n);
/** stream_fail() - the last message: an error for the caller */
void stream_fail(uint8_t code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** stream_finish() - the last message: all is said */
int stream_finish(void);
/** stream_receive() - the next question. Return: bytes, 0 when the daemon hung up, -errno */
ssize_t stream_receive(void *bytes, size_t room);
