// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/stdio.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "mcp-server/workers.h"

#define READ_BYTES 65536

struct stdio {
	struct workers *workers;
	struct workers_asker asker; /* the one at the other end */
	int out;
	pthread_mutex_t mutex; /* lines are written whole */
	atomic_bool is_gone;   /* nobody reads the answers any more */
};

static void line_send(const char *json, size_t n, bool is_answer, enum rpc_code code, void *data)
{
	struct stdio *s = data;

	(void)is_answer;
	(void)code;
	(void)pthread_mutex_lock(&s->mutex);
	if (!s->is_gone && (fd_write_full(s->out, json, n) < 0 || fd_write_full(s->out, "\n", 1) < 0))
		s->is_gone = true;
	(void)pthread_mutex_unlock(&s->mutex);
}

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

	while (in->n && ((end = memchr(in->data, '\n', in->n)) || is_end)) {
		size_t n = end ? (size_t)(end - (const char *)in->data) : in->n;

		if (!line_is_blank((const char *)in->data, n))
			message_line_take(s, (const char *)in->data, n);
		buf_consume(in, end ? n + 1 : n);
	}
	if (in->n > RPC_MESSAGE_BYTES_MAX + 1)
		in->n = RPC_MESSAGE_BYTES_MAX + 1;
}

static int input_read(struct stdio *s, int fd)
{
	CLEANUP(buf_done) struct buf in = BUF_INIT;
	ssize_t n = 1;

	while (n != 0 && !s->is_gone) {
		uint8_t *room = buf_reserve(&in, READ_BYTES);

		if (!room)
			return -ENOMEM;
		n = read(fd, room, READ_BYTES);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			in.n += (size_t)n;
		lines_take(s, &in, n == 0);
	}
	return 0;
}

int stdio_serve(const struct server *server, int in, int out)
{
	struct stdio s = { .out = out, .asker = { .send = line_send, .data = &s } };
	int r = workers_new(server, &s.workers);

	if (r < 0)
		return r;
	(void)pthread_mutex_init(&s.mutex, NULL);
	r = input_read(&s, in);
	workers_free(s.workers);
	(void)pthread_mutex_destroy(&s.mutex);
	return r;
}
