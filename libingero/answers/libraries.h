// SPDX-License-Identifier: Apache-2.0
/* Attached library files in words. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/**
 * library_append() - append one line: "libcudart.so.12 (cuda): 5 operations by session links ...", or why it is not
 * traced
 */
void library_append(struct buf *out, const struct text_style *style, const char *first,
		    const Ingero__V1__Library *library);

/** not_shown_append() - append "1 CUDA process of root is not shown: '--all'"; nothing where all are shown */
void not_shown_append(struct buf *out, const struct text_style *style, const char *first,
		      Ingero__V1__NotShown *const *items, size_t n);
/** coverage_append() - append the coverage of one process: fully traced, or why not */
void coverage_append(struct buf *out, const struct text_style *style, const char *first,
		     const Ingero__V1__CudaProcess *process);
