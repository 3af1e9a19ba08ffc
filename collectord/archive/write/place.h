// SPDX-License-Identifier: Apache-2.0
/*
 * Where the file lies: its directory, the lock that keeps it to one recorder, what is
 * renamed when it is in the way.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place {
	char path[PATH_MAX]; /* directory without links, and the name */
	int lock_fd;
};

#define PLACE_INIT                                                                                                     \
	{                                                                                                              \
		.lock_fd = -1                                                                                          \
	}

/**
 * place_open() - resolve the directory, lock, create an empty file when there is none
 * @makes_directory: missing directories are made, for the user alone
 * @why: one sentence on failure
 * Return: 0; -EBUSY when another recorder has it; -ELOOP for a link, -EEXIST for no regular file; -errno
 */
int place_open(struct place *place, const char *path, bool makes_directory, char *why, size_t why_bytes);
void place_close(struct place *place);
/**
 * place_set_aside() - rename the file, and what belongs to it, to NAME.WORD-YYYYmmddTHHMMSSZ
 * @ret_name: PATH_MAX bytes: where it lies now
 * Return: 0 or -errno
 */
int place_set_aside(struct place *place, const char *word, uint64_t unix_ns, char *ret_name);
/** place_create() - an empty file for the owner alone. Return: 0 or -errno */
int place_create(struct place *place);
/** place_bytes() - of the file, its log and its index */
uint64_t place_bytes(const struct place *place);
