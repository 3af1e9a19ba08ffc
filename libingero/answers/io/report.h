// SPDX-License-Identifier: Apache-2.0
/* System calls on files as text and as JSON. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "ingero/ingero.h"
#include "libingero/render/text.h"

/**
 * io_report_append() - append the tables of calls and of files, then what was lost
 * @scope: whose calls: "of alice"
 * @rows: lines for both tables together; 0: no limit but 20 for each
 * Return: 0 or -ENOMEM
 */
int io_report_append(const Ingero__V1__IoFigures *figures, const char *scope, size_t rows,
		     const struct text_style *style, struct buf *out);
/** io_json_reply() - append the lines of a start and of single calls; nothing for figures. Return: 0 or -ENOMEM */
int io_json_reply(struct buf *out, const Ingero__V1__IoReply *reply);
/** io_json_figures() - append the line of figures. @type: "figures", "summary". Return: 0 or -ENOMEM */
int io_json_figures(struct buf *out, const char *type, const Ingero__V1__IoFigures *figures);
