// SPDX-License-Identifier: Apache-2.0
/*
 * A child process for one question, which answers in pieces and ends.
 *
 * Pieces are passed on as they come, without decoding. A receiver without room returns 1: then nothing is read, the
 * process waits, and its time stands still.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#define STREAM_WHY_BYTES 512

/* First byte of each message of such a process. */
enum stream_piece {
	STREAM_PART = 'P',  /* part of a reply that continues in the next message */
	STREAM_REPLY = 'R', /* last part of a reply */
	STREAM_FAIL = 'F',  /* one byte: enum call_error; then a sentence; the last message */
	STREAM_END = 'E',   /* no more replies; the last message */
};

struct child_process;
struct process_message;
struct stream;

/* Callbacks on the loop. None is called from within a function below, and none after stream_close(). */
struct stream_events {
	/* A whole reply. Return: 0; 1: no room for another until stream_resume() */
	int (*reply)(const void *bytes, size_t n, void *data);
	/*
	 * The end; the last callback. r: 0; -EREMOTEIO: the process gives the reason (code, why); -ETIMEDOUT: killed,
	 * its time was up; -EPIPE: it died or broke the protocol; for the last two code and why are not set
	 */
	void (*end)(int r, uint8_t code, const char *why, void *data);
};

/**
 * stream_open() - send its questions to a process
 * @waiting:   one of the role that waits for them (children/spare.h), taken in any case; NULL: one is started
 * @role:      name of a role, borrowed for ever
 * @questions: what the process receives first, each at most STREAM_QUESTION_MAX bytes; the first is read before the
 *             process is sealed
 * @reply_max: maximum bytes of a reply
 * @limit_ns:  its time, without pauses
 * Return: 0 or -errno
 */
#define STREAM_QUESTION_MAX (96u * 1024) /* twice the default size of a socket buffer */
int stream_open(uv_loop_t *loop, struct child_process *waiting, const char *role,
		const struct process_message *questions, size_t n_questions, size_t reply_max, uint64_t limit_ns,
		const struct stream_events *events, void *data, struct stream **ret_stream);
/** stream_process() - the process until its last message; NULL afterwards */
const struct child_process *stream_process(const struct stream *stream);
/** stream_resume() - there is room again */
void stream_resume(struct stream *stream);
/** stream_close() - kill it if it still runs; memory is released in a turn of the loop. NULL is allowed */
void stream_close(struct stream *stream);

/* ---- in the process ---- */

/** stream_send() - send one reply, in as many messages as needed. Return: 0 or -errno */
int stream_send(const void *bytes, size_t n);
/** stream_fail() - send the last message: an error for the caller */
void stream_fail(uint8_t code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** stream_finish() - send the last message: the replies are complete */
int stream_finish(void);
/** stream_receive() - read the next question. Return: bytes, 0 when the daemon closed the socket, -errno */
ssize_t stream_receive(void *bytes, size_t room);
