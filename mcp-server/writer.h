// SPDX-License-Identifier: Apache-2.0
/* JSON in the order of writing: members and elements, with their commas. Check out->failed at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct writer {
	struct buf *out;
	bool has_one; /* of the innermost object or array */
};

/* In all of these, key NULL: an element of an array. Keys and raw texts are ours: nothing is escaped. */
/** writer_open() - begin an object '{' or an array '[' */
void writer_open(struct writer *w, const char *key, char bracket);
/** writer_close() - end it, with '}' or ']' */
void writer_close(struct writer *w, char bracket);
void writer_text(struct writer *w, const char *key, const char *text);
/** writer_text_n() - a string of n bytes */
void writer_text_n(struct writer *w, const char *key, const char *text, size_t n);
void writer_integer(struct writer *w, const char *key, int64_t value);
void writer_boolean(struct writer *w, const char *key, bool value);
/** writer_raw() - JSON that is already written */
void writer_raw(struct writer *w, const char *key, const char *json, size_t n);
