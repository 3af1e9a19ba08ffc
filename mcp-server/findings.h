// SPDX-License-Identifier: Apache-2.0
/* Answers that are made of an explanation: what they share. */
#pragma once

#include "ingero/answers.h"
#include "mcp-server/tool.h"

/* Lists and details of an explanation. */
extern const struct answer_shape findings_shape;

/**
 * findings_write() - write an explanation as the body: a sentence that sums it up, and the JSON of `ingero explain`
 * @more: further members in front, JSON with a comma at its end; "": none
 * @is_chosen: the caller named the window, or one finding
 */
int findings_write(const struct ingero_explanation *explanation, const char *more, bool is_chosen,
		   struct answer *answer);
/** findings_next() - name what to ask next: each of the first findings, one of its calls, or where time went */
void findings_next(const struct ingero_explanation *explanation, struct answer *answer);
/** findings_keep() - drop findings beyond the first n, and count them */
void findings_keep(struct ingero_explanation *explanation, size_t n);
