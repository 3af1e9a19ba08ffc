// SPDX-License-Identifier: Apache-2.0
/*
 * Files without a name, opened before a child is sealed and used by SQLite afterwards: for its sorter, and for a
 * database that is written to be exported.
 *
 * Installed as the default VFS. Before temporary_seal() SQLite opens files in the file system as usual, afterwards it
 * can open only these. Each has a cap; beyond it a statement ends with "database or disk is full".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TEMPORARY_FIRST_FD 4 /* behind the child's socket; fixed, so that system calls can be granted on them */
#define TEMPORARY_LEAST 4    /* that every child has */
#define TEMPORARY_COUNT 20
#define TEMPORARY_LAST_FD (TEMPORARY_FIRST_FD + TEMPORARY_COUNT - 1)
#define TEMPORARY_BYTES_MAX (4ull << 30) /* cap of every file, whatever other cap is set */

/* Name that opens a main database; it keeps its contents when closed. */
#define TEMPORARY_DATABASE "temporary.db"

/**
 * temporary_prepare() - open the files and install the VFS, with nothing else open
 * @n_more: files beside TEMPORARY_LEAST
 * Return: 0 or -errno
 */
int temporary_prepare(size_t n_more);
/** temporary_seal() - from now on nothing else can be opened */
void temporary_seal(void);
/** temporary_limit() - set the cap of each file, bytes */
void temporary_limit(uint64_t bytes_max);
/** temporary_database_fd() - descriptor behind TEMPORARY_DATABASE, borrowed; -1 before it was opened */
int temporary_database_fd(void);
