// SPDX-License-Identifier: Apache-2.0
/*
 * UTF-8 by RFC 3629: no longer form than needed, no surrogate, nothing past U+10FFFF. The C library decodes the
 * encoding of the locale, which a library must not choose.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Results for bytes that are no character. */
#define UTF8_REPLACEMENT 0xfffdu

/** utf8_plain() - how many bytes, from the first on, are printable characters of ASCII. Most texts have no others */
size_t utf8_plain(const char *text, size_t n);

/** utf8_length() - bytes of the character at text[0..n), n > 0; 0: no valid character */
size_t utf8_length(const char *text, size_t n);

/**
 * utf8_decode() - decode the next character of a text
 * @text: n bytes, n > 0
 * @ret_code: the character, or U+FFFD for invalid bytes
 * Return: bytes taken, at least 1
 */
size_t utf8_decode(const char *text, size_t n, uint32_t *ret_code);

/** utf8_is_control() - whether a terminal may obey the character: C0, DEL and C1 */
bool utf8_is_control(uint32_t code);

/** utf8_is_direction() - whether the character has no width and changes the direction of the text after it */
bool utf8_is_direction(uint32_t code);

/**
 * utf8_scrub() - in place: control characters, characters of direction and invalid bytes become '?'
 * Return: whether there were any
 */
bool utf8_scrub(char *text);

/** utf8_append() - append n bytes of text; invalid bytes become U+FFFD */
void utf8_append(struct buf *out, const char *text, size_t n);
