// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "mcp-server/workers.h"

#define READ_BYTES 65536
#define LOOK_MS 1000 /* between looks at the end of an input that tells it to its reader alone, as a file does */
#define LAST_MS 200  /* for each piece of what is due when the time after the end is over */

struct stdio {
	struct workers *workers;
	struct workers_asker asker; /* the one at the other end */
	int in, out;
	pthread_mutex_t mutex;	   /* lines are written whole */
	atomic_bool is_gone;	   /* nobody reads the answers any more */
	_Atomic uint64_t ended_ns; /* monotonic, when the input ended; 0: it goes on */
};

/* ---- answers ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void end_note(struct stdio *s)
{
	uint64_t none = 0;

	(void)atomic_compare_exchange_strong(&s->ended_ns, &none, now_ns());
}

/* How long the reader may go on taking nothing, with what is due once the input has ended. */
static int patience_ms(uint64_t ended_ns)
{
	uint64_t end_ns = ended_ns + WORKERS_END_S * NSEC_PER_SEC, now = now_ns();

	if (!ended_ns)
		return LOOK_MS;
	return MAX((int)(end_ns > now ? (end_ns - now) / (NSEC_PER_SEC / 1000) : 0), LAST_MS);
}

/*
 * Waits until the output takes bytes. A reader may take its time, which holds the input back; but after the end of the
 * input a reader that does not read keeps nobody here. The end is seen here, too: whoever reads the input may be the
 * one who waits. Return: whether to write
 */
static bool output_wait(struct stdio *s)
{
	for (;;) {
		uint64_t ended_ns = atomic_load(&s->ended_ns);
		struct pollfd fds[] = { { .fd = s->out, .events = POLLOUT },
					{ .fd = ended_ns ? -1 : s->in, .events = POLLRDHUP } };
		int r = poll(fds, ARRAY_SIZE(fds), patience_ms(ended_ns));

		if (r < 0 && errno != EINTR)
			return false;
		if (r > 0 && fds[0].revents)
			return true; /* also of a reader that has gone: the write tells */
		if (r > 0 && fds[1].revents)
			end_note(s);
		if (r == 0 && ended_ns)
			return false;
	}
}

/* PIPE_BUF bytes fit into a pipe that takes any; the descriptor itself may be shared, and stays as it blocks. */
static bool out_write(struct stdio *s, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put;

		if (!output_wait(s))
			return false;
		put = send(s->out, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (put < 0 && errno == ENOTSOCK)
			put = write(s->out, p, MIN(n, PIPE_BUF));
		if (put < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		p += MAX(put, 0);
		n -= (size_t)MAX(put, 0);
	}
	return true;
}

static void line_send(const char *json, size_t n, bool is_answer, enum rpc_code code, void *data)
{
	struct stdio *s = data;

	(void)is_answer;
	(void)code;
	(void)pthread_mutex_lock(&s->mutex);
	if (!s->is_gone && !(out_write(s, json, n) && out_write(s, "\n", 1)))
		s->is_gone = true;
	(void)pthread_mutex_unlock(&s->mutex);
}

/* ---- requests ---- */

/* `notifications/cancelled`; what it names may have been answered meanwhile. */
static void cancel_take(struct stdio *s, const struct rpc_message *message)
{
	const json_t *id = json_object_get(message->params, "requestId");
	CLEANUP(freep) char *text = id ? json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	if (text)
		(void)workers_cancel(s->workers, &s->asker, text);
}

static void message_line_take(struct stdio *s, const char *text, size_t n)
{
	struct rpc_message message = RPC_MESSAGE_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct rpc_call call = { .message = &message };

	switch (rpc_read(text, n, &message, &out)) {
	case RPC_REFUSED:
		break;
	case RPC_IGNORED:
		break;
	case RPC_NOTIFICATION:
		if (strcmp(message.name, "notifications/cancelled") == 0)
			cancel_take(s, &message);
		break;
	case RPC_REQUEST:
		if (rpc_is_slow(&message))
			workers_add(s->workers, &message, &s->asker);
		else
			rpc_run(&call, &out);
		break;
	}
	if (out.n)
		line_send(buf_text(&out), out.n, /* is_answer= */ true, call.code, s);
	buf_done(&call.error_data);
	rpc_message_done(&message);
}

static bool line_is_blank(const char *text, size_t n)
{
	while (n > 0 && strchr(" \t\r", text[n - 1]) && text[n - 1])
		n--;
	return n == 0;
}

/*
 * Takes the whole lines of the buffer. Of one that is too long, the beginning is kept until its end comes, which is
 * enough to refuse it; the rest is dropped.
 */
static void lines_take(struct stdio *s, struct buf *in, bool is_end)
{
	const char *end;

	while (in->n && !s->is_gone && ((end = memchr(in->data, '\n', in->n)) || is_end)) {
		size_t n = end ? (size_t)(end - (const char *)in->data) : in->n;

		if (!line_is_blank((const char *)in->data, n))
			message_line_take(s, (const char *)in->data, n);
		buf_consume(in, end ? n + 1 : n);
	}
	if (in->n > RPC_MESSAGE_BYTES_MAX + 1)
		in->n = RPC_MESSAGE_BYTES_MAX + 1;
}

static int input_read(struct stdio *s)
{
	CLEANUP(buf_done) struct buf in = BUF_INIT;
	ssize_t n = 1;

	while (n != 0 && !s->is_gone) {
		uint8_t *room = buf_reserve(&in, READ_BYTES);

		if (!room)
			return -ENOMEM;
		n = read(s->in, room, READ_BYTES);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			in.n += (size_t)n;
		else if (n == 0)
			end_note(s);
		lines_take(s, &in, n == 0);
	}
	return 0;
}

int stdio_serve(const struct server *server, int in, int out)
{
	struct stdio s = { .in = in, .out = out, .asker = { .send = line_send, .data = &s } };
	int r = workers_new(server, &s.workers);

	if (r < 0)
		return r;
	(void)pthread_mutex_init(&s.mutex, NULL);
	r = input_read(&s);
	if (s.is_gone)
		workers_cancel_all(s.workers);
	workers_free(s.workers);
	(void)pthread_mutex_destroy(&s.mutex);
	return r;
}
