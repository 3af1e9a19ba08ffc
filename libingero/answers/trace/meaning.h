// SPDX-License-Identifier: Apache-2.0
/*
 * What the figures mean, in a few sentences: which process lost how much time, to which class, and behind which
 * process. A sentence uses nothing but the figures, and findings of no single operation.
 */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/**
 * trace_meaning_append() - append paragraphs, most important first; one line without a problem, where long waits
 * between calls are no problem yet, too; no line without a problem beside findings
 * @scope:       whose processes were watched, completes "processes": "of alice"
 * @is_attached: they ran before the trace began
 * Return: 0 or -ENOMEM
 */
int trace_meaning_append(const Ingero__V1__Summary *summary, const char *scope, bool is_attached,
			 const struct text_style *style, struct buf *out);
