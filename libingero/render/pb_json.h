// SPDX-License-Identifier: Apache-2.0
/*
 * Any message as JSON, by its descriptor: field names are the keys.
 *
 * Numbers and texts of proto3 are always present, so that every line of a kind has the same keys. Absent fields of a
 * proto2 message and absent messages are left out. 64-bit numbers are JSON numbers. A field `x_unix_ns` appears as `x`:
 * RFC 3339 text in UTC with nanoseconds, null when it is 0 (unknown). Bytes are hexadecimal text. Infinity and NaN are
 * null. Stacks and sites have their own forms (libingero/render/stack_json.h).
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/** pb_json_number() - append the shortest text that reads back as the same number; null for infinity and NaN */
void pb_json_number(struct buf *out, double value);
/** pb_json_bytes() - append hexadecimal text */
void pb_json_bytes(struct buf *out, const ProtobufCBinaryData *bytes);

/** pb_json_append() - append one compact object; check out->failed */
void pb_json_append(struct buf *out, const ProtobufCMessage *message);

/**
 * pb_json_line() - append {"type":"...", the message's fields} and a newline
 * @type: NULL: no such key
 * @skip: names of fields of the message to leave out, separated by spaces; or NULL
 * Return: 0, or -ENOMEM with nothing appended
 */
int pb_json_line(struct buf *out, const char *type, const ProtobufCMessage *message, const char *skip);
