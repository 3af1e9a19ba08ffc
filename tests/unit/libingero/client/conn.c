// SPDX-License-Identifier: Apache-2.0
/*
 * What a client makes of every kind of server but a good one: the test writes the server's
 * bytes, on the other end of a socket pair, and nothing waits.
 */
#include "libingero/client/conn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"

#define TRACE "ingero.v1.Trace.Trace"
#define STATUS "ingero.v1.Query.Status"
#define BYTES(literal) (literal), sizeof(literal) - 1

/* A connection whose greeting is over. Streams begin with 1. */
static struct ingero *conn_new(int *ret_server_fd)
{
	struct ingero *ingero = calloc(1, sizeof(*ingero));
	int fds[2];

	if (!ingero || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
		abort();
	ingero->fd = fds[0];
	ingero->daemon = (struct private_daemon)PRIVATE_DAEMON_INIT;
	LIST_INIT(&ingero->streams);
	*ret_server_fd = fds[1];
	return ingero;
}

struct seen {
	unsigned int n_replies;
	bool is_over;
	int r;
	struct seen *another; /* started from within on_end, unless NULL */
	int r_another;
};

static void on_reply(struct ingero_stream *stream, const ProtobufCMessage *reply, void *data)
{
	(void)stream;
	(void)reply;
	((struct seen *)data)->n_replies++;
}

static void on_end(struct ingero_stream *stream, int r, void *data);

static int start(struct ingero *ingero, struct seen *seen)
{
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;

	return ingero_stream_start(ingero, TRACE, &request.base, on_reply, on_end, seen, NULL);
}

static void on_end(struct ingero_stream *stream, int r, void *data)
{
	struct seen *seen = data;

	CHECK("ends once", !seen->is_over);
	seen->is_over = true;
	seen->r = r;
	if (seen->another)
		seen->r_another = start(stream->ingero, seen->another);
}

static void put(int fd, const void *data, size_t n)
{
	if (send(fd, data, n, MSG_NOSIGNAL) != (ssize_t)n)
		abort();
}

static void put_reply(int fd, uint32_t stream, size_t n_text)
{
	Ingero__V1__TraceReply reply = INGERO__V1__TRACE_REPLY__INIT;
	Ingero__V1__Start message = INGERO__V1__START__INIT;
	CLEANUP(freep) char *text = calloc(1, n_text + 1);
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint8_t *p;

	memset(text, 'x', n_text);
	message.version = text;
	reply.body_case = INGERO__V1__TRACE_REPLY__BODY_START;
	reply.start = &message;
	p = frame_reserve(&out, FRAME_REPLY, stream, ingero__v1__trace_reply__get_packed_size(&reply));
	(void)ingero__v1__trace_reply__pack(&reply, p);
	put(fd, out.data, out.n);
}

static void put_end(int fd, uint32_t stream, uint32_t code, const char *text)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	(void)frame_append_end(&out, stream, code, text);
	put(fd, out.data, out.n);
}

/* What the client has written, frame by frame. */
static enum frame_result take(struct buf *from, int fd, struct frame *ret_frame)
{
	static uint8_t body[FRAME_CLIENT_BODY_MAX];
	uint8_t *p = buf_reserve(from, 65536);
	ssize_t n = recv(fd, p, 65536, MSG_DONTWAIT);
	enum frame_result result;
	size_t used;

	if (n > 0)
		from->n += (size_t)n;
	result = frame_decode(from->data, from->n, FRAME_CLIENT_BODY_MAX, ret_frame, &used);
	if (result == FRAME_OK) {
		memcpy(body, ret_frame->body, ret_frame->body_bytes);
		ret_frame->body = body;
		buf_consume(from, used);
	}
	return result;
}

static void test_server_bytes(void)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t n;
		bool closes;
		int r; /* of ingero_process() */
		bool is_over;
		int end;	  /* of the stream */
		uint32_t code;	  /* that the connection ended with */
		const char *text; /* in the sentence */
	} cases[] = {
		{ "nothing", BYTES(""), false, 0, false, 0, 0, "" },
		{ "a reply", BYTES("\0\0\0\0\2\0\0\0\1\0\0\0"), false, 0, false, 0, 0, "" },
		{ "the end", BYTES("\4\0\0\0\3\0\0\0\1\0\0\0\0\0\0\0"), false, 0, true, 0, 0, "" },
		{ "refusal", BYTES("\6\0\0\0\3\0\0\0\1\0\0\0\4\0\0\0no"), false, 0, true, -EREMOTEIO, 0, "no" },
		{ "cancelled", BYTES("\4\0\0\0\3\0\0\0\1\0\0\0\x9\0\0\0"), false, 0, true, -ECANCELED, 0, "" },
		{ "code of a later version", BYTES("\5\0\0\0\3\0\0\0\1\0\0\0\0\0\0\1?"), false, 0, true, -EREMOTEIO, 0,
		  "?" },
		{ "frames of other streams", BYTES("\0\0\0\0\2\0\0\0\x9\0\0\0\4\0\0\0\3\0\0\0\x9\0\0\0\0\0\0\0"), false,
		  0, false, 0, 0, "" },
		{ "end of the connection", BYTES("\6\0\0\0\3\0\0\0\0\0\0\0\7\0\0\0no"), true, -EPIPE, true, -EPIPE, 7,
		  "no" },
		{ "closed", BYTES(""), true, -EPIPE, true, -EPIPE, 0, "has closed the connection" },
		{ "closed in a frame", BYTES("\5\0\0\0\2\0\0\0\1\0\0\0x"), true, -EPIPE, true, -EPIPE, 0,
		  "has closed the connection" },
		{ "closed after the end", BYTES("\4\0\0\0\3\0\0\0\1\0\0\0\0\0\0\0"), true, -EPIPE, true, 0, 0, "" },
		{ "garbage", BYTES("220 mail.example ESMTP\r\n"), false, -EPIPE, true, -EPIPE, 0, "make no sense" },
		{ "frame over the limit", BYTES("\1\0\x10\0\2\0\0\0\1\0\0\0"), false, -EPIPE, true, -EPIPE, 0,
		  "make no sense" },
		{ "type of a later version", BYTES("\0\0\0\0\6\0\0\0\1\0\0\0"), false, -EPIPE, true, -EPIPE, 0,
		  "make no sense" },
		{ "a client's frame", BYTES("\0\0\0\0\5\0\0\0\1\0\0\0"), false, -EPIPE, true, -EPIPE, 0,
		  "only clients send" },
		{ "reply on stream 0", BYTES("\0\0\0\0\2\0\0\0\0\0\0\0"), false, -EPIPE, true, -EPIPE, 0,
		  "make no sense" },
		{ "message that is none", BYTES("\1\0\0\0\2\0\0\0\1\0\0\0\xff"), false, -EPIPE, true, -EPIPE, 0,
		  "cannot be read" },
		{ "end without a code", BYTES("\3\0\0\0\3\0\0\0\1\0\0\0abc"), false, -EPIPE, true, -EPIPE, 0,
		  "without its code" },
		{ "end of the connection without a code", BYTES("\0\0\0\0\3\0\0\0\0\0\0\0"), false, -EPIPE, true,
		  -EPIPE, 0, "make no sense" },
	};

	/* Each once as a whole and once byte by byte. */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		size_t c = i / 2, step = i % 2 ? 1 : cases[c].n + 1;
		struct seen another = { 0 }, seen = { .another = &another };
		struct ingero *ingero;
		int server_fd, r = 0;

		ingero = conn_new(&server_fd);
		CHECK_INT_EQ(cases[c].name, start(ingero, &seen), 0);
		for (size_t at = 0; at < cases[c].n && r == 0; at += step) {
			put(server_fd, cases[c].bytes + at, MIN(step, cases[c].n - at));
			r = ingero_process(ingero);
		}
		if (cases[c].closes)
			(void)close(server_fd);
		r = ingero_process(ingero);
		CHECK_INT_EQ(cases[c].name, r, cases[c].r);
		CHECK_INT_EQ(cases[c].name, seen.is_over, cases[c].is_over);
		CHECK_INT_EQ(cases[c].name, seen.r, cases[c].end);
		/* A callback may ask again, which works unless the connection is gone, and forgets the last code. */
		if (cases[c].is_over)
			CHECK_INT_EQ(cases[c].name, seen.r_another, cases[c].end == -EPIPE ? -EPIPE : 0);
		CHECK_INT_EQ(cases[c].name, ingero_last_code(ingero), cases[c].code);
		if (!strstr(ingero_last_error(ingero), cases[c].text))
			CHECK_STR_EQ(cases[c].name, ingero_last_error(ingero), cases[c].text);
		ingero_close(ingero);
		CHECK_INT_EQ(cases[c].name, another.is_over, cases[c].is_over && seen.r_another == 0);
		if (!cases[c].closes)
			(void)close(server_fd);
	}
}

static void test_credit(void)
{
	CLEANUP(buf_done) struct buf written = BUF_INIT;
	struct seen seen = { 0 };
	uint64_t taken = 0, credit = 0;
	struct ingero *ingero;
	struct frame frame;
	int server_fd;
	uint32_t n;

	ingero = conn_new(&server_fd);
	CHECK_INT_EQ("start", start(ingero, &seen), 0);
	(void)ingero_process(ingero);
	CHECK_INT_EQ("start", take(&written, server_fd, &frame), FRAME_OK);
	CHECK_INT_EQ("start", frame.type, FRAME_REQUEST);
	CHECK_INT_EQ("start", frame.stream, 1);

	for (int i = 0; i < 1000; i++) {
		put_reply(server_fd, 1, 10000);
		(void)ingero_process(ingero);
		taken += 10000;
		while (take(&written, server_fd, &frame) == FRAME_OK) {
			CHECK_INT_EQ("credit", frame.type, FRAME_CREDIT);
			CHECK_INT_EQ("credit", frame.stream, 1);
			CHECK_INT_EQ("credit", frame_credit_parse(&frame, &n), FRAME_OK);
			credit += n;
		}
		/* The server never comes near the end of what it may send. */
		CHECK_INT_IN("credit left", FRAME_CREDIT_START + (int64_t)credit - (int64_t)taken,
			     FRAME_CREDIT_START / 2 - 11000, FRAME_CREDIT_START + 100 * 1000);
	}
	CHECK_INT_EQ("replies", seen.n_replies, 1000);
	ingero_close(ingero);
	(void)close(server_fd);
}

static void test_stop(void)
{
	CLEANUP(buf_done) struct buf written = BUF_INIT;
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	struct seen seen = { 0 };
	struct ingero_stream *stream;
	struct ingero *ingero;
	struct frame frame;
	int server_fd;

	ingero = conn_new(&server_fd);
	CHECK_INT_EQ("start", ingero_stream_start(ingero, TRACE, &request.base, on_reply, on_end, &seen, &stream), 0);
	CHECK_INT_EQ("waits to be written", ingero_events(ingero), POLLIN | POLLOUT);
	CHECK_INT_EQ("stop", ingero_stream_stop(stream), 0);
	(void)ingero_process(ingero);
	CHECK_INT_EQ("all written", ingero_events(ingero), POLLIN);
	CHECK_INT_EQ("request", take(&written, server_fd, &frame), FRAME_OK);
	CHECK_INT_EQ("cancel", take(&written, server_fd, &frame), FRAME_OK);
	CHECK_INT_EQ("cancel", frame.type, FRAME_CANCEL);
	CHECK_INT_EQ("cancel", frame.stream, 1);

	put_reply(server_fd, 1, 1);
	put_end(server_fd, 1, CALL_OK, "");
	(void)ingero_process(ingero);
	CHECK_INT_EQ("what came after the stop", seen.n_replies, 1);
	CHECK_INT_EQ("ended in order", seen.is_over && seen.r == 0, 1);
	ingero_close(ingero);
	(void)close(server_fd);
}

/* The server says why and closes at once; the client is still writing, and must hear it all the same. */
static void test_last_word(void)
{
	struct seen seen = { 0 };
	struct ingero *ingero;
	int server_fd;

	ingero = conn_new(&server_fd);
	CHECK_INT_EQ("start", start(ingero, &seen), 0);
	put_end(server_fd, 0, CALL_ERROR_QUOTA, "too many connections");
	(void)close(server_fd);
	CHECK_INT_EQ("over", ingero_process(ingero), -EPIPE);
	CHECK_INT_EQ("the reason is heard", ingero_last_code(ingero), CALL_ERROR_QUOTA);
	CHECK("the reason is heard", strstr(ingero_last_error(ingero), "too many connections") != NULL);
	ingero_close(ingero);
}

static void test_silent_end(void)
{
	Ingero__V1__StatusRequest request = INGERO__V1__STATUS_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	struct ingero *ingero;
	int server_fd;

	ingero = conn_new(&server_fd);
	put_end(server_fd, 1, CALL_OK, ""); /* it is there before it was asked for, which nobody can tell */
	CHECK_INT_EQ("end without a reply", ingero_call(ingero, STATUS, &request.base, 1000, &reply), -EPROTO);
	CHECK("end without a reply", reply == NULL);
	put_reply(server_fd, 2, 0); /* whose only message reads as an empty one of any type */
	put_reply(server_fd, 2, 0);
	put_end(server_fd, 2, CALL_ERROR_INTERNAL, "no");
	CHECK_INT_EQ("replies, then a failure", ingero_call(ingero, STATUS, &request.base, 1000, &reply), -EREMOTEIO);
	CHECK("replies, then a failure", reply == NULL);
	ingero_close(ingero);
	(void)close(server_fd);
}

int main(void)
{
	/* What started the test may have had it ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	test_server_bytes();
	test_credit();
	test_stop();
	test_last_word();
	test_silent_end();
	return check_result();
}
