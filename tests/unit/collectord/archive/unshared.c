// SPDX-License-Identifier: Apache-2.0
/*
 * A database of another program in WAL mode is read with all that its log has, and no file is created beside it; who
 * writes it meanwhile is noticed.
 */
#include "archive/questions/unshared.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define FILE_ROWS 100
#define LOG_ROWS 5000 /* each of a page: the index of so many has a second one */
#define LAST_ROWS 10
#define IMMUTABLE "?immutable=1"

static char root[PATH_MAX - 64];

static const char *at(const char *name)
{
	static char texts[4][PATH_MAX + 256];
	static int n;

	n = (n + 1) % 4;
	(void)snprintf(texts[n], sizeof(texts[n]), "%s/%s", root, name);
	return texts[n];
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		abort();
	}
}

static void rows_put(sqlite3 *db, int first, int n)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql),
		       "WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d) "
		       "INSERT INTO t SELECT n, zeroblob(400) FROM c",
		       first, first + n - 1);
	run(db, sql);
}

/* A file with rows, more of them in its log, and the last in a transaction of their own; open, or the log would go. */
static sqlite3 *made_open(const char *mode, bool is_ours)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(at("made"), &db) != SQLITE_OK)
		abort();
	run(db, "PRAGMA page_size = 512");
	if (is_ours)
		run(db, "PRAGMA application_id = 0x496e6772");
	run(db, mode);
	run(db, "PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (n INTEGER, filler BLOB)");
	rows_put(db, 1, FILE_ROWS);
	run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	rows_put(db, FILE_ROWS + 1, LOG_ROWS);
	rows_put(db, FILE_ROWS + LOG_ROWS + 1, LAST_ROWS);
	return db;
}

/* @cut: bytes that are missing at its end */
static void copy(const char *from, const char *to, off_t cut)
{
	static char bytes[1 << 16];
	CLEANUP(closep) int in = open(at(from), O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int out = open(at(to), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t all = 0;

	if (in < 0 || out < 0)
		abort();
	for (ssize_t n; (n = read(in, bytes, sizeof(bytes))) > 0; all += n)
		if (write(out, bytes, (size_t)n) != n)
			abort();
	if (ftruncate(out, all > cut ? all - cut : 0) < 0)
		abort();
}

static void directory_clear(void)
{
	DIR *directory = opendir(root);

	if (!directory)
		abort();
	for (const struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_name[0] != '.')
			(void)unlink(at(entry->d_name));
	(void)closedir(directory);
}

/* Bytes of the file and of what belongs to it; -1: there is none. */
struct beside {
	long long bytes[4];
};

static struct beside beside_look(void)
{
	static const char *const names[] = { "copied", "copied-wal", "copied-shm", "copied-journal" };
	struct beside found;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		found.bytes[i] = stat(at(names[i]), &st) == 0 ? st.st_size : -1;
	return found;
}

static sqlite3 *copied_open(const struct unshared_way *way)
{
	sqlite3 *db = NULL;
	char uri[PATH_MAX + 32];

	(void)snprintf(uri, sizeof(uri), "file:%s%s", at("linked"), way->more);
	if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, way->vfs) != SQLITE_OK)
		abort();
	return db;
}

static void rows_check(const char *name, sqlite3 *db, int want)
{
	sqlite3_stmt *s = NULL;

	CHECK_INT_EQ(name, sqlite3_prepare_v2(db, "SELECT count(*), sum(n) FROM t", -1, &s, NULL), SQLITE_OK);
	CHECK_INT_EQ(name, sqlite3_step(s), SQLITE_ROW);
	CHECK_INT_EQ(name, sqlite3_column_int64(s, 0), want);
	CHECK_INT_EQ(name, sqlite3_column_int64(s, 1), (long long)want * (want + 1) / 2);
	(void)sqlite3_finalize(s);
}

enum log { LOG_NONE, LOG_EMPTY, LOG_CUT, LOG_WHOLE };

static const struct {
	const char *name;
	const char *mode;
	bool is_ours, has_journal;
	enum log log;
	bool has_index;
	const char *vfs, *more;
	int rows;
} cases[] = {
#define WAL "PRAGMA journal_mode = WAL"
	{ "closed", WAL, false, false, LOG_NONE, false, NULL, IMMUTABLE, FILE_ROWS },
	{ "an empty log", WAL, false, false, LOG_EMPTY, false, NULL, IMMUTABLE, FILE_ROWS },
	{ "an index without a log", WAL, false, false, LOG_NONE, true, NULL, IMMUTABLE, FILE_ROWS },
	{ "a log without its index", WAL, false, false, LOG_WHOLE, false, UNSHARED_VFS, "",
	  FILE_ROWS + LOG_ROWS + LAST_ROWS },
	{ "a log that is cut", WAL, false, false, LOG_CUT, false, UNSHARED_VFS, "", FILE_ROWS + LOG_ROWS },
	{ "a log with its index", WAL, false, false, LOG_WHOLE, true, NULL, "", FILE_ROWS + LOG_ROWS + LAST_ROWS },
	{ "an empty log with its index", WAL, false, false, LOG_EMPTY, true, NULL, "", FILE_ROWS },
	{ "a journal from before its WAL mode", WAL, false, true, LOG_WHOLE, false, NULL, "", 0 },
	{ "not in WAL mode", "PRAGMA journal_mode = DELETE", false, false, LOG_NONE, false, NULL, "",
	  FILE_ROWS + LOG_ROWS + LAST_ROWS },
	{ "of ours", WAL, true, false, LOG_WHOLE, false, NULL, "", 0 },
};

static void case_run(size_t i)
{
	const char *name = cases[i].name;
	sqlite3 *made = made_open(cases[i].mode, cases[i].is_ours), *db;
	struct unshared u = UNSHARED_INIT;
	struct unshared_way way;
	struct beside before, now;
	bool is_alone = cases[i].vfs || cases[i].more[0];

	copy("made", "copied", 0);
	if (cases[i].log != LOG_NONE)
		copy("made-wal", "copied-wal", cases[i].log == LOG_EMPTY ? LLONG_MAX : cases[i].log == LOG_CUT ? 1 : 0);
	if (cases[i].has_index)
		copy("made-shm", "copied-shm", 0);
	if (cases[i].has_journal)
		copy("made", "copied-journal", 0);
	if (symlink("copied", at("linked")) < 0)
		abort();
	before = beside_look();
	way = unshared_look(&u, at("linked"));
	CHECK_STR_EQ(name, way.vfs ? way.vfs : "", cases[i].vfs ? cases[i].vfs : "");
	CHECK_STR_EQ(name, way.more, cases[i].more);
	CHECK_INT_EQ(name, u.fd >= 0, is_alone);
	if (cases[i].rows) {
		db = copied_open(&way);
		rows_check(name, db, cases[i].rows);
		now = beside_look();
		for (size_t k = 0; k < ARRAY_SIZE(now.bytes); k++)
			CHECK_INT_EQ(name, now.bytes[k] < 0, before.bytes[k] < 0);
		CHECK_INT_EQ(name, sqlite3_close(db), SQLITE_OK);
		now = beside_look();
		for (size_t k = 0; k < ARRAY_SIZE(now.bytes); k++)
			CHECK_INT_EQ(name, now.bytes[k] < 0, before.bytes[k] < 0);
		CHECK_INT_EQ(name, now.bytes[0], before.bytes[0]);
		CHECK_INT_EQ(name, now.bytes[1], before.bytes[1]);
	}
	CHECK(name, !unshared_has_changed(&u));
	closep(&u.fd);
	closep(&u.log_fd);
	if (sqlite3_close(made) != SQLITE_OK)
		abort();
	directory_clear();
}

/* A process that opens the file meanwhile. */
static void changes_check(void)
{
	static const struct {
		const char *name;
		bool has_log;
		const char *file; /* that it writes */
		bool is_longer;
	} rows[] = {
		{ "the file, without a log", false, "copied", false }, { "the file", true, "copied", false },
		{ "the file, which grows", true, "copied", true },     { "its log", true, "copied-wal", false },
		{ "its log, which grows", true, "copied-wal", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1, .tv_nsec = 1 } };
		sqlite3 *made = made_open(WAL, false);
		struct unshared u = UNSHARED_INIT;
		struct stat st;

		copy("made", "copied", 0);
		if (rows[i].has_log)
			copy("made-wal", "copied-wal", 0);
		if (sqlite3_close(made) != SQLITE_OK)
			abort();
		(void)unshared_look(&u, at("copied"));
		CHECK(rows[i].name, u.fd >= 0 && (u.log_fd >= 0) == rows[i].has_log);
		CHECK(rows[i].name, !unshared_has_changed(&u));
		if (stat(at(rows[i].file), &st) < 0)
			abort();
		if (rows[i].is_longer ? truncate(at(rows[i].file), st.st_size + 1) < 0
				      : utimensat(AT_FDCWD, at(rows[i].file), times, 0) < 0)
			abort();
		CHECK(rows[i].name, unshared_has_changed(&u));
		closep(&u.fd);
		closep(&u.log_fd);
		directory_clear();
	}
}

/* What is no file that could be opened in another way is left to SQLite, which says what is wrong. */
static void others_check(void)
{
	struct unshared u = UNSHARED_INIT;
	static const struct {
		const char *name, *file;
	} rows[] = { { "none", "nothing" }, { "a directory", "." }, { "a pipe", "pipe" }, { "no database", "text" } };
	FILE *text = fopen(at("text"), "we");

	if (!text || fputs("no database", text) < 0 || fclose(text) || mkfifo(at("pipe"), 0600) < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unshared_way way = unshared_look(&u, at(rows[i].file));

		CHECK(rows[i].name, !way.vfs && !way.more[0] && u.fd < 0 && u.log_fd < 0);
	}
	directory_clear();
}

int main(void)
{
	const char *place = getenv("TMPDIR");

	(void)snprintf(root, sizeof(root), "%s/ingero-unshared-XXXXXX", place ? place : "/tmp");
	if (!mkdtemp(root))
		CHECK_SKIP("no directory of its own");
	CHECK_INT_EQ("prepare", unshared_prepare(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		case_run(i);
	changes_check();
	others_check();
	(void)rmdir(root);
	return check_result();
}
