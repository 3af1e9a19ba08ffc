// SPDX-License-Identifier: Apache-2.0
/* The version of the tables of a file, and its migration to the newest. */
#pragma once

struct db;

#define SCHEMA_VERSION 5 /* PRAGMA user_version; schema.sql */

enum schema_kind {
	SCHEMA_OURS,	/* of this version or an earlier one */
	SCHEMA_EMPTY,	/* an empty file */
	SCHEMA_NEWER,	/* ours, of a later version */
	SCHEMA_FOREIGN, /* another program's database */
	SCHEMA_GARBAGE, /* not a database */
};

/**
 * schema_look() - find the kind of a file without SQLite, which would change a file that is not ours
 *
 * Tables are created before the write-ahead log is switched on, so the header is valid from the first moment.
 *
 * Return: enum schema_kind or -errno
 */
int schema_look(const char *path);
/**
 * schema_migrate() - migrate the tables to SCHEMA_VERSION, one transaction a version
 * Return: 0 or -errno (the file has the version of the last step that succeeded)
 */
int schema_migrate(struct db *db);
