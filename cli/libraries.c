// SPDX-License-Identifier: Apache-2.0
#include "cli/libraries.h"

#include <string.h>

#include "libingero/render/units.h"

/* protobuf-c never leaves a string of an unpacked message NULL, but messages built by hand may. */
static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

/* What a file that could not be read is called. */
static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void library_append(struct buf *out, const struct text_style *style, const char *first,
		    const Ingero__V1__Library *library)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_append_text(&text, text_or(library->soname, path_name(text_or(library->path, "a library"))));
	if (*text_or(library->layer, ""))
		(void)buf_printf(&text, " (%s)", library->layer);
	if (*text_or(library->reason, "")) {
		(void)buf_printf(&text, " is not traced: %s", library->reason);
	} else {
		(void)buf_printf(&text, " %zu operations, %u exports, %s, attached in %s", library->n_operations,
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
