// SPDX-License-Identifier: Apache-2.0
#include "archive/sql/sql.h"

#include <errno.h>

/*
 * The system's last error may belong to another call and mislead the user: only errors that a user can act on are
 * passed on.
 */
static int system_errno(sqlite3 *db)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	switch (system) {
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case EACCES:
		return -system;
	default:
		return -EIO;
	}
}

int sql_errno(sqlite3 *db, int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
	case SQLITE_TOOBIG:
		return -ENOMEM;
	case SQLITE_INTERRUPT:
		return -ETIME;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_CONSTRAINT: /* duplicate rows, which only a damaged file has */
		return -EBADMSG;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
	case SQLITE_IOERR:
		return code == SQLITE_IOERR_NOMEM ? -ENOMEM : system_errno(db);
	default:
		return -EIO;
	}
}

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement)
{
	return sql_errno(db, sqlite3_prepare_v2(db, sql, -1, ret_statement, NULL));
}

int sql_step(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	return code == SQLITE_ROW ? 1 : sql_errno(sqlite3_db_handle(statement), code);
}

int sql_run(sqlite3_stmt *statement)
{
	int r;

	do {
		r = sql_step(statement);
	} while (r > 0);
	(void)sqlite3_reset(statement); /* returns the same error again */
	(void)sqlite3_clear_bindings(statement);
	return r;
}

void sql_ints(sqlite3_stmt *statement, int first, size_t n, const int64_t *values)
{
	for (size_t i = 0; i < n; i++)
		(void)sqlite3_bind_int64(statement, first + (int)i, values[i]);
}

void sql_text(sqlite3_stmt *statement, int parameter, const char *text)
{
	(void)sqlite3_bind_text(statement, parameter, text, -1, SQLITE_STATIC);
}
