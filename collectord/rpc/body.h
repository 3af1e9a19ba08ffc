// SPDX-License-Identifier: Apache-2.0
/*
 * The message inside a request: unpacked within limits and validated by its descriptor, so that a new message needs no
 * code here.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "proto/frame.h"

#define BODY_BUDGET_BYTES (1024u * 1024) /* memory of one unpacked request */
#define BODY_DEPTH_MAX 16		 /* nesting of messages */
#define BODY_REPEATED_MAX 4096		 /* entries of one repeated field */
#define BODY_UNKNOWN_MAX 256		 /* unknown fields in one request */
#define BODY_WHY_BYTES 200

/**
 * body_unpack() - unpack a client's bytes to a valid message
 * @arena:       holds the message
 * @ret_why:     a sentence of at most BODY_WHY_BYTES, when refused
 * @ret_message: strings are UTF-8 without NUL, counts are bounded, enumerations have a number of their descriptor,
 *               unknown fields are removed
 *
 * Return: CALL_OK, CALL_ERROR_PROTOCOL (not such a message) or CALL_ERROR_INVALID (a field; the sentence names it)
 */
enum call_error body_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t n,
			    struct arena *arena, char ret_why[BODY_WHY_BYTES], ProtobufCMessage **ret_message);
