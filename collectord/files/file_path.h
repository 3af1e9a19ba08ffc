// SPDX-License-Identifier: Apache-2.0
/*
 * Paths of files: from the form of the kernel half to text for users.
 *
 * A path may contain any bytes but NUL: code that prints one must escape control characters for terminals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/record.h"

/* A whole path, with room for ".../" before it, " (deleted)" after it and NUL. */
#define FILE_PATH_TEXT_BYTES (FILE_PATH_BYTES + 32)

/**
 * file_path_format() - format a path as /proc/PID/fd shows it
 *
 * "/data/train.bin", with " (deleted)" if the name was removed; ".../a/b" if the beginning is unknown; "/memfd:NAME
 * (deleted)" and "anon_inode:[NAME]" for files that never had a directory.
 */
void file_path_format(const struct file_record *record, char ret[FILE_PATH_TEXT_BYTES]);
/**
 * file_path_shorten() - shorten a path to its end after "...", cut between components if possible; @n: room, at least
 * 16
 */
void file_path_shorten(const char *path, char *ret, size_t n);

#define FILE_PATH_QUOTED_BYTES(n) (4 * (n) + 8)
/**
 * file_path_quote() - quote a path as one word of a shell command line
 * @ret: the path itself if the shell needs no quotes; else quoted. Control characters and bytes that are not valid
 *       UTF-8 are escaped in $'...', so that none reaches a terminal. If it does not fit into n bytes it is ""
 */
void file_path_quote(const char *path, char *ret, size_t n);
