// SPDX-License-Identifier: Apache-2.0
/* Processes whose main thread mostly waited outside of its calls: a line each. */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

#define EXPLAIN_WAITS_LINES 4u /* fewest lines: a blank, titles, a row, a sentence */

/** explain_waits_count() - number of rows: processes without an account, which would cover the same time */
size_t explain_waits_count(const Ingero__V1__ExplainReply *reply);
/**
 * explain_waits_append() - append the table; nothing where no thread waited
 * @room: maximum number of lines, not less than EXPLAIN_WAITS_LINES
 * Return: 0 or -ENOMEM
 */
int explain_waits_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, unsigned int room,
			 struct buf *out);
