// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"

static void member_begin(struct writer *w, const char *key)
{
	if (w->has_one)
		(void)buf_append_text(w->out, ",");
	w->has_one = true;
	if (key)
		(void)buf_printf(w->out, "\"%s\":", key);
}

void writer_open(struct writer *w, const char *key, char bracket)
{
	member_begin(w, key);
	(void)buf_append(w->out, &bracket, 1);
	w->has_one = false;
}

void writer_close(struct writer *w, char bracket)
{
	(void)buf_append(w->out, &bracket, 1);
	w->has_one = true;
}

void writer_text(struct writer *w, const char *key, const char *text)
{
	writer_text_n(w, key, text, strlen(text));
}

void writer_text_n(struct writer *w, const char *key, const char *text, size_t n)
{
	member_begin(w, key);
	json_text_add_n(w->out, text, n);
}

void writer_integer(struct writer *w, const char *key, int64_t value)
{
	member_begin(w, key);
	(void)buf_printf(w->out, "%" PRId64, value);
}

void writer_boolean(struct writer *w, const char *key, bool value)
{
	member_begin(w, key);
	(void)buf_append_text(w->out, value ? "true" : "false");
}

void writer_raw(struct writer *w, const char *key, const char *json, size_t n)
{
	member_begin(w, key);
	(void)buf_append(w->out, json, n);
}
