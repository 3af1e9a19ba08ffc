// SPDX-License-Identifier: Apache-2.0
/*
 * The frame reader of both ends. Whatever comes in whatever pieces: the frames are the same,
 * and what was understood is written back as the same bytes.
 */
#include "proto/frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static void check_request(const struct frame *frame)
{
	struct frame_request request;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	uint8_t *p;

	if (frame_request_parse(frame, &request) != FRAME_OK)
		return;
	p = frame_reserve(&out, FRAME_REQUEST, frame->stream,
			  frame_request_bytes(request.method) + request.message_bytes);
	REQUIRE(p);
	p = frame_request_write(p, request.method, request.deadline_ms);
	if (request.message_bytes)
		memcpy(p, request.message, request.message_bytes);
	REQUIRE(out.n == FRAME_HEADER_BYTES + frame->body_bytes);
	REQUIRE(memcmp(out.data + FRAME_HEADER_BYTES, frame->body, frame->body_bytes) == 0);
}

static void check_end(const struct frame *frame)
{
	struct frame_end end;

	if (frame_end_parse(frame, &end) != FRAME_OK)
		return;
	for (const char *p = end.text; *p; p++)
		REQUIRE((uint8_t)*p >= 0x20 && *p != 0x7f);
}

/* All but the last byte of a frame is not a frame, and not an error either. */
static void check_cut(const uint8_t *data, size_t used, size_t max_body)
{
	CLEANUP(freep) uint8_t *copy = malloc(used);
	struct frame frame;
	size_t again;

	REQUIRE(copy);
	memcpy(copy, data, used - 1);
	REQUIRE(frame_decode(copy, used - 1, max_body, &frame, &again) == FRAME_SHORT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t max_body = n % 2 ? FRAME_CLIENT_BODY_MAX : 64;
	struct frame frame;
	uint32_t credit;
	size_t used;

	while (frame_decode(data, n, max_body, &frame, &used) == FRAME_OK) {
		REQUIRE(used <= n && frame.body_bytes <= max_body && used == FRAME_HEADER_BYTES + frame.body_bytes);
		check_cut(data, used, max_body);
		check_request(&frame);
		check_end(&frame);
		(void)frame_credit_parse(&frame, &credit);
		data += used;
		n -= used;
	}
	return 0;
}
