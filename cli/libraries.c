// SPDX-License-Identifier: Apache-2.0
#include "cli/libraries.h"

#include "libingero/render/units.h"

/* protobuf-c never leaves a string of an unpacked message NULL, but messages built by hand may. */
static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

void library_append(struct buf *out, const struct text_style *style, const char *first,
		    const Ingero__V1__Library *library)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text, "%s (%s) ", text_or(library->soname, "library without a name"),
			 text_or(library->layer, "unknown layer"));
	if (*text_or(library->reason, "")) {
		(void)buf_printf(&text, "is not traced: %s", library->reason);
	} else {
		(void)buf_printf(&text, "%zu operations, %u exports, %s, attached in %s", library->n_operations,
				 library->symbols, text_or(library->back_end, "no back end"),
				 units_ns(library->attach_ns, 0).text);
		if (library->stepped)
			(void)buf_printf(&text, ", %u of them single-stepped (slower)", library->stepped);
		if (library->n_missing)
			(void)buf_printf(&text, ", %zu operations it does not have", library->n_missing);
	}
	if (*text_or(library->path, ""))
		(void)buf_printf(&text, ": %s", library->path);
	text_paragraph(out, style, first, buf_text(&text));
}
