// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <string.h>

#include "base/utf8.h"

/* The bytes, from the first on, that stand for themselves. */
static size_t verbatim(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] >= 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\')
		i++;
	return i;
}

void json_text_add_n(struct buf *out, const char *text, size_t n)
{
	uint32_t code;

	(void)buf_append_text(out, "\"");
	for (size_t taken; n > 0; text += taken, n -= taken) {
		taken = verbatim(text, n);
		if (taken) {
			(void)buf_append(out, text, taken);
			continue;
		}
		taken = utf8_decode(text, n, &code);
		if (code == '"' || code == '\\')
			(void)buf_printf(out, "\\%c", (char)code);
		else if (utf8_is_control(code))
			(void)buf_printf(out, "\\u%04x", (unsigned int)code);
		else
			utf8_append(out, text, taken);
	}
	(void)buf_append_text(out, "\"");
}

void json_text_add(struct buf *out, const char *text)
{
	json_text_add_n(out, text, strlen(text));
}

void json_text_member(struct buf *out, const char *key, const char *text)
{
	if (!*text || out->failed)
		return;
	(void)buf_printf(out, "%s\"%s\":", out->data[out->n - 1] == '{' ? "" : ",", key);
	json_text_add(out, text);
}
