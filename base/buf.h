// SPDX-License-Identifier: Apache-2.0
/*
 * A growing byte buffer with a cap.
 *
 * Appending past the cap or without memory fails and leaves the contents unchanged. `failed` remembers the failure, so
 * that a writer of many small pieces can check once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf {
	uint8_t *data; /* n bytes, followed by a NUL once buf_text() was called; NULL while empty */
	size_t n;
	size_t room;
	size_t cap;  /* maximum bytes; 0: no limit */
	bool failed; /* an append has failed */
};

#define BUF_INIT                                                                                                       \
	{                                                                                                              \
		.data = NULL                                                                                           \
	}
#define BUF_INIT_CAP(bytes)                                                                                            \
	{                                                                                                              \
		.cap = (bytes)                                                                                         \
	}

void buf_done(struct buf *b);
/** buf_append() - append bytes. Return: 0, -ENOMEM, or -E2BIG at the cap; contents are untouched on failure */
int buf_append(struct buf *b, const void *data, size_t n);
int buf_append_text(struct buf *b, const char *text);
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/** buf_reserve() - make room for n more bytes. Return: pointer to write to (advance b->n yourself), or NULL */
uint8_t *buf_reserve(struct buf *b, size_t n);
/** buf_consume() - drop the first n bytes */
void buf_consume(struct buf *b, size_t n);
/** buf_text() - contents as a NUL-terminated string, "" when empty or out of memory; valid until the next change */
const char *buf_text(struct buf *b);
