// SPDX-License-Identifier: Apache-2.0
#include "children/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"
#include "children/process.h"

#define LOG_TOPIC "children"
#include "base/log.h"

/* Maximum messages in one turn of the loop, so that other work has its share. */
#define MESSAGES_PER_TURN 8

struct stream {
	struct child_process *process; /* NULL after the end */
	const struct stream_events *events;
	void *data;
	struct buf reply; /* parts of the reply so far */
	uv_timer_t timer;
	uint64_t left_ms;    /* time used when last paused */
	uint64_t resumed_ms; /* time of the loop's clock */
	bool is_paused;
	uint8_t message[CHILD_ANSWER_MAX];
};

static void stream_over(struct stream *s, int r, uint8_t code, const char *why)
{
	process_end(s->process);
	s->process = NULL;
	(void)uv_timer_stop(&s->timer);
	s->events->end(r, code, why, s->data);
}

static void on_stream_timer(uv_timer_t *timer)
{
	stream_over(timer->data, -ETIMEDOUT, 0, "");
}

static void stream_pause(struct stream *s)
{
	uint64_t used_ms = uv_now(s->timer.loop) - s->resumed_ms;

	s->is_paused = true;
	s->left_ms = s->left_ms > used_ms ? s->left_ms - used_ms : 0;
	(void)uv_timer_stop(&s->timer);
	process_pause(s->process);
}

/* Return: whether the process may send now. */
static bool stream_take(struct stream *s, size_t n)
{
	const uint8_t *rest = s->message + 1;
	char why[STREAM_WHY_BYTES];
	int r;

	n--;
	switch ((enum stream_piece)s->message[0]) {
	case STREAM_PART:
	case STREAM_REPLY:
		if (buf_append(&s->reply, rest, n) < 0)
			break;
		if (s->message[0] == STREAM_PART)
			return true;
		r = s->events->reply(s->reply.data, s->reply.n, s->data);
		if (!s->process) /* closed by the callback */
			return false;
		s->reply.n = 0;
		if (r)
			stream_pause(s);
		return r == 0;
	case STREAM_FAIL:
		if (n < 1)
			break;
		(void)snprintf(why, sizeof(why), "%.*s", (int)(n - 1), (const char *)rest + 1);
		stream_over(s, -EREMOTEIO, rest[0], why);
		return false;
	case STREAM_END:
		stream_over(s, 0, 0, "");
		return false;
	}
	stream_over(s, -EPIPE, 0, "");
	return false;
}

static void on_readable(int status, void *data)
{
	struct stream *s = data;

	for (int i = 0; i < MESSAGES_PER_TURN; i++) {
		int fds[FD_PASS_MAX];
		size_t n_fds = 0;
		ssize_t n = status;

		if (status >= 0)
			n = fd_receive(process_socket(s->process), s->message, sizeof(s->message), fds, &n_fds);
		if (n == -EAGAIN)
			return;
		for (size_t k = 0; n >= 0 && k < n_fds; k++)
			(void)close(fds[k]); /* a message after the end */
		if (n <= 0 || n_fds) {
			stream_over(s, -EPIPE, 0, "");
			return;
		}
		if (!stream_take(s, (size_t)n))
			return;
	}
}

static void on_timer_close(uv_handle_t *handle)
{
	struct stream *s = handle->data;

	buf_done(&s->reply);
	free(s);
}

static void process_endp(struct child_process **process)
{
	if (*process)
		process_end(*process);
}

int stream_open(uv_loop_t *loop, struct child_process *waiting, const char *role,
		const struct process_message *questions, size_t n_questions, size_t reply_max, uint64_t limit_ns,
		const struct stream_events *events, void *data, struct stream **ret_stream)
{
	CLEANUP(process_endp) struct child_process *unused = waiting;
	CLEANUP(freep) struct stream *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	if (waiting && process_ask(waiting, questions, n_questions, on_readable, s) == 0)
		s->process = TAKE_PTR(unused);
	else /* none waits, or it has ended */
		r = process_start(loop, role, questions, n_questions, on_readable, s, &s->process);
	if (r < 0)
		return r;
	r = uv_timer_init(loop, &s->timer);
	if (r < 0) {
		process_end(s->process);
		return r;
	}

	s->timer.data = s;
	s->events = events;
	s->data = data;
	s->reply.cap = reply_max;
	uv_update_time(loop); /* the start does not count as time of the process */
	s->left_ms = (limit_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	s->resumed_ms = uv_now(loop);
	(void)uv_timer_start(&s->timer, on_stream_timer, s->left_ms, 0);
	*ret_stream = TAKE_PTR(s);
	return 0;
}

const struct child_process *stream_process(const struct stream *s)
{
	return s->process;
}

void stream_resume(struct stream *s)
{
	if (!s->process || !s->is_paused)
		return;
	s->is_paused = false;
	s->resumed_ms = uv_now(s->timer.loop);
	(void)uv_timer_start(&s->timer, on_stream_timer, s->left_ms, 0);
	if (process_resume(s->process) < 0) /* out of memory for the poll: its time will end it */
		(void)log_warning(-ENOMEM, "cannot listen to a child process, which will be ended");
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	if (s->process)
		process_end(s->process);
	s->process = NULL;
	uv_close((uv_handle_t *)&s->timer, on_timer_close);
}

/* ---- in the process ---- */

static int message_send(enum stream_piece kind, const void *bytes, size_t n)
{
	static uint8_t message[CHILD_ANSWER_MAX];

	message[0] = (uint8_t)kind;
	if (n)
		memcpy(message + 1, bytes, n);
	return fd_send(CHILD_SOCKET_FD, message, n + 1, NULL, 0);
}

int stream_send(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	int r = 0;

	for (; n > CHILD_ANSWER_MAX - 1 && r == 0; p += CHILD_ANSWER_MAX - 1, n -= CHILD_ANSWER_MAX - 1)
		r = message_send(STREAM_PART, p, CHILD_ANSWER_MAX - 1);
	return r ? r : message_send(STREAM_REPLY, p, n);
}

void stream_fail(uint8_t code, const char *fmt, ...)
{
	char text[1 + STREAM_WHY_BYTES];

	text[0] = (char)code;
	FORMAT_INTO(text + 1, sizeof(text) - 1, fmt);
	(void)message_send(STREAM_FAIL, text, 1 + strlen(text + 1));
}

int stream_finish(void)
{
	return message_send(STREAM_END, NULL, 0);
}

ssize_t stream_receive(void *bytes, size_t room)
{
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	ssize_t n = fd_receive(CHILD_SOCKET_FD, bytes, room, fds, &n_fds);

	for (size_t i = 0; n >= 0 && i < n_fds; i++)
		(void)close(fds[i]);
	return n;
}
