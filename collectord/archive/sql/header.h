// SPDX-License-Identifier: Apache-2.0
/* The header of a database file, read without SQLite, which may create or change files when it opens one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SQL_APPLICATION_ID 0x496e6772 /* "Ingr": PRAGMA application_id of a file in our format */

struct sql_header {
	uint32_t application_id;
	uint32_t user_version;
	bool has_log; /* WAL mode */
};

enum sql_file {
	SQL_FILE_DATABASE,
	SQL_FILE_EMPTY,
	SQL_FILE_OTHER, /* not a database */
};

/** sql_header_read() - @ret: set for a database. Return: enum sql_file or -errno */
int sql_header_read(int fd, struct sql_header *ret);
