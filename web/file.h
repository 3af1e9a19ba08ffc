// SPDX-License-Identifier: Apache-2.0
/* Files of a server with its secrets: in a directory of its user, or where options name them. Nobody else chose them.
 */
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WEB_ERROR_BYTES 512

/* Directory of what a server keeps. */
struct web_place {
	int fd;
	char path[PATH_MAX - 64];
};

#define WEB_PLACE_INIT                                                                                                 \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* A file, open or not. */
struct web_file {
	int directory;	  /* AT_FDCWD: the name is the path */
	const char *name; /* in the directory, where no link is followed */
	const char *path; /* for sentences */
};

/* One that an option names. */
#define WEB_FILE(path_) ((const struct web_file){ .directory = AT_FDCWD, .name = (path_), .path = (path_) })

/**
 * web_place_open() - open "HOME/.ingero", which is made where it is missing: its user's, or root's, and no link
 * @home: NULL: none
 * Return: 0; -errno with a sentence
 */
int web_place_open(const char *home, char *error, struct web_place *ret);
void web_place_close(struct web_place *place);

/**
 * web_file_open() - open a regular file to read it
 * @is_secret: whether it must be its user's, or root's, and readable by nobody else
 * Return: descriptor; -errno, -EPERM with a sentence
 */
int web_file_open(const struct web_file *file, bool is_secret, char *error);
/**
 * web_file_create() - open a new file beside a file, to write it
 * @temporary: WEB_TEMPORARY_BYTES, name in the same directory
 * Return: descriptor; -errno with a sentence
 */
int web_file_create(const struct web_file *file, mode_t mode, char *temporary, char *error);

#define WEB_TEMPORARY_BYTES PATH_MAX
