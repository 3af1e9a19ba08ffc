// SPDX-License-Identifier: Apache-2.0
/*
 * What the figures mean, in a few sentences: who lost how much time to what, and
 * behind whom. Says only what follows from the figures alone.
 */
#pragma once

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/**
 * trace_meaning_append() - paragraphs, most important first; one line when there is nothing to tell;
 * beside findings nothing rather than that
 * @scope: whose processes were watched, to follow "processes": "of alice"
 * Return: 0 or -ENOMEM
 */
int trace_meaning_append(const Ingero__V1__Summary *summary, const char *scope, const struct text_style *style,
			 struct buf *out);
