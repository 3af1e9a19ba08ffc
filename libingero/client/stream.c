// SPDX-License-Identifier: Apache-2.0
/* Calls on a connection: request, replies as credit is given, end. */
#include "libingero/client/conn.h"

#include <errno.h>
#include <string.h>

#include "proto/methods.h"

#define CREDIT_STEP_BYTES (FRAME_CREDIT_START / 2)

static int append_request(struct ingero *ingero, uint32_t id, const char *method, const ProtobufCMessage *request,
			  uint32_t deadline_ms)
{
	size_t n_message = protobuf_c_message_get_packed_size(request);
	size_t n = frame_request_bytes(method) + n_message;
	uint8_t *p;

	if (n > FRAME_CLIENT_BODY_MAX)
		return conn_say(ingero, -EMSGSIZE, "the request is %zu bytes, more than the %u that a request may have",
				n, FRAME_CLIENT_BODY_MAX);
	p = frame_reserve(&ingero->out, FRAME_REQUEST, id, n);
	if (!p)
		return conn_say(ingero, -ENOMEM, "out of memory");
	p = frame_request_write(p, method, deadline_ms);
	(void)protobuf_c_message_pack(request, p);
	return 0;
}

int stream_open(struct ingero *ingero, const char *method, const ProtobufCMessage *request, uint32_t deadline_ms,
		struct ingero_stream **ret_stream)
{
	enum method_id id = method_find(method);
	CLEANUP(freep) struct ingero_stream *stream = NULL;
	int r;

	if (ingero->over)
		return ingero->over; /* its sentence is kept */
	if (id == METHOD_COUNT || strcmp(method_get(id)->request->name, request->descriptor->name) != 0)
		return conn_say(ingero, -EINVAL, "there is no method '%s' that takes a %s", method,
				request->descriptor->name);
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return conn_say(ingero, -ENOMEM, "out of memory");
	r = append_request(ingero, ingero->last_stream + 1, method, request, deadline_ms);
	if (r)
		return r;

	ingero->code = 0;
	stream->ingero = ingero;
	stream->id = ++ingero->last_stream;
	stream->output = method_get(id)->reply;
	LIST_INSERT_HEAD(&ingero->streams, stream, link);
	*ret_stream = TAKE_PTR(stream);
	return 0;
}

void stream_end(struct ingero_stream *stream, int r)
{
	LIST_REMOVE(stream, link);
	if (stream->sync) {
		stream->sync->is_over = true;
		stream->sync->r = r;
	} else if (stream->on_end) {
		stream->on_end(stream, r, stream->data);
	}
	free(stream);
}

static struct ingero_stream *stream_find(struct ingero *ingero, uint32_t id)
{
	struct ingero_stream *stream;

	LIST_FOREACH(stream, &ingero->streams, link)
	{
		if (stream->id == id)
			return stream;
	}
	return NULL;
}

static int stream_reply(struct ingero_stream *stream, const struct frame *frame)
{
	struct ingero *ingero = stream->ingero;
	ProtobufCMessage *message;

	message = protobuf_c_message_unpack(stream->output, NULL, frame->body_bytes, frame->body);
	if (!message)
		return conn_fail_other(ingero, "an answer that cannot be read");

	stream->taken_bytes += (uint32_t)frame->body_bytes;
	if (stream->taken_bytes >= CREDIT_STEP_BYTES &&
	    frame_append_credit(&ingero->out, stream->id, stream->taken_bytes) == 0)
		stream->taken_bytes = 0;

	if (stream->sync) {
		stream->sync->n_replies++;
		if (stream->sync->reply)
			protobuf_c_message_free_unpacked(stream->sync->reply, NULL);
		stream->sync->reply = message;
		return 0;
	}
	if (stream->on_reply)
		stream->on_reply(stream, message, stream->data);
	protobuf_c_message_free_unpacked(message, NULL);
	return 0;
}

static int stream_last(struct ingero_stream *stream, const struct frame *frame)
{
	struct ingero *ingero = stream->ingero;
	struct frame_end end;

	if (frame_end_parse(frame, &end) != FRAME_OK)
		return conn_fail_other(ingero, "an end of a call without its code");
	if (end.code == CALL_OK) {
		stream_end(stream, 0);
		return 0;
	}
	ingero->code = end.code;
	(void)conn_say(ingero, 0, "%s", end.text);
	stream_end(stream, end.code == CALL_ERROR_CANCELLED ? -ECANCELED : -EREMOTEIO);
	return 0;
}

int stream_frame(struct ingero *ingero, const struct frame *frame)
{
	struct ingero_stream *stream = stream_find(ingero, frame->stream);

	switch (frame->type) {
	case FRAME_REPLY:
		return stream ? stream_reply(stream, frame) : 0; /* none: cancelled meanwhile */
	case FRAME_END:
		return stream ? stream_last(stream, frame) : 0;
	case FRAME_REQUEST:
	case FRAME_CREDIT:
	case FRAME_CANCEL:
		break;
	}
	return conn_fail_other(ingero, "a frame that only clients send");
}

int ingero_stream_start(struct ingero *ingero, const char *method, const ProtobufCMessage *request,
			ingero_reply_func on_reply, ingero_end_func on_end, void *data,
			struct ingero_stream **ret_stream)
{
	struct ingero_stream *stream = NULL;
	int r;

	r = stream_open(ingero, method, request, 0, &stream);
	if (r)
		return r;
	stream->on_reply = on_reply;
	stream->on_end = on_end;
	stream->data = data;
	if (ret_stream)
		*ret_stream = stream;
	return 0;
}

int ingero_stream_stop(struct ingero_stream *stream)
{
	struct ingero *ingero = stream->ingero;

	if (ingero->over)
		return ingero->over;
	return frame_append(&ingero->out, FRAME_CANCEL, stream->id, NULL, 0);
}
