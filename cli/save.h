// SPDX-License-Identifier: Apache-2.0
/* A whole result as a file that the user named. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/**
 * save_file() - write a file, completely or not at all, with the rights of the user behind sudo; prints the outcome
 * @path:     its name, other than "-"
 * @replaces: overwrite an existing file
 * @what:     of the file, in the outcome: "the report"
 * Return: 0 or -errno
 */
int save_file(const char *path, bool replaces, const char *what, const struct buf *data);
