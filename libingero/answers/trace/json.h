// SPDX-License-Identifier: Apache-2.0
/* `trace --json`: each reply as lines of docs/schema/trace-*.schema.json. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * trace_json_reply() - the lines of one reply; figures and summary have theirs when they are whole
 * Return: 0 or -ENOMEM, then whole lines may be missing
 */
int trace_json_reply(struct buf *out, const Ingero__V1__TraceReply *reply);
/** trace_json_figures() - the line of one second */
int trace_json_figures(struct buf *out, const Ingero__V1__Summary *figures);
/** trace_json_summary() - the last line */
int trace_json_summary(struct buf *out, const Ingero__V1__Summary *summary);
