// SPDX-License-Identifier: Apache-2.0
/* The demos that a private daemon can play, and a database that lives as long as its demo: in a
 * directory of its own under TMPDIR, with access for its user only. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "libingero/connect/caller.h"

#define DEMOS_MAX 32

struct demo_row {
	const char *name;
	const char *aliases;  /* separated by spaces */
	const char *sentence; /* NULL: not in this version */
};

/** demo_get() - the i-th row of base/demos.def, NULL after the last */
const struct demo_row *demo_get(size_t i);
/** demo_find() - find a demo by its name, in any case, or an alias. Return: the row, or NULL */
const struct demo_row *demo_find(const char *name);

struct demo_file {
	struct caller caller;
	int fd; /* of the directory: its path may come to be another's */
	char directory[PATH_MAX - 32];
	char path[PATH_MAX]; /* "": not created */
};

#define DEMO_FILE_INIT                                                                                                 \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/** demo_file_make() - create the directory as the caller, but not the file. Return: 0 or -errno */
int demo_file_make(struct demo_file *file, const struct caller *caller);
/** demo_file_done() - as the caller, remove the directory and its contents */
void demo_file_done(struct demo_file *file);
