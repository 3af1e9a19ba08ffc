// SPDX-License-Identifier: Apache-2.0
#include "archive/tables/json_text.h"

#include "base/buf.h"

void json_text_add(struct buf *out, const char *text)
{
	buf_append_text(out, "\"");
	for (const char *c = text; *c; c++) {
		bool is_c1 = (uint8_t)c[0] == 0xc2 && (uint8_t)c[1] >= 0x80 && (uint8_t)c[1] < 0xa0;

		if (*c == '"' || *c == '\\')
			buf_printf(out, "\\%c", *c);
		else if ((unsigned char)*c < ' ' || *c == 0x7f)
			buf_printf(out, "\\u%04x", (unsigned char)*c);
		else if (is_c1) /* U+0080 to U+009F: the second byte is the character */
			buf_printf(out, "\\u%04x", (unsigned char)*++c);
		else
			buf_append(out, c, 1);
	}
	buf_append_text(out, "\"");
}

void json_text_member(struct buf *out, const char *key, const char *text)
{
	if (!*text || out->failed)
		return;
	buf_printf(out, "%s\"%s\":", out->data[out->n - 1] == '{' ? "" : ",", key);
	json_text_add(out, text);
}
