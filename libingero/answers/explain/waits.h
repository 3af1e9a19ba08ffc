// SPDX-License-Identifier: Apache-2.0
/*
 * Processes whose main thread mostly waited outside of its calls: a line each.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

#define EXPLAIN_WAITS_LINES 4u /* the least: a blank, titles, a row, a sentence */

/** explain_waits_count() - processes that have a row: those without an account, which tells of the same time */
size_t explain_waits_count(const Ingero__V1__ExplainReply *reply);
/**
 * explain_waits_append() - a table; nothing where nobody waited
 * @room: lines that it may take, not less than EXPLAIN_WAITS_LINES
 * Return: 0 or -ENOMEM
 */
int explain_waits_append(const Ingero__V1__ExplainReply *reply, const struct text_style *style, unsigned int room,
			 struct buf *out);
