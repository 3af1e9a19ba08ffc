// SPDX-License-Identifier: Apache-2.0
/* A database that lives as long as its demo: in a directory of its own under TMPDIR, with access for its user only. */
#pragma once

#include <limits.h>

#include "libingero/connect/caller.h"

struct demo_file {
	char directory[PATH_MAX - 32];
	char path[PATH_MAX]; /* "": not created */
};

#define DEMO_FILE_INIT                                                                                                 \
	{                                                                                                              \
		.path = ""                                                                                             \
	}

/** demo_file_make() - create the directory, owned by the caller, but not the file. Return: 0 or -errno */
int demo_file_make(struct demo_file *file, const struct caller *caller);
/** demo_file_done() - remove the directory and its contents */
void demo_file_done(struct demo_file *file);
