// SPDX-License-Identifier: Apache-2.0
/*
 * Separate files with the symbols and lines of a library or program, where Linux distributions put them.
 *
 * Only files of the machine's own root that nobody but root can replace (procs/root_file.h), and that everybody can
 * read: what a process says of such a file is a hint. The daemon opens them and reads nothing: the parser says whether
 * the build-id is the right one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

struct debug_file {
	int fd; /* to be read, not to be written; owned by the caller */
	struct file_identity id;
};

/**
 * debug_files_open_build_id() - open the debug file of a build-id
 * @proc_fd: directory handle of /proc
 * @id: n bytes
 * Return: 0; -ENOENT: there is none; -EPERM: another user could replace it; -EACCES: not everybody can read it;
 * -EINVAL: no file, or such a build-id cannot be; -errno
 */
int debug_files_open_build_id(int proc_fd, const uint8_t *id, size_t n, struct debug_file *ret_file);
/**
 * debug_files_open_link() - open the debug file that a library names
 * @path: of the library, absolute
 * @link: name of the debug file, of any bytes: as the parser read it from the library
 *
 * Beside the library, in `.debug` there, and below /usr/lib/debug: the first one that can be opened.
 *
 * Return: as debug_files_open_build_id(); -ENOENT: none of the places has a file
 */
int debug_files_open_link(int proc_fd, const char *path, const char *link, struct debug_file *ret_file);
