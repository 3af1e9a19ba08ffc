// SPDX-License-Identifier: Apache-2.0
/* A file that is complete or absent: it grows as NAME.partial and gets its name at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct export_file {
	const char *path; /* borrowed; "-": standard output */
	char *partial;	  /* NULL for standard output */
	int fd;
	bool replaces; /* may overwrite an existing file */
	bool is_finished;
};

#define EXPORT_FILE_INIT                                                                                               \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

#define EXPORT_FILE_ERROR_BYTES 512

/**
 * export_file_open() - create the partial file
 * @path:     borrowed; "-" is standard output, refused where that is a terminal
 * @replaces: overwrite an existing file; never a directory, a link or a device
 * @error:    EXPORT_FILE_ERROR_BYTES; one sentence on failure
 * Return: 0; -EEXIST (the file exists, or another export is writing it), -EISDIR, -EINVAL, -errno
 */
int export_file_open(const char *path, bool replaces, char *error, struct export_file *ret_file);
/** export_file_write() - append bytes. Return: 0 or -errno */
int export_file_write(struct export_file *file, const void *data, size_t n);
/**
 * export_file_finish() - sync the file and give it its name
 * Return: 0; -EEXIST when a file took the name meanwhile, -errno
 */
int export_file_finish(struct export_file *file);
/** export_file_done() - release; an unfinished file is removed */
void export_file_done(struct export_file *file);
