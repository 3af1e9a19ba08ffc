// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal during the live screen: alternate screen, single keys, no echo. Every exit restores it, crashes
 * included.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/**
 * terminal_enter() - switch to the alternate screen
 * @in_fd: descriptor of the keys; no terminal there: no keys
 * Return: 0 or -errno
 */
int terminal_enter(int in_fd, int out_fd);
/** terminal_leave() - restore the terminal; repeated calls are harmless */
void terminal_leave(void);
/** terminal_frame() - append lines of text as drawing commands, from the top left, at most `rows` lines */
void terminal_frame(struct buf *out, const char *lines, unsigned int rows);
