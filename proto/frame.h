// SPDX-License-Identifier: Apache-2.0
/*
 * Frames between libingero and ingero-collectord: everything beside the messages that both ends must agree on.
 * docs/protocol.md describes it in words, with an example in bytes.
 *
 * A frame is `u32 length | u8 type | u8 flags | u16 0 | u32 stream`, little-endian, followed by `length` bytes of body.
 * Decoding never copies: a decoded frame points into the bytes it was read from.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FRAME_PROTOCOL_MAJOR 1
#define FRAME_PROTOCOL_MINOR 0

#define FRAME_HELLO_METHOD "ingero.v1.Query.Hello"

#define FRAME_HEADER_BYTES 12
#define FRAME_CLIENT_BODY_MAX (64u * 1024)   /* maximum body of a client's frame */
#define FRAME_SERVER_BODY_MAX (1024u * 1024) /* maximum body of the server's frame */
#define FRAME_METHOD_MAX 127		     /* maximum bytes of a method's name */
#define FRAME_TEXT_MAX 1024		     /* maximum bytes of the sentence in an END */

/*
 * A stream begins with this credit. A reply may be sent while any credit is left and takes its size from it, so that
 * one reply of maximum size always passes.
 */
#define FRAME_CREDIT_START (1024u * 1024)
#define FRAME_CREDIT_MAX (4u * 1024 * 1024) /* maximum credit */

enum frame_type {
	FRAME_REQUEST = 1, /* client: begins a stream; an envelope with the method and its message */
	FRAME_REPLY = 2,   /* server: one message */
	FRAME_END = 3,	   /* server: code and sentence; the stream is over; stream 0: the connection is */
	FRAME_CREDIT = 4,  /* client: u32 more bytes of replies may be sent */
	FRAME_CANCEL = 5,  /* client: finish the stream; a second one: end it now */
};

/* Code in an END. Numbers are never reused; 0 is success. */
enum call_error {
	CALL_OK = 0,
	CALL_ERROR_PROTOCOL = 1, /* frame, envelope or body cannot be decoded */
	CALL_ERROR_VERSION = 2,
	CALL_ERROR_UNKNOWN_METHOD = 3,
	CALL_ERROR_NOT_ALLOWED = 4,
	CALL_ERROR_NOT_FOUND = 5, /* also: the caller may not see it */
	CALL_ERROR_INVALID = 6,	  /* an argument; the text names it */
	CALL_ERROR_QUOTA = 7,
	CALL_ERROR_DEADLINE = 8,
	CALL_ERROR_CANCELLED = 9,
	CALL_ERROR_UNAVAILABLE = 10, /* the daemon cannot do this here; the text names the reason and the way out */
	CALL_ERROR_INTERNAL = 11,
	CALL_ERROR_TOO_LARGE = 12, /* frame over the limit */
	CALL_ERROR_RATE = 13,	   /* too many requests in a short time */
};

struct frame {
	enum frame_type type;
	uint32_t stream;
	const uint8_t *body; /* borrowed from the input */
	size_t body_bytes;
};

enum frame_result {
	FRAME_OK,
	FRAME_SHORT,	 /* more bytes are needed */
	FRAME_TOO_LARGE, /* length over the limit: nothing after it can be trusted */
	FRAME_BAD,	 /* unknown type, or bits set that must be zero */
};

/**
 * frame_decode() - decode the first frame in some bytes
 * @max_body:  FRAME_CLIENT_BODY_MAX in the server, FRAME_SERVER_BODY_MAX in a client
 * @ret_frame: set with FRAME_OK; stream is also set with FRAME_TOO_LARGE and FRAME_BAD
 * @ret_used:  bytes the frame took
 *
 * A frame that is too large or bad is refused as soon as its header is complete.
 */
enum frame_result frame_decode(const uint8_t *data, size_t n, size_t max_body, struct frame *ret_frame,
			       size_t *ret_used);

/**
 * frame_append() - encode a frame at the end of a buffer
 * Return: 0, or -ENOMEM or -E2BIG with the buffer untouched
 */
int frame_append(struct buf *out, enum frame_type type, uint32_t stream, const void *body, size_t body_bytes);

/** frame_reserve() - append a frame without its body. Return: where body_bytes must be written, or NULL */
uint8_t *frame_reserve(struct buf *out, enum frame_type type, uint32_t stream, size_t body_bytes);

/* Body of a REQUEST: `u32 deadline_ms | u8 length | method | message`. */
struct frame_request {
	char method[FRAME_METHOD_MAX + 1];
	uint32_t deadline_ms;	/* 0: the server's default */
	const uint8_t *message; /* borrowed from the frame */
	size_t message_bytes;
};

/** frame_request_bytes() - size of the envelope before the message */
size_t frame_request_bytes(const char *method);
/** frame_request_write() - write the envelope. Return: where the message must follow */
uint8_t *frame_request_write(uint8_t *to, const char *method, uint32_t deadline_ms);
/** frame_request_parse() - Return: FRAME_OK or FRAME_BAD (cut short, or not a valid name) */
enum frame_result frame_request_parse(const struct frame *frame, struct frame_request *ret_request);

/* Body of an END: `u32 code | text`. */
struct frame_end {
	uint32_t code;
	char text[FRAME_TEXT_MAX + 1];
};

int frame_append_end(struct buf *out, uint32_t stream, uint32_t code, const char *text);
/** frame_end_parse() - Return: FRAME_OK or FRAME_BAD; control characters in the text become spaces */
enum frame_result frame_end_parse(const struct frame *frame, struct frame_end *ret_end);

/* Body of a CREDIT: `u32 bytes`. */
int frame_append_credit(struct buf *out, uint32_t stream, uint32_t bytes);
enum frame_result frame_credit_parse(const struct frame *frame, uint32_t *ret_bytes);
