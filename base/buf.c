// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdarg.h>
#include <string.h>

#define LIKELY_BYTES 64 /* of a formatted text, with its NUL */

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .cap = b->cap };
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
	size_t want, room;
	uint8_t *p;

	if (n > SIZE_MAX / 4 - b->n || (b->cap && b->n + n > b->cap)) {
		b->failed = true;
		return NULL;
	}
	want = b->n + n + 1; /* one for the NUL of buf_text() */
	if (want > b->room) {
		room = MAX(want, b->room + b->room / 2 + 64);
		p = realloc(b->data, room);
		if (!p) {
			b->failed = true;
			return NULL;
		}
		b->data = p;
		b->room = room;
	}
	return b->data + b->n;
}

int buf_append(struct buf *b, const void *data, size_t n)
{
	uint8_t *p = buf_reserve(b, n);

	if (!p)
		return b->cap && b->n + n > b->cap ? -E2BIG : -ENOMEM;
	if (n)
		memcpy(p, data, n);
	b->n += n;
	return 0;
}

int buf_append_text(struct buf *b, const char *text)
{
	return buf_append(b, text, strlen(text));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	/* Most texts are short, and formatted once; NULL where there is no room for such a text: it is measured. */
	size_t likely = b->cap ? 0 : LIKELY_BYTES;
	uint8_t *p = likely ? buf_reserve(b, likely - 1) : NULL;
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf((char *)p, p ? likely : 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && (!p || (size_t)n >= likely)) {
		p = buf_reserve(b, (size_t)n);
		if (p)
			(void)vsnprintf((char *)p, (size_t)n + 1, fmt, again);
	}
	if (n >= 0 && p)
		b->n += (size_t)n;
	va_end(again);
	return n >= 0 && p ? 0 : -ENOMEM;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->n) {
		b->n = 0;
		return;
	}
	memmove(b->data, b->data + n, b->n - n);
	b->n -= n;
}

const char *buf_text(struct buf *b)
{
	if (!buf_reserve(b, 0))
		return "";
	b->data[b->n] = 0;
	return (const char *)b->data;
}
