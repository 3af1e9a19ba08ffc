// SPDX-License-Identifier: Apache-2.0
/*
 * Which version of the tables a file has, and how it becomes the newest.
 */
#pragma once

struct db;

#define SCHEMA_APPLICATION_ID 0x496e6772 /* "Ingr": PRAGMA application_id */
#define SCHEMA_VERSION 4		 /* PRAGMA user_version; schema.sql */

enum schema_kind {
	SCHEMA_OURS,	/* of this version or one before it */
	SCHEMA_EMPTY,	/* nothing yet */
	SCHEMA_NEWER,	/* ours, of a later version */
	SCHEMA_FOREIGN, /* somebody else's database */
	SCHEMA_GARBAGE, /* no database at all */
};

/**
 * schema_look() - what kind of file it is, without SQLite, which would touch what is not ours
 * Tables are made before the log is switched on, so the header is true from the first moment.
 * Return: enum schema_kind or -errno
 */
int schema_look(const char *path);
/**
 * schema_migrate() - bring the tables to SCHEMA_VERSION, one transaction a version
 * Return: 0 or -errno (the file is as the last step that succeeded left it)
 */
int schema_migrate(struct db *db);
