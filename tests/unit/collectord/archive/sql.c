// SPDX-License-Identifier: Apache-2.0
/*
 * What SQLite says is an errno that its reader can act on: of the system's own errors those that tell the user
 * something are passed on, and none that means something else to who asked.
 */
#include "archive/sql/sql.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static int system_error;

static int file_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	(void)vfs;
	(void)name;
	(void)flags;
	(void)ret_flags;
	file->pMethods = NULL;
	return SQLITE_CANTOPEN;
}

static int last_error(sqlite3_vfs *vfs, int n, char *text)
{
	(void)vfs;
	(void)n;
	(void)text;
	return system_error;
}

static void system_check(void)
{
	static const struct {
		const char *name;
		int system, want;
	} cases[] = {
		{ "none", 0, -EIO },
		{ "full", ENOSPC, -ENOSPC },
		{ "over quota", EDQUOT, -EDQUOT },
		{ "read-only", EROFS, -EROFS },
		{ "not allowed", EACCES, -EACCES },
		{ "device", EIO, -EIO },
		{ "try again", EAGAIN, -EIO },
		{ "nobody listens", EPIPE, -EIO },
		{ "damage", EBADMSG, -EIO },
		{ "no file", ENOENT, -EIO },
	};
	sqlite3_vfs vfs = *sqlite3_vfs_find(NULL);

	vfs.zName = "failing";
	vfs.xOpen = file_open;
	vfs.xGetLastError = last_error;
	CHECK_INT_EQ("vfs", sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		sqlite3 *db = NULL;
		int result;

		system_error = cases[i].system;
		result = sqlite3_open_v2("any", &db, SQLITE_OPEN_READWRITE, "failing");
		CHECK_INT_EQ(cases[i].name, result & 0xff, SQLITE_CANTOPEN);
		CHECK_INT_EQ(cases[i].name, sqlite3_system_errno(db), cases[i].system);
		CHECK_INT_EQ(cases[i].name, sql_errno(db, SQLITE_CANTOPEN), cases[i].want);
		CHECK_INT_EQ(cases[i].name, sql_errno(db, SQLITE_IOERR_READ), cases[i].want);
		sqlite3_close(db);
	}
	(void)sqlite3_vfs_unregister(&vfs);
}

static void result_check(void)
{
	static const struct {
		const char *name;
		int result, want;
	} cases[] = {
		{ "row", SQLITE_ROW, 0 },
		{ "memory", SQLITE_NOMEM, -ENOMEM },
		{ "memory of a read", SQLITE_IOERR_NOMEM, -ENOMEM },
		{ "a value too big", SQLITE_TOOBIG, -ENOMEM },
		{ "late", SQLITE_INTERRUPT, -ETIME },
		{ "damage", SQLITE_CORRUPT, -EBADMSG },
		{ "damage of a table", SQLITE_CORRUPT_VTAB, -EBADMSG },
		{ "full", SQLITE_FULL, -ENOSPC },
		{ "anything else", SQLITE_MISUSE, -EIO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ(cases[i].name, sql_errno(NULL, cases[i].result), cases[i].want);
}

int main(void)
{
	system_check();
	result_check();
	return check_result();
}
