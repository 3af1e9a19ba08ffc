// SPDX-License-Identifier: Apache-2.0
/* What is attached to which file, in words. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** library_append() - one line: "libcudart.so.12 (cuda): 5 operations by session links ...", or why not */
void library_append(struct buf *out, const struct text_style *style, const char *first,
		    const Ingero__V1__Library *library);

/** not_shown_append() - "1 CUDA process of root is not shown: '--all'"; nothing where none is left out */
void not_shown_append(struct buf *out, const struct text_style *style, const char *first,
		      Ingero__V1__NotShown *const *items, size_t n);
/** coverage_append() - one process: "python 4711 of alice: all of its 2 CUDA libraries", or which not and why */
void coverage_append(struct buf *out, const struct text_style *style, const char *first,
		     const Ingero__V1__CudaProcess *process);
