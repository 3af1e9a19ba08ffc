// SPDX-License-Identifier: Apache-2.0
/* SQLite as this room uses it: results are a negative errno, statements release themselves. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/**
 * sql_errno() - convert an SQLite result
 * @db: connection that is asked for the operating system's error; NULL: none
 * Return: 0 for SQLITE_OK, SQLITE_ROW and SQLITE_DONE; -EBADMSG for damage, -ENOSPC for a full disk, -ETIME for an
 * interrupted statement, or another -errno
 */
int sql_errno(sqlite3 *db, int code);
/** sql_prepare() - Return: 0 or -errno */
int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement);
/** sql_step() - run to the next row. Return: 1 for a row, 0 at the end, -errno */
int sql_step(sqlite3_stmt *statement);
/** sql_run() - step to the end, reset, and clear the bindings. Return: 0 or -errno */
int sql_run(sqlite3_stmt *statement);
/** sql_ints() - bind n numbers to the parameters from `first` on */
void sql_ints(sqlite3_stmt *statement, int first, size_t n, const int64_t *values);
#define SQL_INTS(statement, first, ...)                                                                                \
	sql_ints(statement, first, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t),                         \
		 (const int64_t[]){ __VA_ARGS__ })
/** sql_text() - bind a text that stays valid until the statement is reset */
void sql_text(sqlite3_stmt *statement, int parameter, const char *text);

static inline void sql_finalizep(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement); /* returns the error of its last step again */
}

static inline void sql_resetp(sqlite3_stmt **statement)
{
	(void)sqlite3_reset(*statement); /* likewise */
}
