// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

json_t *json_text(const char *text)
{
	CLEANUP(buf_done) struct buf clean = BUF_INIT;

	utf8_append(&clean, text, strlen(text));
	return clean.failed ? NULL : json_string(buf_text(&clean));
}

/*
 * Escapes control characters beyond ASCII, which jansson keeps and a terminal may obey. Only strings hold such bytes.
 */
static void controls_escape(struct buf *out, const char *text)
{
	uint32_t code;

	for (size_t n = strlen(text), taken; n > 0; text += taken, n -= taken) {
		taken = utf8_decode(text, n, &code);
		if (utf8_is_control(code))
			(void)buf_printf(out, "\\u%04x", (unsigned int)code);
		else
			(void)buf_append(out, text, taken);
	}
}

int json_line(struct buf *out, json_t *object)
{
	CLEANUP(freep) char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	size_t start = out->n;

	json_decref(object);
	if (text) {
		controls_escape(out, text);
		(void)buf_append_text(out, "\n");
	}
	if (text && !out->failed)
		return 0;
	out->n = start;
	return -ENOMEM;
}
