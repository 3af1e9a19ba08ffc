// SPDX-License-Identifier: Apache-2.0
/*
 * A file that is there whole or not at all: it grows under NAME.partial and takes its
 * name at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct export_file {
	const char *path; /* borrowed; "-": standard output */
	char *partial;	  /* NULL for standard output */
	int fd;
	bool replaces; /* an existing file may be overwritten */
	bool is_finished;
};

#define EXPORT_FILE_INIT                                                                                               \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

#define EXPORT_FILE_ERROR_BYTES 512

/**
 * export_file_open() - begin
 * @path:     borrowed; "-" is standard output, refused where that is a terminal
 * @replaces: overwrite a file of that name; never a directory, a link or a device
 * @error:    EXPORT_FILE_ERROR_BYTES; one sentence on failure
 * Return: 0; -EEXIST (there is a file, or another export writes it), -EISDIR, -EINVAL, -errno
 */
int export_file_open(const char *path, bool replaces, char *error, struct export_file *ret_file);
/** export_file_write() - Return: 0 or -errno */
int export_file_write(struct export_file *file, const void *data, size_t n);
/**
 * export_file_finish() - on the disk, and under its name
 * Return: 0; -EEXIST when a file took the name meanwhile, -errno
 */
int export_file_finish(struct export_file *file);
/** export_file_done() - what is not finished is removed */
void export_file_done(struct export_file *file);
