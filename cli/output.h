// SPDX-License-Identifier: Apache-2.0
/*
 * What goes out: stdout for data, stderr for sentences; what the terminal at the
 * other end can show; a reader that has gone away.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "cli/options.h"
#include "libingero/render/text.h"

struct output {
	int fd;
	struct buf buf;	 /* renderers append here */
	bool is_gone;	 /* nobody reads any more: what is written is dropped */
	int wake_fd;	 /* readable: stop waiting for a reader that does not read; -1: none */
	bool has_failed; /* a write did, and it was said */
	bool is_stuck;	 /* that happened, and what was appended is still here */
};

#define OUTPUT_INIT(descriptor)                                                                                        \
	{                                                                                                              \
		.fd = (descriptor), .buf = BUF_INIT, .wake_fd = -1                                                     \
	}

void output_done(struct output *out);
/**
 * output_flush() - write what was appended, in one go where that cannot block
 * Return: 0; -EPIPE when nobody reads any more (also ever after); -EINTR when wake_fd
 * became readable first: what was not written is kept; -errno: said already, the first time
 */
int output_flush(struct output *out);
/** output_can_offer() - whether lines may be put between what a program writes to the same place, without waiting */
bool output_can_offer(int fd);
/** output_line_begin() - append what begins a line of its own, whatever a program has left on the terminal */
void output_line_begin(struct buf *out, int fd);
/**
 * output_offer() - put them there, in one piece, begun on a line of their own
 * Only after output_can_offer(). What is more than a pipe takes at once is dropped line by line.
 */
void output_offer(int fd, struct buf *lines);
/** output_error() - "ingero: sentence" on stderr */
void output_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* The row of commands that colour, bound to a bool of their fields. */
#define NO_COLOR_OPTION(member) OPTION_ROW(FLAG, "no-color", member, "No colours, as with NO_COLOR set")
/** output_style() - what the terminal behind a descriptor can show; 80 columns where there is none */
struct text_style output_style(int fd, bool no_color);
/** output_is_terminal() - a terminal on which the cursor can be moved */
bool output_is_terminal(int fd);
/** output_locale() - once, before anything is shown: learn the terminal's character set from the environment */
void output_locale(void);
