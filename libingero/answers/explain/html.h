// SPDX-License-Identifier: Apache-2.0
/*
 * The report as one page of HTML, to send to another person: no script, nothing to load, light or dark as the reader's
 * screen. All texts of traced programs are escaped.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/answers/explain/report.h"

/** explain_html_append() - append the whole page. Return: 0 or -ENOMEM */
int explain_html_append(const struct explain_question *question, const Ingero__V1__ExplainReply *reply,
			struct buf *out);
