// SPDX-License-Identifier: Apache-2.0
/* Objects that are no message, as lines of JSON (messages: libingero/render/pb_json.h). */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/** json_text() - a string; bytes that are not UTF-8 become U+FFFD. Return: NULL without memory */
json_t *json_text(const char *text);
/**
 * json_line() - one compact line
 * @object: taken over; NULL: there was no memory for it
 * Return: 0, or -ENOMEM with nothing appended
 */
int json_line(struct buf *out, json_t *object);
