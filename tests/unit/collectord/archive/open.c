// SPDX-License-Identifier: Apache-2.0
/*
 * What lies at the path already, who else writes it, and whose the files are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "archive/write/schema.h"
#include "archive/write/store.h"
#include "tests/support/check.h"
#include "tests/support/store_world.h"

#define OURS "PRAGMA application_id = 0x496e6772; "

/* What is there before: SQL makes a database, else the text itself is the file. */
static const struct {
	const char *name;
	const char *sql;
	const char *text;
	bool is_named; /* by a person */
	int r;
	const char *why;   /* is part of the sentence */
	const char *aside; /* part of the new name */
} cases[] = {
	{ .name = "nothing", .why = "" },
	{ .name = "an empty file", .text = "", .why = "" },
	{ .name = "version 0 of ours", .sql = OURS "CREATE TABLE early(a); PRAGMA user_version = 0", .why = "" },
	{ .name = "a newer version",
	  .sql = OURS "CREATE TABLE t(a); PRAGMA user_version = 99",
	  .why = "newer",
	  .aside = ".newer-" },
	{ .name = "a newer version, named",
	  .sql = OURS "CREATE TABLE t(a); PRAGMA user_version = 99",
	  .is_named = true,
	  .r = -EEXIST,
	  .why = "newer" },
	{ .name = "Ingero's own",
	  .sql = "CREATE TABLE events(id)",
	  .why = "not a database of this",
	  .aside = ".foreign-" },
	{ .name = "Ingero's own, named",
	  .sql = "CREATE TABLE events(id)",
	  .is_named = true,
	  .r = -EEXIST,
	  .why = "not a database of this" },
	{ .name = "no database", .text = "once upon a time", .why = "no database", .aside = ".damaged-" },
	{ .name = "no database, named",
	  .text = "once upon a time",
	  .is_named = true,
	  .r = -EEXIST,
	  .why = "no database" },
};

static void make(const char *path, const char *sql, const char *text)
{
	sqlite3 *db = NULL;

	if (sql) {
		CHECK_INT_EQ("make", sqlite3_open(path, &db), SQLITE_OK);
		CHECK_INT_EQ("make", sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		(void)sqlite3_close(db);
	} else if (text) {
		FILE *f = fopen(path, "we");

		(void)fputs(text, f);
		(void)fclose(f);
	}
}

static bool has_name(const char *directory, const char *part)
{
	DIR *d = opendir(directory);
	bool is_found = false;

	for (struct dirent *e; d && (e = readdir(d));)
		is_found = is_found || strstr(e->d_name, part);
	(void)closedir(d);
	return is_found;
}

static void what_is_there(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_world world;
		struct store *store = NULL;
		char why[512] = "";

		store_world_init(&world);
		make(world.path, cases[i].sql, cases[i].text);
		world.options.is_own_place = !cases[i].is_named;
		CHECK_INT_EQ(cases[i].name, store_open(&world.options, why, sizeof(why), &store), cases[i].r);
		CHECK(cases[i].name, cases[i].why[0] ? strstr(why, cases[i].why) != NULL : !why[0]);
		CHECK_INT_EQ(cases[i].name, has_name(world.directory, cases[i].aside ? cases[i].aside : ".newer-"),
			     cases[i].aside != NULL);
		if (store) {
			store_world_calls(&world, store, 3);
			store_world_tick(&world, store);
			store_close(store);
			CHECK_INT_EQ(cases[i].name, store_world_sql(&world, "PRAGMA user_version"), SCHEMA_VERSION);
			CHECK_INT_EQ(cases[i].name, store_world_sql(&world, "SELECT sum(n) FROM block"), 3);
			CHECK_INT_EQ(cases[i].name,
				     store_world_sql(&world, "SELECT count(*) FROM gap WHERE reason = 'set_aside'"),
				     cases[i].aside != NULL);
		}
		if (cases[i].sql && strstr(cases[i].sql, "early"))
			CHECK_INT_EQ(cases[i].name, store_world_sql(&world, "SELECT count(*) FROM early"), 0);
		store_world_done(&world);
	}
}

/* ---- older versions ---- */

/* One line: what the tables have, apart from how their text is written. */
static void describe(const char *path, char *ret_text, size_t room)
{
	static const char text[] =
		"SELECT group_concat(line, ';') FROM (SELECT m.name || '.' || c.name || ' ' || c.type || ' ' ||"
		" c.\"notnull\" || ' ' || c.pk AS line FROM sqlite_schema m, pragma_table_info(m.name) c"
		" WHERE m.type = 'table' UNION ALL SELECT m.name || '/' || i.name || ' ' || x.\"unique\" FROM"
		" sqlite_schema m, pragma_index_info(m.name) i, pragma_index_list(m.tbl_name) x"
		" WHERE m.type = 'index' AND x.name = m.name ORDER BY 1)";
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;

	ret_text[0] = '\0';
	if (sqlite3_open(path, &db) == SQLITE_OK && sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		(void)snprintf(ret_text, room, "%s", (const char *)sqlite3_column_text(s, 0));
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
}

/* What each version made, with a session, a call's figures and a finding in it. */
static const char *const old_versions[] = { INGERO_SCHEMAS "/schema_1.sql", INGERO_SCHEMAS "/schema_2.sql",
					    INGERO_SCHEMAS "/schema_3.sql", INGERO_SCHEMAS "/schema_4.sql" };

static void migration(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(old_versions); i++) {
		static char sql[65536], fresh[65536], migrated[65536];
		const char *name = old_versions[i];
		struct store_world world, other;
		FILE *f = fopen(name, "re");
		size_t n = f ? fread(sql, 1, sizeof(sql) - 1, f) : 0;

		CHECK(name, n > 0);
		sql[n] = '\0';
		if (f)
			(void)fclose(f);
		store_world_init(&other);
		store_close(store_world_open(&other));
		describe(other.path, fresh, sizeof(fresh));
		store_world_init(&world);
		make(world.path, sql, NULL);
		store_close(store_world_open(&world));
		describe(world.path, migrated, sizeof(migrated));
		CHECK(name, fresh[0] && strcmp(fresh, migrated) == 0);
		CHECK_INT_EQ(name, store_world_sql(&world, "PRAGMA user_version"),
			     store_world_sql(&other, "PRAGMA user_version"));
		CHECK_INT_EQ(name, store_world_sql(&world, "SELECT count(*) FROM session WHERE node = 'before'"), 1);
		CHECK_INT_EQ(name, store_world_sql(&world, "SELECT count(*) FROM figures WHERE data = x'0102'"), 1);
		store_world_done(&world);
		store_world_done(&other);
	}
}

/* ---- places ---- */

static void refuses(const char *name, struct store_world *world, int r, const char *part)
{
	struct store *store = NULL;
	char why[512] = "";

	CHECK_INT_EQ(name, store_open(&world->options, why, sizeof(why), &store), r);
	CHECK(name, strstr(why, part));
	store_close(store);
}

static void places(void)
{
	struct store_world world;
	char path[256], other[256];

	store_world_init(&world);
	world.options.path = path;
	(void)snprintf(path, sizeof(path), "%s/link.db", world.directory);
	CHECK_INT_EQ("a link", symlink(world.path, path), 0);
	refuses("a link", &world, -ELOOP, "link");
	CHECK("a link leads nowhere", access(world.path, F_OK) < 0);
	(void)snprintf(path, sizeof(path), "%s", world.directory);
	world.options.is_own_place = false;
	refuses("a directory", &world, -EEXIST, "no regular file");
	(void)snprintf(other, sizeof(other), "%s.lock", world.directory);
	CHECK("nothing is put beside it", access(other, F_OK) < 0);
	(void)snprintf(path, sizeof(path), "%s/not/there.db", world.directory);
	refuses("no directory", &world, -ENOENT, "/not' does not exist; create it");
	world.options.path = "/proc/no.db";
	refuses("no place for files", &world, -ENOENT, "'/proc/no.db': no file can be created in that directory");
	world.options.path = path;
	world.options.is_own_place = true;
	store_close(store_world_open(&world));
	(void)snprintf(other, sizeof(other), "%s/not", world.directory);
	{
		struct stat st = { 0 };

		CHECK_INT_EQ("made for the user alone", stat(other, &st), 0);
		CHECK_INT_EQ("made for the user alone", st.st_mode & 0777, 0700);
		CHECK_INT_EQ("made for the user alone", stat(path, &st), 0);
		CHECK_INT_EQ("made for the user alone", st.st_mode & 0777, 0600);
	}
	store_world_done(&world);
}

static void one_writer(void)
{
	struct store_world world;
	struct store *store;
	int status = 0;
	pid_t pid;

	store_world_init(&world);
	store = store_world_open(&world);
	pid = fork();
	if (pid == 0) {
		char part[32];

		(void)snprintf(part, sizeof(part), "process %d", (int)getppid());
		refuses("another writes it", &world, -EBUSY, part);
		_exit(check_state.n_failed != 0);
	}
	(void)waitpid(pid, &status, 0);
	CHECK_INT_EQ("another writes it", status, 0);
	store_close(store);
	store_close(store_world_open(&world));
	store_world_done(&world);
}

/* Under sudo: the user's files, with his rights alone. */
static void owner(void)
{
	static const char *const names[] = { "", "-wal", "-shm", ".lock" };
	struct store_world world;
	struct store *store;
	char path[256];

	if (geteuid() != 0) {
		fprintf(stderr, "the owner of files: left out, as only root can give them to somebody\n");
		return;
	}
	store_world_init(&world);
	world.options.has_owner = true;
	world.options.owner_uid = 12345;
	world.options.owner_gid = 12346;
	refuses("a directory of root", &world, -EACCES, "Permission denied");
	CHECK_INT_EQ("his directory", chown(world.directory, 12345, 12346), 0);
	store = store_world_open(&world);
	store_world_calls(&world, store, 3);
	store_world_tick(&world, store);
	CHECK_INT_EQ("his files", store_flush(store), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct stat st = { 0 };

		(void)snprintf(path, sizeof(path), "%s%s", world.path, names[i]);
		CHECK_INT_EQ(path, stat(path, &st), 0);
		CHECK_INT_EQ(path, st.st_uid, 12345);
		CHECK_INT_EQ(path, st.st_gid, 12346);
	}
	CHECK_INT_EQ("this thread is who it was", geteuid(), 0);
	(void)snprintf(path, sizeof(path), "%s/roots", world.directory);
	{
		struct stat st = { 0 };
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		CHECK_INT_EQ("this thread is who it was", fstat(fd, &st), 0);
		CHECK_INT_EQ("this thread is who it was", st.st_uid, 0);
		(void)close(fd);
	}
	store_close(store);
	store_world_done(&world);
}

int main(void)
{
	what_is_there();
	migration();
	places();
	one_writer();
	owner();
	return check_result();
}
