// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"

void wire_answer_done(struct wire_answer *answer)
{
	buf_done(&answer->replies);
}

bool wire_send(struct wire *wire, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t put = send(wire->fd, p, n, MSG_NOSIGNAL);

		if (put < 0 && errno != EINTR)
			return false;
		if (put > 0)
			p += put, n -= (size_t)put;
	}
	return true;
}

uint32_t wire_request(struct wire *wire, const char *method, const void *message, size_t n)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint8_t *p = frame_reserve(&out, FRAME_REQUEST, ++wire->stream, frame_request_bytes(method) + n);

	if (!p)
		abort();
	p = frame_request_write(p, method, 0);
	if (n)
		memcpy(p, message, n);
	return wire_send(wire, out.data, out.n) ? wire->stream : 0;
}

bool wire_receive(struct wire *wire, struct frame *ret_frame)
{
	static uint8_t body[FRAME_SERVER_BODY_MAX]; /* a copy, so that the buffer can be reused */
	size_t used;

	for (;;) {
		enum frame_result r = frame_decode(wire->in.data, wire->in.n, FRAME_SERVER_BODY_MAX, ret_frame, &used);
		uint8_t *p;
		ssize_t n;

		if (r == FRAME_OK)
			break;
		if (r != FRAME_SHORT)
			return false;
		p = buf_reserve(&wire->in, 65536);
		if (!p)
			abort();
		n = recv(wire->fd, p, 65536, 0);
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		if (n > 0)
			wire->in.n += (size_t)n;
	}
	memcpy(body, ret_frame->body, ret_frame->body_bytes);
	ret_frame->body = body;
	buf_consume(&wire->in, used);
	return true;
}

static void give_credit(struct wire *wire, uint32_t stream, size_t n)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	if (frame_append_credit(&out, stream, (uint32_t)n))
		abort();
	(void)wire_send(wire, out.data, out.n); /* on failure the next frame shows the reason */
}

void wire_collect(struct wire *wire, uint32_t stream, struct wire_answer *ret_answer)
{
	struct frame frame;
	struct frame_end end;

	*ret_answer = (struct wire_answer){ .code = UINT32_MAX, .replies = BUF_INIT };
	while (wire_receive(wire, &frame)) {
		if (frame.stream != stream && frame.stream != 0)
			continue;
		if (frame.type == FRAME_REPLY) {
			if (frame_append(&ret_answer->replies, FRAME_REPLY, stream, frame.body, frame.body_bytes))
				abort();
			ret_answer->n_replies++;
			give_credit(wire, stream, frame.body_bytes);
		} else if (frame.type == FRAME_END && frame_end_parse(&frame, &end) == FRAME_OK) {
			ret_answer->code = end.code;
			memcpy(ret_answer->text, end.text, sizeof(end.text));
			ret_answer->is_closed = frame.stream == 0;
			return;
		}
	}
	ret_answer->is_closed = true;
}

void wire_ask(struct wire *wire, const char *method, const ProtobufCMessage *message, struct wire_answer *ret_answer)
{
	CLEANUP(freep) uint8_t *packed = malloc(protobuf_c_message_get_packed_size(message) + 1);
	size_t n;

	if (!packed)
		abort();
	n = protobuf_c_message_pack(message, packed);
	wire_collect(wire, wire_request(wire, method, packed, n), ret_answer);
}

bool wire_next_reply(const struct wire_answer *answer, size_t *at, struct frame *ret_frame)
{
	size_t used;

	if (frame_decode(answer->replies.data + *at, answer->replies.n - *at, FRAME_SERVER_BODY_MAX, ret_frame,
			 &used) != FRAME_OK)
		return false;
	*at += used;
	return true;
}

bool wire_open(struct wire *wire, int fd)
{
	Ingero__V1__HelloRequest hello = INGERO__V1__HELLO_REQUEST__INIT;
	struct wire_answer answer;
	bool is_ok;

	*wire = (struct wire){ .fd = fd, .in = BUF_INIT };
	hello.protocol_major = FRAME_PROTOCOL_MAJOR;
	hello.protocol_minor = FRAME_PROTOCOL_MINOR;
	hello.program = (char *)(uintptr_t) "wire";
	wire_ask(wire, FRAME_HELLO_METHOD, &hello.base, &answer);
	is_ok = answer.code == CALL_OK && answer.n_replies == 1;
	wire_answer_done(&answer);
	return is_ok;
}

void wire_close(struct wire *wire)
{
	(void)close(wire->fd);
	buf_done(&wire->in);
}
