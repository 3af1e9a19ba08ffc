// SPDX-License-Identifier: Apache-2.0
#include "proto/frame.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_u32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

enum frame_result frame_decode(const uint8_t *data, size_t n, size_t max_body, struct frame *ret_frame,
			       size_t *ret_used)
{
	size_t length;

	if (n < FRAME_HEADER_BYTES)
		return FRAME_SHORT;

	ret_frame->stream = get_u32(data + 8);
	length = get_u32(data);
	if (length > max_body)
		return FRAME_TOO_LARGE;
	/* A flag changes the meaning of a frame, so an unknown flag cannot be ignored. */
	if (data[4] < FRAME_REQUEST || data[4] > FRAME_CANCEL || data[5] || data[6] || data[7])
		return FRAME_BAD;
	if (n - FRAME_HEADER_BYTES < length)
		return FRAME_SHORT;

	ret_frame->type = data[4];
	ret_frame->body = data + FRAME_HEADER_BYTES;
	ret_frame->body_bytes = length;
	*ret_used = FRAME_HEADER_BYTES + length;
	return FRAME_OK;
}

uint8_t *frame_reserve(struct buf *out, enum frame_type type, uint32_t stream, size_t body_bytes)
{
	uint8_t *p = buf_reserve(out, FRAME_HEADER_BYTES + body_bytes);

	if (!p)
		return NULL;

	put_u32(p, (uint32_t)body_bytes);
	p[4] = (uint8_t)type;
	p[5] = p[6] = p[7] = 0;
	put_u32(p + 8, stream);
	out->n += FRAME_HEADER_BYTES + body_bytes;
	return p + FRAME_HEADER_BYTES;
}

int frame_append(struct buf *out, enum frame_type type, uint32_t stream, const void *body, size_t body_bytes)
{
	size_t want = out->n + FRAME_HEADER_BYTES + body_bytes;
	uint8_t *p = frame_reserve(out, type, stream, body_bytes);

	if (!p)
		return out->cap && want > out->cap ? -E2BIG : -ENOMEM;
	if (body_bytes)
		memcpy(p, body, body_bytes);
	return 0;
}

size_t frame_request_bytes(const char *method)
{
	return 4 + 1 + strlen(method);
}

uint8_t *frame_request_write(uint8_t *to, const char *method, uint32_t deadline_ms)
{
	size_t n = strlen(method);

	put_u32(to, deadline_ms);
	to[4] = (uint8_t)n;
	memcpy(to + 5, method, n);
	return to + 5 + n;
}

static bool is_method_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
}

enum frame_result frame_request_parse(const struct frame *frame, struct frame_request *ret_request)
{
	const uint8_t *p = frame->body;
	size_t n;

	if (frame->body_bytes < 5)
		return FRAME_BAD;
	n = p[4];
	if (n == 0 || n > FRAME_METHOD_MAX || frame->body_bytes - 5 < n)
		return FRAME_BAD;
	for (size_t i = 0; i < n; i++) {
		if (!is_method_char(p[5 + i]))
			return FRAME_BAD;
	}

	ret_request->deadline_ms = get_u32(p);
	memcpy(ret_request->method, p + 5, n);
	ret_request->method[n] = 0;
	ret_request->message = p + 5 + n;
	ret_request->message_bytes = frame->body_bytes - 5 - n;
	return FRAME_OK;
}

/* Cuts a sentence between characters. */
static size_t text_bytes(const char *text)
{
	size_t n = strnlen(text, FRAME_TEXT_MAX + 1), cut = FRAME_TEXT_MAX;

	if (n <= FRAME_TEXT_MAX)
		return n;
	while (cut > FRAME_TEXT_MAX - 4 && ((uint8_t)text[cut] & 0xc0) == 0x80)
		cut--;
	/* more continuation bytes than any character has: not UTF-8 anyway */
	return ((uint8_t)text[cut] & 0xc0) == 0x80 ? FRAME_TEXT_MAX : cut;
}

int frame_append_end(struct buf *out, uint32_t stream, uint32_t code, const char *text)
{
	size_t n = text_bytes(text);
	uint8_t *p = frame_reserve(out, FRAME_END, stream, 4 + n);

	if (!p)
		return -ENOMEM;

	put_u32(p, code);
	memcpy(p + 4, text, n);
	return 0;
}

/* The text goes to a terminal: control characters become spaces, in the two-byte form as well. */
static void make_harmless(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)text[i], next = i + 1 < n ? (uint8_t)text[i + 1] : 0;

		if (c < 0x20 || c == 0x7f)
			text[i] = ' ';
		else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			text[i] = text[i + 1] = ' ';
	}
}

enum frame_result frame_end_parse(const struct frame *frame, struct frame_end *ret_end)
{
	size_t n;

	if (frame->body_bytes < 4)
		return FRAME_BAD;

	ret_end->code = get_u32(frame->body);
	n = MIN(frame->body_bytes - 4, (size_t)FRAME_TEXT_MAX);
	memcpy(ret_end->text, frame->body + 4, n);
	make_harmless(ret_end->text, n);
	ret_end->text[n] = 0;
	return FRAME_OK;
}

int frame_append_credit(struct buf *out, uint32_t stream, uint32_t bytes)
{
	uint8_t *p = frame_reserve(out, FRAME_CREDIT, stream, 4);

	if (!p)
		return -ENOMEM;

	put_u32(p, bytes);
	return 0;
}

enum frame_result frame_credit_parse(const struct frame *frame, uint32_t *ret_bytes)
{
	if (frame->body_bytes != 4)
		return FRAME_BAD;

	*ret_bytes = get_u32(frame->body);
	return FRAME_OK;
}
