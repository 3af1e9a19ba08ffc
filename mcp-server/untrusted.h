// SPDX-License-Identifier: Apache-2.0
/*
 * Texts of strangers. Names of processes, files, symbols and hosts, and texts in SQL results, are chosen by the users
 * of the traced machine; an answer passes them to a language model. One function cleans them, and one pair of marks
 * frames them as data, in every answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define UNTRUSTED_BEGIN "[traced-data]"
#define UNTRUSTED_END "[/traced-data]"
#define UNTRUSTED_CHARACTERS_MAX 1024 /* of one text; longer ones end in an ellipsis */

/**
 * untrusted_append() - append a text without what could deceive its reader
 *
 * Removed: control, format, bidirectional and invisible characters, those of private use, and the marks of the frame
 * and what looks like them (mcp-server/look_alike.h), also where they would come together by a removal. Line ends and
 * tabs become spaces, bytes that are not UTF-8 become U+FFFD.
 *
 * @text: n bytes
 */
void untrusted_append(struct buf *out, const char *text, size_t n);
/** untrusted_is_hidden() - whether a character cannot be seen, means nothing, or changes the order of others */
bool untrusted_is_hidden(unsigned int code);
