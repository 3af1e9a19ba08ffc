// SPDX-License-Identifier: Apache-2.0
/*
 * A database that lasts as long as a demo: in a directory of its own under TMPDIR, which
 * nobody else may enter.
 */
#pragma once

#include <limits.h>

#include "libingero/connect/caller.h"

struct demo_file {
	char directory[PATH_MAX - 32];
	char path[PATH_MAX]; /* "": not made */
};

#define DEMO_FILE_INIT                                                                                                 \
	{                                                                                                              \
		.path = ""                                                                                             \
	}

/** demo_file_make() - the directory, which is the caller's; not yet the file. Return: 0 or -errno */
int demo_file_make(struct demo_file *file, const struct caller *caller);
/** demo_file_done() - remove whatever is in the directory, and it */
void demo_file_done(struct demo_file *file);
