// SPDX-License-Identifier: Apache-2.0
#include "raw.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "ingero/v1/ingero.pb-c.h"
#include "rpc/server.h"
#include "tests/support/check.h"

uint64_t raw_now_ns = 1000000000000, raw_spent_ns;

uint64_t clock_now_ns(void)
{
	return raw_now_ns;
}

/* Nothing takes any time but what the test says. */
uint64_t clock_spent_ns(void)
{
	return raw_spent_ns;
}

void raw_open(struct raw *raw, struct toy *toy)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) ||
	    server_adopt(toy->server, fds[1]))
		abort();
	*raw = (struct raw){ .toy = toy, .fd = fds[0] };
}

void raw_open_greeted(struct raw *raw, struct toy *toy)
{
	raw_open(raw, toy);
	raw_send_hello(raw, FRAME_PROTOCOL_MAJOR);
	raw_settle(raw);
	raw_expect_reply("greeting", raw, 1);
	raw_expect_end("greeting", raw, 1, CALL_OK);
}

void raw_close(struct raw *raw)
{
	(void)close(raw->fd);
	buf_done(&raw->in);
}

static void raw_receive(struct raw *raw)
{
	while (!raw->is_closed && !raw->holds_reading) {
		uint8_t *p = buf_reserve(&raw->in, 65536);
		ssize_t n = recv(raw->fd, p, 65536, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			raw->is_closed = true;
		else
			raw->in.n += (size_t)n;
	}
}

/* Rounds that must pass without a byte before all is taken as quiet: reading, a timer of 0 ms, writing. */
#define QUIET_ROUNDS 4

void raw_settle(struct raw *raw)
{
	for (int quiet = 0; quiet < QUIET_ROUNDS; quiet++) {
		size_t before = raw->in.n;

		(void)uv_run(&raw->toy->loop, UV_RUN_NOWAIT);
		raw_receive(raw);
		if (raw->in.n != before)
			quiet = 0;
	}
}

void raw_send(struct raw *raw, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t put = send(raw->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (put < 0 && errno != EAGAIN)
			return; /* the server has closed, as some cases want it to */
		if (put < 0)
			(void)uv_run(&raw->toy->loop, UV_RUN_NOWAIT);
		else
			p += put, n -= (size_t)put;
	}
}

static void raw_send_buf(struct raw *raw, struct buf *out)
{
	raw_send(raw, out->data, out->n);
	buf_done(out);
}

void raw_send_frame(struct raw *raw, enum frame_type type, uint32_t stream, const void *body, size_t n)
{
	struct buf out = BUF_INIT;

	(void)frame_append(&out, type, stream, body, n);
	raw_send_buf(raw, &out);
}

void raw_send_request(struct raw *raw, uint32_t stream, const char *method, uint32_t deadline_ms, const void *message,
		      size_t n)
{
	struct buf out = BUF_INIT;
	uint8_t *p = frame_reserve(&out, FRAME_REQUEST, stream, frame_request_bytes(method) + n);

	p = frame_request_write(p, method, deadline_ms);
	if (n)
		memcpy(p, message, n);
	raw_send_buf(raw, &out);
}

static void raw_send_message(struct raw *raw, uint32_t stream, const char *method, uint32_t deadline_ms,
			     const ProtobufCMessage *message)
{
	uint8_t bytes[4096];

	raw_send_request(raw, stream, method, deadline_ms, bytes, protobuf_c_message_pack(message, bytes));
}

void raw_send_hello(struct raw *raw, uint32_t major)
{
	Ingero__V1__HelloRequest hello = INGERO__V1__HELLO_REQUEST__INIT;

	hello.protocol_major = major;
	hello.program = (char *)"raw";
	raw_send_message(raw, 1, FRAME_HELLO_METHOD, 0, &hello.base);
}

void raw_send_credit(struct raw *raw, uint32_t stream, uint32_t n_bytes)
{
	struct buf out = BUF_INIT;

	(void)frame_append_credit(&out, stream, n_bytes);
	raw_send_buf(raw, &out);
}

void raw_send_operation(struct raw *raw, uint32_t stream, uint32_t deadline_ms, enum toy_operation operation)
{
	Ingero__V1__OperationsRequest request = INGERO__V1__OPERATIONS_REQUEST__INIT;
	uint32_t pid = operation;

	request.pids = &pid;
	request.n_pids = operation != TOY_REPLY;
	raw_send_message(raw, stream, "ingero.v1.Query.Operations", deadline_ms, &request.base);
}

void raw_send_trace(struct raw *raw, uint32_t stream, enum toy_trace kind, uint32_t n_pieces, uint32_t piece_bytes)
{
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	uint32_t pids[] = { kind, n_pieces };

	request.pids = pids;
	request.n_pids = 2;
	request.sample_every = piece_bytes;
	raw_send_message(raw, stream, "ingero.v1.Trace.Trace", 0, &request.base);
}

enum raw_next raw_next(struct raw *raw, struct frame *ret_frame)
{
	static uint8_t body[FRAME_SERVER_BODY_MAX];
	size_t used;

	switch (frame_decode(raw->in.data, raw->in.n, FRAME_SERVER_BODY_MAX, ret_frame, &used)) {
	case FRAME_OK:
		memcpy(body, ret_frame->body, ret_frame->body_bytes);
		ret_frame->body = body;
		buf_consume(&raw->in, used);
		return RAW_FRAME;
	case FRAME_SHORT:
		return raw->is_closed ? RAW_CLOSED : RAW_NOTHING;
	case FRAME_TOO_LARGE:
	case FRAME_BAD:
		break;
	}
	return RAW_NONSENSE;
}

void raw_expect_end(const char *name, struct raw *raw, uint32_t stream, uint32_t code)
{
	struct frame_end end = { .code = UINT32_MAX };
	struct frame frame = { .stream = UINT32_MAX };

	CHECK_INT_EQ(name, raw_next(raw, &frame), RAW_FRAME);
	CHECK_INT_EQ(name, frame.type, FRAME_END);
	CHECK_INT_EQ(name, frame.stream, stream);
	if (frame.type != FRAME_END)
		return;
	CHECK_INT_EQ(name, frame_end_parse(&frame, &end), FRAME_OK);
	CHECK_INT_EQ(name, end.code, code);
	CHECK(name, (code == CALL_OK) == (end.text[0] == 0)); /* every refusal has its sentence */
}

void raw_expect_reply(const char *name, struct raw *raw, uint32_t stream)
{
	struct frame frame = { .stream = UINT32_MAX };

	CHECK_INT_EQ(name, raw_next(raw, &frame), RAW_FRAME);
	CHECK_INT_EQ(name, frame.type, FRAME_REPLY);
	CHECK_INT_EQ(name, frame.stream, stream);
}

void raw_expect_closed(const char *name, struct raw *raw)
{
	struct frame frame;

	CHECK_INT_EQ(name, raw_next(raw, &frame), RAW_CLOSED);
}

void raw_expect_nothing(const char *name, struct raw *raw)
{
	struct frame frame;

	CHECK_INT_EQ(name, raw_next(raw, &frame), RAW_NOTHING);
}
