// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ingero_db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <zlib.h>

#define RECORDING_BYTES_MAX (4u << 20)

unsigned char *ingero_db_unpack(const char *name, size_t *ret_n)
{
	unsigned char *data = sqlite3_malloc(RECORDING_BYTES_MAX);
	char path[512];
	gzFile file;
	int n;

	snprintf(path, sizeof(path), "%s/ingero-db/%s.gz", INGERO_TEST_DATA, name);
	file = gzopen(path, "rb");
	n = file && data ? gzread(file, data, RECORDING_BYTES_MAX) : -1;
	if (file)
		gzclose(file);
	if (n <= 0) {
		fprintf(stderr, "cannot read '%s'\n", path);
		sqlite3_free(data);
		return NULL;
	}
	*ret_n = (size_t)n;
	return data;
}

struct sqlite3 *ingero_db_open_bytes(unsigned char *data, size_t n, bool is_writable)
{
	struct sqlite3 *db = NULL;
	unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE |
			 (is_writable ? SQLITE_DESERIALIZE_RESIZEABLE : SQLITE_DESERIALIZE_READONLY);

	/* A file in WAL mode cannot be opened in memory; two bytes of its header set the mode. */
	if (n > 19)
		data[18] = data[19] = 1;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_deserialize(db, "main", data, (sqlite3_int64)n, (sqlite3_int64)n, flags) != SQLITE_OK) {
		fprintf(stderr, "cannot open a database in memory: %s\n", sqlite3_errmsg(db));
		sqlite3_close(db);
		return NULL;
	}
	return db;
}

struct sqlite3 *ingero_db_open(const char *name, bool is_writable)
{
	size_t n;
	unsigned char *data = ingero_db_unpack(name, &n);

	return data ? ingero_db_open_bytes(data, n, is_writable) : NULL;
}
