// SPDX-License-Identifier: Apache-2.0
/*
 * Text as a terminal shows it: columns instead of bytes, no control sequences, ASCII where the terminal knows no more.
 *
 * Everything on a screen passes through text_append(). Renderers write UTF-8; this is the only place that knows about
 * terminals without it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum text_tone { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_LOUD, TEXT_TONE_COUNT };

struct text_style {
	bool is_utf8; /* otherwise each character beyond ASCII becomes one ASCII character */
	bool has_color;
	unsigned int columns; /* width of the terminal, at least 1 */
	unsigned int rows;    /* its height; 0: no limit */
};

/** text_columns() - number of columns that text_append() would fill */
unsigned int text_columns(const char *text);

/**
 * text_append() - append text in at most `room` columns; cut text ends in an ellipsis
 *
 * Control characters, direction marks and bytes that are not UTF-8 become '?': names and paths come from traced users.
 *
 * Return: columns filled
 */
unsigned int text_append(struct buf *out, const struct text_style *style, const char *text, unsigned int room);

/** text_file_name() - a path without its directories, for where there is no room for them */
const char *text_file_name(const char *path);

/** text_spaces() - append n spaces */
void text_spaces(struct buf *out, unsigned int n);

/** text_tone() - start (or with TEXT_PLAIN end) a tone; nothing without colour */
void text_tone(struct buf *out, const struct text_style *style, enum text_tone tone);

/** text_line() - append one whole line in one tone, cut at the terminal's width, with its newline */
void text_line(struct buf *out, const struct text_style *style, enum text_tone tone, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/**
 * text_parts() - append a line of n parts, the most important first; parts that do not fit, and empty parts, are left
 * out
 * @gap: text between two parts
 */
void text_parts(struct buf *out, const struct text_style *style, enum text_tone tone, const char *gap,
		const char *const *parts, size_t n);

/**
 * text_paragraph() - append a sentence broken at spaces to the terminal's width, never between a number and its unit
 * @first: start of the first line; the others are indented by as many columns
 */
void text_paragraph(struct buf *out, const struct text_style *style, const char *first, const char *text);
/** text_sentence() - append a paragraph in one tone: for text with a command, which is never cut */
void text_sentence(struct buf *out, const struct text_style *style, enum text_tone tone, const char *first,
		   const char *fmt, ...) PRINTF_LIKE(5, 6);
