// SPDX-License-Identifier: Apache-2.0
/*
 * What the figures mean, in a few sentences: which process lost how much time, to which class, and behind which
 * process. A sentence uses nothing but the figures, and findings of no single operation.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/**
 * trace_meaning_append() - append paragraphs, most important first; one line without a problem, where long waits
 * between calls are no problem yet, too; no line without a problem beside findings
 * @scope: whose processes were watched, completes "processes": "of alice"
 * Return: 0 or -ENOMEM
 */
int trace_meaning_append(const Ingero__V1__Summary *summary, const char *scope, const struct text_style *style,
			 struct buf *out);
