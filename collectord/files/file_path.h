// SPDX-License-Identifier: Apache-2.0
/*
 * A path as the kernel half sends it, and as people read it.
 *
 * A path is any bytes but NUL: whoever prints it makes sure that a terminal obeys none of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/record.h"

/* A whole path with its end: what is before it, and " (deleted)" behind it. */
#define FILE_PATH_TEXT_BYTES (FILE_PATH_BYTES + 32)

/**
 * file_path_format() - the path as /proc/PID/fd has it
 *
 * "/data/train.bin", with " (deleted)" where that name is no more; ".../a/b" where the beginning is not known;
 * "/memfd:NAME (deleted)" and "anon_inode:[NAME]" for what never was in a directory.
 */
void file_path_format(const struct file_record *record, char ret[FILE_PATH_TEXT_BYTES]);
/** file_path_shorten() - its end in so many bytes, at a component where one fits, behind "..."; @n: 16 at least */
void file_path_shorten(const char *path, char *ret, size_t n);

#define FILE_PATH_QUOTED_BYTES(n) (4 * (n) + 8)
/**
 * file_path_quote() - a path as one word of a shell's command line
 * @ret: as it is, where the shell reads it so; else in quotes. With control characters, or bytes that are no UTF-8, as
 *       $'...' with these escaped: no byte of it moves a terminal. Cut to n bytes it is ""
 */
void file_path_quote(const char *path, char *ret, size_t n);
