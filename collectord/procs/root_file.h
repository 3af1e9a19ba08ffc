// SPDX-License-Identifier: Apache-2.0
/*
 * Files that nobody but root can replace: owned by root, on the file system of / or /usr, with every directory of the
 * path owned by root and writable by nobody else.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/**
 * root_file_open() - open a file of the machine's own root, each component of its path checked before the next
 * @path: absolute
 * @n_links: maximum number of symbolic links that are followed: root's, which lead to other such files. With 0 the path
 * has no ".." either
 * @ret_stat: of the file; valid unless the result is negative
 * @ret_is_public: whether everybody may read it, and every directory of its path lets everybody pass; NULL is allowed
 *
 * Return: O_PATH descriptor; -EPERM: another user could replace it; -ELOOP: more links; -errno
 */
int root_file_open(int proc_fd, const char *path, unsigned int n_links, struct stat *ret_stat, bool *ret_is_public);
