// SPDX-License-Identifier: Apache-2.0
/* Texts of JSON, in the order in which they are written. */
#pragma once

struct buf;

/** json_text_add() - append a string with its quotes */
void json_text_add(struct buf *out, const char *text);
/** json_text_member() - append a member of an object that begins with '{', if its text is not empty */
void json_text_member(struct buf *out, const char *key, const char *text);
