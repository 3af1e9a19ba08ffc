// SPDX-License-Identifier: Apache-2.0
/*
 * A terminal whose screen is borrowed: the alternate screen, keys one by one and
 * without echo. It is given back on every way out, a crash of ours included.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/**
 * terminal_enter() - borrow the screen
 * @in_fd: where keys come from; no terminal there: no keys
 * Return: 0 or -errno
 */
int terminal_enter(int in_fd, int out_fd);
/** terminal_leave() - give it back as it was; more than once is fine */
void terminal_leave(void);
/** terminal_frame() - lines of text as what draws them, from the top left, cutting at `rows` */
void terminal_frame(struct buf *out, const char *lines, unsigned int rows);
