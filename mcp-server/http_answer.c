// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/http_answer.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define STREAM_BYTES 4096
#define SIGN_OF_LIFE_MS 15000 /* a comment on a stream without news */
#define LOOK_MS 100	      /* within which it is seen that a client has gone */

/* An answer on its way from a worker. */
struct wait {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct buf answer; /* of a stream: events that were not read yet */
	bool is_stream;
	bool is_done;
	enum rpc_code code; /* of an answer that is an error; 0: none */
};

/* A reply that tells its progress: events, the last of which is the answer. */
struct stream {
	struct workers *workers;
	struct MHD_Connection *connection;
	struct wait wait;
	char id[RPC_ID_BYTES_MAX + 32];
};

/* ---- replies ---- */

/* Every reply of the server. @allow, @challenge: headers of 405 and 401, NULL: none */
enum MHD_Result http_reply(struct MHD_Connection *connection, unsigned int status, struct buf *body, const char *header,
			   const char *value)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(body->n, body->data ? body->data : (void *)"", MHD_RESPMEM_MUST_COPY);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	if (body->n)
		(void)MHD_add_response_header(response, "Content-Type", "application/json");
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (header)
		(void)MHD_add_response_header(response, header, value);
	r = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return r;
}

enum MHD_Result http_reply_nothing(struct MHD_Connection *connection, unsigned int status, const char *header,
				   const char *value)
{
	CLEANUP(buf_done) struct buf none = BUF_INIT;

	return http_reply(connection, status, &none, header, value);
}

enum MHD_Result http_reply_error(struct MHD_Connection *connection, unsigned int status, const char *id,
				 enum rpc_code code, const char *sentence)
{
	CLEANUP(buf_done) struct buf body = BUF_INIT;

	rpc_error_append(&body, id, code, sentence, "");
	return http_reply(connection, status, &body, NULL, NULL);
}

/* ---- running ---- */

/* Errors of methods and arguments are replies as any other. */
static unsigned int answer_status(enum rpc_code code)
{
	return code == RPC_NO_CAPABILITY ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_OK;
}

static void wait_send(const char *json, size_t n, bool is_answer, enum rpc_code code, void *data)
{
	struct wait *wait = data;

	if (!is_answer && !wait->is_stream)
		return; /* a reply is one object */
	(void)pthread_mutex_lock(&wait->mutex);
	if (wait->is_stream)
		(void)buf_append_text(&wait->answer, "event: message\ndata: ");
	(void)buf_append(&wait->answer, json, n);
	if (wait->is_stream)
		(void)buf_append_text(&wait->answer, "\n\n");
	wait->is_done = is_answer;
	wait->code = code;
	(void)pthread_cond_signal(&wait->changed);
	(void)pthread_mutex_unlock(&wait->mutex);
}

static bool client_has_gone(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd fd = { .fd = info ? info->connect_fd : -1, .events = POLLRDHUP };

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* With the lock held. Waits for news, a little while. */
static void wait_briefly(struct wait *wait)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_MS * (long)NSEC_PER_MSEC;
	until.tv_sec += until.tv_nsec / (long)NSEC_PER_SEC;
	until.tv_nsec %= (long)NSEC_PER_SEC;
	(void)pthread_cond_timedwait(&wait->changed, &wait->mutex, &until);
}

static void wait_init(struct wait *wait, bool is_stream)
{
	*wait = (struct wait){ .answer = BUF_INIT, .is_stream = is_stream };
	(void)pthread_mutex_init(&wait->mutex, NULL);
	(void)pthread_cond_init(&wait->changed, NULL);
}

static void wait_done(struct wait *wait)
{
	(void)pthread_cond_destroy(&wait->changed);
	(void)pthread_mutex_destroy(&wait->mutex);
	buf_done(&wait->answer);
}

/* Return: whether the answer came; false: the client has gone, and none will come */
static bool answer_wait(struct workers *workers, struct wait *wait, struct MHD_Connection *connection,
			const struct workers_asker *asker, const char *id)
{
	bool is_watching = true, is_done;

	(void)pthread_mutex_lock(&wait->mutex);
	while (!wait->is_done) {
		wait_briefly(wait);
		if (wait->is_done || !is_watching || !client_has_gone(connection))
			continue;
		(void)pthread_mutex_unlock(&wait->mutex);
		if (workers_cancel(workers, asker, id))
			return false;
		(void)pthread_mutex_lock(&wait->mutex);
		is_watching = false; /* its answer is on its way */
	}
	is_done = wait->is_done;
	(void)pthread_mutex_unlock(&wait->mutex);
	return is_done;
}

static enum MHD_Result slow_answer(struct workers *workers, struct rpc_message *message,
				   struct MHD_Connection *connection)
{
	struct wait wait;
	const struct workers_asker asker = { .send = wait_send, .data = &wait };
	enum MHD_Result r = MHD_NO;
	char id[sizeof(message->id)];

	memcpy(id, message->id, sizeof(id));
	wait_init(&wait, /* is_stream= */ false);
	workers_add(workers, message, &asker);
	if (answer_wait(workers, &wait, connection, &asker, id))
		r = http_reply(connection, answer_status(wait.code), &wait.answer, NULL, NULL);
	wait_done(&wait);
	return r;
}

/* ---- streams ---- */

/* A client that has a token for its progress, and takes events. */
static bool wants_stream(const struct rpc_message *message, struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");

	return json_object_get(json_object_get(message->params, "_meta"), "progressToken") && accept &&
	       strcasestr(accept, "text/event-stream");
}

/* The library asks for the next bytes of a stream, on the thread of its connection. */
static ssize_t stream_read(void *data, uint64_t position, char *bytes, size_t most)
{
	struct stream *stream = data;
	struct wait *wait = &stream->wait;
	unsigned int waited_ms = 0;
	bool has_gone = false;
	size_t n;

	(void)position;
	(void)pthread_mutex_lock(&wait->mutex);
	while (!wait->answer.n && !wait->is_done && !has_gone && waited_ms < SIGN_OF_LIFE_MS) {
		wait_briefly(wait);
		waited_ms += LOOK_MS;
		has_gone = client_has_gone(stream->connection);
	}
	if (!wait->answer.n && !wait->is_done && !has_gone)
		(void)buf_append_text(&wait->answer, ":\n\n");
	n = MIN(wait->answer.n, most);
	if (n) {
		memcpy(bytes, wait->answer.data, n);
		buf_consume(&wait->answer, n);
	}
	(void)pthread_mutex_unlock(&wait->mutex);
	if (n)
		return (ssize_t)n;
	return has_gone ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static void stream_free(void *data)
{
	struct stream *stream = data;
	struct wait *wait = &stream->wait;
	const struct workers_asker asker = { .send = wait_send, .data = wait };

	/* What is not cancelled is being sent: it is waited for. */
	if (!workers_cancel(stream->workers, &asker, stream->id)) {
		(void)pthread_mutex_lock(&wait->mutex);
		while (!wait->is_done)
			wait_briefly(wait);
		(void)pthread_mutex_unlock(&wait->mutex);
	}
	wait_done(wait);
	free(stream);
}

static enum MHD_Result stream_answer(struct workers *workers, struct rpc_message *message,
				     struct MHD_Connection *connection)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct workers_asker asker = { .send = wait_send };
	struct MHD_Response *response;
	enum MHD_Result r;

	if (!stream)
		return MHD_NO;
	stream->workers = workers;
	stream->connection = connection;
	memcpy(stream->id, message->id, sizeof(stream->id));
	wait_init(&stream->wait, /* is_stream= */ true);
	asker.data = &stream->wait;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, stream_read, stream, stream_free);
	if (!response) {
		wait_done(&stream->wait);
		free(stream);
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
	(void)MHD_add_response_header(response, "Cache-Control", "no-cache");
	(void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	workers_add(workers, message, &asker);
	r = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result quick_answer(struct rpc_message *message, struct MHD_Connection *connection)
{
	struct rpc_call call = { .message = message };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	rpc_run(&call, &out);
	buf_done(&call.error_data);
	return http_reply(connection, answer_status(call.code), &out, NULL, NULL);
}

enum MHD_Result http_answer(struct workers *workers, struct rpc_message *message, struct MHD_Connection *connection)
{
	if (!rpc_is_slow(message))
		return quick_answer(message, connection);
	return wants_stream(message, connection) ? stream_answer(workers, message, connection)
						 : slow_answer(workers, message, connection);
}
