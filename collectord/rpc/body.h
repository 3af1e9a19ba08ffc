// SPDX-License-Identifier: Apache-2.0
/*
 * The message inside a request: unpacked on a budget, then found to make sense or
 * refused, by walking its descriptor, so that a new message needs no code here.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "proto/frame.h"

#define BODY_BUDGET_BYTES (1024u * 1024) /* of memory one request may unpack to */
#define BODY_DEPTH_MAX 16		 /* messages in messages */
#define BODY_REPEATED_MAX 4096		 /* entries of one repeated field */
#define BODY_UNKNOWN_MAX 256		 /* fields of a later version in one request */
#define BODY_WHY_BYTES 200

/**
 * body_unpack() - bytes of a client to a message that handlers can rely on
 * @arena:       holds the message
 * @ret_why:     a sentence of at most BODY_WHY_BYTES, when refused
 * @ret_message: strings are UTF-8 without a NUL inside, counts are bounded, enumerations
 *               have a number their descriptor knows, unknown fields are gone
 *
 * Return: CALL_OK, CALL_ERROR_PROTOCOL (not such a message) or CALL_ERROR_INVALID (a field; the sentence names it)
 */
enum call_error body_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t n,
			    struct arena *arena, char ret_why[BODY_WHY_BYTES], ProtobufCMessage **ret_message);
