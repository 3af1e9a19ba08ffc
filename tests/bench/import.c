// SPDX-License-Identifier: Apache-2.0
/*
 * Imports recordings of Ingero's, and prints what that takes.
 *
 *   bench_import FILE...: a line each: file, calls, bytes of packed columns, of stacks with their frames, of all pages
 *   of these tables
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "archive/foreign/import.h"
#include "archive/read/read.h"

static const char figures[] =
	"SELECT (SELECT ifnull(sum(n), 0) FROM block), (SELECT ifnull(sum(length(data)), 0) FROM block_data),"
	" (SELECT ifnull(sum(length(frames) + 4), 0) FROM stack)"
	" + (SELECT ifnull(sum(length(symbol) + length(file) + 4), 0) FROM frame),"
	" (SELECT sum(pgsize) FROM dbstat WHERE name IN ('block_data', 'stack', 'frame') OR name LIKE '%_stack_%'"
	" OR name LIKE '%_frame_%')";

static int import_one(const char *path)
{
	struct read_scope scope = { .all = true };
	char why[READ_WHY_BYTES] = "";
	sqlite3 *db = NULL, *imported = NULL;
	sqlite3_stmt *statement = NULL;
	int r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK
			? foreign_import(db, &scope, why, &imported)
			: -EIO;

	if (r == 0 && (sqlite3_prepare_v2(imported, figures, -1, &statement, NULL) != SQLITE_OK ||
		       sqlite3_step(statement) != SQLITE_ROW))
		r = -EIO;
	if (r < 0)
		fprintf(stderr, "bench_import: '%s': %s %s\n", path, strerror(-r), why);
	else
		printf("%s %lld %lld %lld %lld\n", path, (long long)sqlite3_column_int64(statement, 0),
		       (long long)sqlite3_column_int64(statement, 1), (long long)sqlite3_column_int64(statement, 2),
		       (long long)sqlite3_column_int64(statement, 3));
	sqlite3_finalize(statement);
	sqlite3_close(imported);
	sqlite3_close(db);
	return r < 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= import_one(argv[i]);
	return status;
}
