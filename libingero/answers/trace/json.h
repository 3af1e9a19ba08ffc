// SPDX-License-Identifier: Apache-2.0
/* `trace --json`: each reply as lines of docs/schema/trace-*.schema.json. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * trace_json_reply() - append the lines of one reply; figures and summary are appended once complete
 * Return: 0 or -ENOMEM, then whole lines may be missing
 */
int trace_json_reply(struct buf *out, const Ingero__V1__TraceReply *reply);
/** trace_json_figures() - append the line of one second */
int trace_json_figures(struct buf *out, const Ingero__V1__Summary *figures);
/** trace_json_summary() - append the last line */
int trace_json_summary(struct buf *out, const Ingero__V1__Summary *summary);
