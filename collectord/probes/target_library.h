// SPDX-License-Identifier: Apache-2.0
/* Checking the parser's answer about a file, and attaching the file if it is relevant. */
#pragma once

#include <stddef.h>

#include "probes/target_file.h"

/**
 * target_library_take() - use the answer: describe and attach the file, or note why not
 * @r: result of the question: 0, -ETIMEDOUT, another -errno
 * @answer: n bytes from the parser, not trusted
 *
 * The file's path_fd must be open. Probes of an earlier state of the file are detached if they would be wrong.
 */
void target_library_take(struct target_files *files, struct target_file *file, int r, const void *answer, size_t n);
