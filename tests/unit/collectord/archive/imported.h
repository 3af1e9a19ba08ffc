// SPDX-License-Identifier: Apache-2.0
/*
 * A file that Ingero recorded, its import, and a reader of the import.
 */
#pragma once

#include <sqlite3.h>

#include "archive/foreign/import.h"
#include "archive/read/read.h"
#include "tests/support/check.h"

struct imported {
	struct sqlite3 *file, *db;
	struct store_reader *reader; /* NULL: the import failed, and so did a check */
};

/* @file: taken over; NULL fails a check */
static inline struct imported imported_open(const char *name, struct sqlite3 *file)
{
	struct imported i = { .file = file };
	struct read_scope scope = { .all = true };
	char why[READ_WHY_BYTES] = "";

	CHECK(name, file != NULL);
	if (file)
		CHECK_INT_EQ(name, foreign_import(file, &scope, true, why, &i.db), 0);
	if (i.db)
		CHECK_INT_EQ(name, store_reader_open(i.db, &scope, why, &i.reader), 0);
	CHECK_STR_EQ(name, why, "");
	return i;
}

/* @sql: makes the file */
static inline struct sqlite3 *imported_file(const char *name, const char *sql)
{
	struct sqlite3 *file = NULL;

	CHECK_INT_EQ(name, sqlite3_open(":memory:", &file), SQLITE_OK);
	if (sqlite3_exec(file, sql, NULL, NULL, NULL) != SQLITE_OK)
		CHECK_STR_EQ(name, sqlite3_errmsg(file), "");
	return file;
}

static inline void imported_close(struct imported *i)
{
	store_reader_close(i->reader);
	sqlite3_close(i->db);
	sqlite3_close(i->file);
}
