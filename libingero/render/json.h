// SPDX-License-Identifier: Apache-2.0
/* Lines of JSON that are not protobuf messages (messages: libingero/render/pb_json.h). */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/** json_text() - make a string; bytes that are not UTF-8 become U+FFFD. Return: NULL without memory */
json_t *json_text(const char *text);
/**
 * json_line() - append one compact line
 * @object: the object, taken over; NULL: there was no memory for it
 * Return: 0, or -ENOMEM with nothing appended
 */
int json_line(struct buf *out, json_t *object);
