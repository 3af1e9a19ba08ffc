// SPDX-License-Identifier: Apache-2.0
/*
 * Any message as JSON, by walking its descriptor: field names are the keys.
 *
 * Numbers and texts of proto3 are always there, so that every line of a kind has
 * the same keys; what a proto2 message leaves out is left out, and so are absent
 * messages. 64-bit numbers are JSON numbers. A field `x_unix_ns` appears as `x`:
 * RFC 3339 text in UTC with nanoseconds, null when it is 0 (unknown). Bytes are
 * hexadecimal text. What is no finite number is null.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/** pb_json_number() - the shortest text that reads back as the same number; null for what is none */
void pb_json_number(struct buf *out, double value);
/** pb_json_bytes() - hexadecimal text */
void pb_json_bytes(struct buf *out, const ProtobufCBinaryData *bytes);

/** pb_json_append() - one compact object; check out->failed */
void pb_json_append(struct buf *out, const ProtobufCMessage *message);

/**
 * pb_json_line() - {"type":"...", the message's fields} and a newline
 * @type: NULL: no such key
 * @skip: names of fields of the message to leave out, with spaces between; or NULL
 * Return: 0, or -ENOMEM with nothing appended
 */
int pb_json_line(struct buf *out, const char *type, const ProtobufCMessage *message, const char *skip);
