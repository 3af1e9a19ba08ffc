// SPDX-License-Identifier: Apache-2.0
/* Import of a database recorded by Ingero into a private temporary database of ours, deleted when it is closed. */
#pragma once

#include <stdbool.h>

struct read_scope;
struct sqlite3;

/**
 * foreign_import() - import the whole file
 * @db:	   the file, in a transaction
 * @scope: scope of the caller; must be all: the file has no owners of rows
 * @has_stacks: import stacks, too; thousands of stacks take as long as all other rows
 * @why:   buffer of READ_WHY_BYTES for one sentence on failure; empty with -ENOENT and -ETIME
 * @ret_db: the temporary database; the caller closes it
 * Return: 0; -ENOENT (not a file of Ingero), -ENOTSUP (written by a newer version), -EACCES, -EBADMSG (damaged), -ETIME
 * (@db was interrupted), -errno
 */
int foreign_import(struct sqlite3 *db, const struct read_scope *scope, bool has_stacks, char *why,
		   struct sqlite3 **ret_db);
