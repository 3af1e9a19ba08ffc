// SPDX-License-Identifier: Apache-2.0
/* Output: stdout for data, stderr for messages; the abilities of the terminal; a reader that goes away. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "cli/options.h"
#include "libingero/render/text.h"

struct output {
	int fd;
	struct buf buf;	 /* renderers append here */
	bool is_gone;	 /* the reader is gone: output is dropped */
	int wake_fd;	 /* readable: stop waiting for a slow reader; -1: none */
	bool has_failed; /* a write failed and the error was printed */
	bool is_stuck;	 /* wake_fd interrupted a write; the rest of `out` is kept */
};

#define OUTPUT_INIT(descriptor)                                                                                        \
	{                                                                                                              \
		.fd = (descriptor), .buf = BUF_INIT, .wake_fd = -1                                                     \
	}

void output_done(struct output *out);
/**
 * output_flush() - write `out`, in one write where that cannot block
 * Return: 0; -EPIPE when the reader is gone (and at every later call); -EINTR when wake_fd became readable first (the
 * rest is kept); -errno, printed the first time
 */
int output_flush(struct output *out);
/** output_can_offer() - whether lines can be written now, without waiting, between a program's output */
bool output_can_offer(int fd);
/** output_line_begin() - append the start of a new line, whatever a program has left on the terminal */
void output_line_begin(struct buf *out, int fd);
/**
 * output_offer() - write lines in one piece, begun on a new line
 * Only after output_can_offer(). Lines beyond what a pipe takes at once are dropped.
 */
void output_offer(int fd, struct buf *lines);
/** output_error() - print "ingero: sentence" on stderr */
void output_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* The row of commands that colour, bound to a bool of their fields. */
#define NO_COLOR_OPTION(member) OPTION_ROW(FLAG, "no-color", member, "No colours, as with NO_COLOR set")
/** output_style() - abilities of the terminal behind a descriptor; 80 columns where there is none */
struct text_style output_style(int fd, bool no_color);
/** output_is_terminal() - whether the descriptor is a terminal with a movable cursor */
bool output_is_terminal(int fd);
/** output_locale() - read the terminal's character set from the environment; called once, before any output */
void output_locale(void);
