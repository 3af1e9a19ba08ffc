// SPDX-License-Identifier: Apache-2.0
/*
 * Files without a name, opened before a child is sealed and handed to SQLite afterwards:
 * for its sorter, and for a database that is written to be sent away.
 *
 * Installed as the default VFS: what SQLite opens before temporary_seal() goes to the file
 * system as always, afterwards only these files can be opened. Each has a cap, beyond which
 * a statement ends with "database or disk is full".
 */
#pragma once

#include <stdint.h>

#define TEMPORARY_FIRST_FD 4 /* behind the child's socket; fixed, so that system calls can be granted on them */
#define TEMPORARY_COUNT 4
#define TEMPORARY_LAST_FD (TEMPORARY_FIRST_FD + TEMPORARY_COUNT - 1)
#define TEMPORARY_BYTES_MAX (4ull << 30) /* of any file, whatever cap is set */

/* Opened by this name it is a main database; it keeps its contents when closed. */
#define TEMPORARY_DATABASE "temporary.db"

/** temporary_prepare() - open the files and install the VFS, with nothing else open. Return: 0 or -errno */
int temporary_prepare(void);
/** temporary_seal() - from now on nothing else can be opened */
void temporary_seal(void);
/** temporary_limit() - set the cap of each file, bytes */
void temporary_limit(uint64_t bytes_max);
/** temporary_database_fd() - descriptor behind TEMPORARY_DATABASE, borrowed; -1 before it was opened */
int temporary_database_fd(void);
