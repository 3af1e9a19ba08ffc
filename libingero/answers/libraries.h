// SPDX-License-Identifier: Apache-2.0
/* Attached library files in words. */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

/** library_name() - Return: its soname; the name of its file where that is not known */
const char *library_name(const Ingero__V1__Library *library);
/**
 * library_append() - append one line: "libcudart.so.12 (cuda): 5 operations by session links ...", or why it is not
 * traced
 */
void library_append(struct buf *out, const struct text_style *style, const char *first,
		    const Ingero__V1__Library *library);

/**
 * not_traced_append() - " · 61 operations not traced ...", each operation of several files once; nothing where all are
 */
void not_traced_append(struct buf *out, Ingero__V1__Library *const *libraries, size_t n);
/** not_shown_append() - "1 CUDA process of root is not shown: '--all'"; nothing where none is left out */
void not_shown_append(struct buf *out, const struct text_style *style, const char *first,
		      Ingero__V1__NotShown *const *items, size_t n);
struct closing_words {
	char text[160];
};
/** closing_words() - "closing 57 probes of an earlier trace, for up to 40 s" */
struct closing_words closing_words(uint32_t n_probes);
/** coverage_append() - one process: "python 4711 of alice: all of its 2 CUDA libraries", or which not and why */
void coverage_append(struct buf *out, const struct text_style *style, const char *first,
		     const Ingero__V1__CudaProcess *process);
