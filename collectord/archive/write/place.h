// SPDX-License-Identifier: Apache-2.0
/* The place of the database: its directory, the lock for a single recorder, renaming of an unusable file. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place {
	char path[PATH_MAX]; /* directory, with links resolved, and the name */
	int lock_fd;	     /* NAME.lock */
};

#define PLACE_INIT                                                                                                     \
	{                                                                                                              \
		.lock_fd = -1                                                                                          \
	}

/**
 * place_open() - resolve the directory, lock, create an empty file if there is none
 * @makes_directory: create missing directories, with access for the user alone
 * @why: one sentence on failure
 * Return: 0; -EBUSY when another recorder has it; -ELOOP for a link, -EEXIST for no regular file; -errno
 */
int place_open(struct place *place, const char *path, bool makes_directory, char *why, size_t why_bytes);
void place_close(struct place *place);
/**
 * place_set_aside() - rename the file and its companions to NAME.WORD-YYYYmmddTHHMMSSZ
 * @ret_name: PATH_MAX bytes: its new path
 * Return: 0 or -errno
 */
int place_set_aside(struct place *place, const char *word, uint64_t unix_ns, char *ret_name);
/** place_create() - create an empty file with access for the owner alone. Return: 0 or -errno */
int place_create(struct place *place);
/** place_bytes() - size of the file, its log and its index */
uint64_t place_bytes(const struct place *place);
