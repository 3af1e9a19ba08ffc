// SPDX-License-Identifier: Apache-2.0
/*
 * What the parser says of a file, checked, and attached where it is of interest.
 */
#pragma once

#include <stddef.h>

#include "probes/target_file.h"

/**
 * target_library_take() - describe and attach a file, or note why not
 * @r:      0, or what became of the question: -ETIMEDOUT, another -errno
 * @answer: n bytes from the parser, not trusted
 *
 * Its path_fd is open. Probes of an earlier state of the file are taken off where they would be wrong.
 */
void target_library_take(struct target_files *files, struct target_file *file, int r, const void *answer, size_t n);
