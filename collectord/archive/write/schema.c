// SPDX-License-Identifier: Apache-2.0
#include "archive/write/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "archive/sql/header.h"
#include "archive/write/db.h"

static const char creation[] = {
#include "schema.sql.inc"
};

/* steps[i] migrates version i + 1 to version i + 2; a new file has the last version. */
static const char *const steps[] = {
	"DROP INDEX figures_time; CREATE INDEX figures_time ON figures (level, uid, boot, t0, t1, crc);"
	"ALTER TABLE session ADD COLUMN cost BLOB;"
	"CREATE TABLE process_2 (id INTEGER PRIMARY KEY, boot INTEGER NOT NULL, pid INTEGER NOT NULL, start_boot_ns "
	"INTEGER"
	" NOT NULL, start_unix_ns INTEGER NOT NULL, exec_gen INTEGER NOT NULL, uid INTEGER NOT NULL, flags INTEGER NOT "
	"NULL,"
	" comm TEXT NOT NULL, first_ns INTEGER NOT NULL, gone_ns INTEGER);"
	"INSERT INTO process_2 SELECT id, boot, pid, start_boot_ns, start_unix_ns, exec_gen, uid, flags, comm, "
	"first_ns,"
	" gone_ns FROM process; DROP TABLE process; ALTER TABLE process_2 RENAME TO process",
	"ALTER TABLE process ADD COLUMN script TEXT; ALTER TABLE process ADD COLUMN executable TEXT;"
	"ALTER TABLE process ADD COLUMN container TEXT; ALTER TABLE process ADD COLUMN cgroup_id INTEGER;"
	"ALTER TABLE process ADD COLUMN rank INTEGER; ALTER TABLE process ADD COLUMN local_rank INTEGER;"
	"ALTER TABLE process ADD COLUMN world_size INTEGER",
	"", /* no table changed: a reader of version 3 would take figures of format 2 for damage */
	/* No recorder had written a row of these tables. */
	"DROP TABLE stack; DROP TABLE frame;"
	"CREATE TABLE frame (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, symbol TEXT NOT NULL, qualname TEXT NOT "
	"NULL,"
	" file TEXT NOT NULL, line INTEGER NOT NULL, module TEXT NOT NULL, python INTEGER NOT NULL, n INTEGER NOT NULL,"
	" UNIQUE (uid, symbol, line, file, module, qualname, python));"
	"CREATE TABLE stack (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, boot INTEGER NOT NULL, last_ns INTEGER NOT"
	" NULL, guarded INTEGER NOT NULL, is_complete INTEGER NOT NULL, why TEXT NOT NULL, frames BLOB NOT NULL,"
	" crc INTEGER NOT NULL);"
	"CREATE INDEX stack_time ON stack (uid, boot, last_ns);"
	"ALTER TABLE session ADD COLUMN last_stack INTEGER NOT NULL DEFAULT 0",
};
_Static_assert(ARRAY_SIZE(steps) == SCHEMA_VERSION - 1, "each version but the first has the step to it");

int schema_look(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct sql_header header;
	int r = fd < 0 ? -errno : sql_header_read(fd, &header);

	if (r < 0)
		return r;
	if (r != SQL_FILE_DATABASE)
		return r == SQL_FILE_EMPTY ? SCHEMA_EMPTY : SCHEMA_GARBAGE;
	if (header.application_id != SQL_APPLICATION_ID)
		return SCHEMA_FOREIGN;
	return header.user_version > SCHEMA_VERSION ? SCHEMA_NEWER : SCHEMA_OURS;
}

/* One transaction: either the file gets the next version, or nothing changes. */
static int make(struct db *db, const char *sql, int64_t version)
{
	char text[128];
	int r = db_exec(db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = db_exec(db, sql);
	if (r == 0) {
		(void)snprintf(text, sizeof(text), "PRAGMA application_id = %d; PRAGMA user_version = %lld; COMMIT",
			       SQL_APPLICATION_ID, (long long)version);
		r = db_exec(db, text);
	}
	if (r < 0 && !sqlite3_get_autocommit(db->handle))
		(void)db_exec(db, "ROLLBACK"); /* the first error counts */
	return r;
}

int schema_migrate(struct db *db)
{
	int64_t version = 0;
	int r = db_get_int(db, "PRAGMA user_version", &version);

	if (r < 0)
		return r;
	if (version < 0 || version > SCHEMA_VERSION)
		return -EINVAL;
	if (version == 0)
		return make(db, creation, SCHEMA_VERSION);
	for (r = 0; r == 0 && version < SCHEMA_VERSION; version++)
		r = make(db, steps[version - 1], version + 1);
	return r;
}
