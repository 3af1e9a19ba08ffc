// SPDX-License-Identifier: Apache-2.0
/* Import of a database recorded by Ingero into a private temporary database of ours, deleted when it is closed. */
#pragma once

#include <stdbool.h>

struct read_scope;
struct sqlite3;

/**
 * foreign_import() - import the whole file
 * @db:	   the file, in a transaction
 * @scope: the caller: such a file has no owners of rows
 * @has_stacks: import stacks, too: thousands of them take as long as all the rest
 * @why:   READ_WHY_BYTES; one sentence on failure, but none with -ENOENT and -ETIME
 * @ret_db: the caller closes it
 * Return: 0; -ENOENT (not Ingero's), -ENOTSUP (a newer version's), -EACCES, -EBADMSG (damaged), -ETIME (@db was
 * interrupted), -errno
 */
int foreign_import(struct sqlite3 *db, const struct read_scope *scope, bool has_stacks, char *why,
		   struct sqlite3 **ret_db);
