// SPDX-License-Identifier: Apache-2.0
/*
 * A database recorded by Ingero itself, as one of ours that nobody else sees and that is gone when it is closed.
 */
#pragma once

#include <stdbool.h>

struct read_scope;
struct sqlite3;

/**
 * foreign_import() - all of it
 * @db:	   the file, in a transaction
 * @scope: who asks: such a file does not say whose its rows are
 * @has_stacks: else calls have none: thousands of them take as long as all the rest
 * @why:   READ_WHY_BYTES; one sentence on failure, but none with -ENOENT and -ETIME
 * @ret_db: the caller's to close
 * Return: 0; -ENOENT (it is none of Ingero's), -ENOTSUP (a newer version's), -EACCES, -EBADMSG (damaged), -ETIME
 * (@db was interrupted), -errno
 */
int foreign_import(struct sqlite3 *db, const struct read_scope *scope, bool has_stacks, char *why,
		   struct sqlite3 **ret_db);
