// SPDX-License-Identifier: Apache-2.0
/*
 * Strings of JSON, in the order of writing. Control characters are escaped, also those that JSON permits and a terminal
 * may obey; bytes that are not UTF-8 become U+FFFD.
 */
#pragma once

#include "base/buf.h"

/** json_text_add_n() - append n bytes of text as a quoted string */
void json_text_add_n(struct buf *out, const char *text, size_t n);
/** json_text_add() - append a whole text as a quoted string */
void json_text_add(struct buf *out, const char *text);
/** json_text_member() - append a member to an object that begins with '{', if its text is not empty */
void json_text_member(struct buf *out, const char *key, const char *text);
