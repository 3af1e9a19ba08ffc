// SPDX-License-Identifier: Apache-2.0
/*
 * The child that reads the database for one caller.
 *
 * It opens the file independently of the caller, begins its only transaction, makes SQLite open everything that it
 * opens late, and is then sealed. The caller's data is read after that.
 */
#include "archive/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"
#include "children/child_role.h"
#include "archive/foreign/import.h"
#include "archive/job.h"
#include "children/stream.h"
#include "children/temporary.h"
#include "clock.h"
#include "proto/methods.h"

/* Opcodes between two checks of the clock: no cost was measurable even at one (storage-facts, 2026). */
/* An error of prepare(), before it can be sent. */
static sqlite3 *db;
static bool is_recorded;

/* ---- before the seal ---- */

static int step_all(const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* One transaction to the end: one state of the file, and nothing is opened or locked later. */
static int database_prime(void)
{
	static const char *const steps[] = { "PRAGMA query_only=1",
					     "PRAGMA mmap_size=0",
					     "PRAGMA cache_size=-2048",
					     "PRAGMA temp_store=1",
					     "BEGIN",
					     "SELECT count(*) FROM sqlite_schema" };
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == SQLITE_OK; i++)
		r = step_all(steps[i]);
	return r;
}

static int database_open(const char *path, const char *more)
{
	CLEANUP(freep) char *uri = malloc(strlen(path) * 3 + strlen(more) + sizeof("file:"));
	char *p = uri;
	int r;

	if (!uri)
		return SQLITE_NOMEM;
	p += sprintf(p, "file:");
	for (const char *c = path; *c; c++) /* characters with a meaning in a URI */
		p += sprintf(p, strchr("%?#", *c) ? "%%%02X" : "%c", (unsigned char)*c);
	strcpy(p, more);
	r = sqlite3_open_v2(uri, &db,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			    NULL);
	if (r == SQLITE_OK) {
		(void)sqlite3_busy_timeout(db, 2000);
		r = database_prime();
	}
	return r;
}

/* Whether the log beside the database is empty, so that the file is complete without it. */
static bool has_no_log(const char *path)
{
	CLEANUP(freep) char *log = malloc(strlen(path) + sizeof("-wal"));
	struct stat st;

	if (!log)
		return false;
	(void)sprintf(log, "%s-wal", path);
	return stat(log, &st) < 0 ? errno == ENOENT : st.st_size == 0;
}

/* Whether a process holds the recorder's lock (archive/write/place.c): it ends with the process, however that ends. */
static bool has_recorder(const char *path)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	CLEANUP(freep) char *lock = malloc(strlen(path) + sizeof(".lock"));
	CLEANUP(closep) int fd = -1;

	if (!lock)
		return false;
	(void)sprintf(lock, "%s.lock", path);
	fd = open(lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static int path_fail(const char *path, int result)
{
	int error = sqlite3_system_errno(db);

	switch (result & 0xff) {
	case SQLITE_NOTADB:
		return reader_fail(CALL_ERROR_UNAVAILABLE, "'%s' is not a database; name another file with '--db'",
				   path);
	case SQLITE_CORRUPT:
		return reader_fail(CALL_ERROR_UNAVAILABLE, "the database '%s' is damaged: %s", path,
				   sqlite3_errmsg(db));
	case SQLITE_CANTOPEN:
		if (error == ENOENT)
			return reader_fail(CALL_ERROR_UNAVAILABLE,
					   "there is no database '%s' yet: record one with 'ingero trace'", path);
		return reader_fail(CALL_ERROR_UNAVAILABLE,
				   "cannot open the database '%s': %s; ask its owner, or name another file with '--db'",
				   path, error ? strerror(error) : sqlite3_errmsg(db));
	default:
		return reader_fail(CALL_ERROR_UNAVAILABLE, "cannot read the database '%s': %s", path,
				   sqlite3_errmsg(db));
	}
}

static int bytes_compare(const void *a, const void *b)
{
	return memcmp(a, b, 1);
}

/* SQLite and the C library open or ask for these late: a sealed process could not. */
static void late_prime(void)
{
	char sorted[4096] = { 0 }; /* qsort(3) asks for the amount of memory when it sorts much */
	uint64_t random;
	time_t now = time(NULL);
	struct tm tm;

	sqlite3_randomness(sizeof(random), &random);
	(void)localtime_r(&now, &tm);
	qsort(sorted, sizeof(sorted), 1, bytes_compare);
}

static int reader_prepare(void)
{
	static char path[READER_PATH_MAX + 1];
	struct stat st;
	ssize_t n;
	int r;

	r = temporary_prepare();
	if (r < 0)
		return reader_fail(CALL_ERROR_INTERNAL, "cannot make temporary files: %s", strerror(-r)), r;
	n = stream_receive(path, sizeof(path) - 1);
	if (n <= 0)
		return -ECANCELED;
	path[n] = '\0';
	if (stat(path, &st) == 0 && st.st_size == 0) /* for SQLite an empty file is an empty database */
		return reader_fail(CALL_ERROR_UNAVAILABLE,
				   "'%s' is empty: nothing was recorded there; name another file with '--db'", path),
		       -EINVAL;
	r = database_open(path, "");
	if (((r & 0xff) == SQLITE_CANTOPEN || (r & 0xff) == SQLITE_READONLY) && stat(path, &st) == 0 &&
	    has_no_log(path)) { /* in a place where no lock can be made no recorder writes */
		(void)sqlite3_close(db);
		r = database_open(path, "?immutable=1");
	}
	if (r != SQLITE_OK) {
		(void)path_fail(path, r);
		return -EIO;
	}
	is_recorded = has_recorder(path);
	late_prime();
	temporary_seal();
	return 0;
}

/* ---- sealed ---- */

static const reader_method_func methods[] = {
#define QUESTION(ID, name, limit) [METHOD_QUERY_##ID] = reader_##name,
#include "archive/reader.def"
};

static int question_answer(const struct reader_question *q, const uint8_t *request, size_t n)
{
	struct reader_job job = {
		.db = db,
		.scope = { .all = q->all, .uid = q->uid, .names_hidden = q->names_hidden },
		.is_recorded = is_recorded,
		.has_cost = q->has_cost,
		.now_unix_ns = q->now_unix_ns,
		.limit_ns = q->limit_ns,
		.deadline_ns = clock_now_ns() + q->limit_ns,
		.request = request,
		.request_bytes = n,
	};
	char why[READ_WHY_BYTES];
	int r;

	reader_deadline_set(&job, db);
	r = foreign_import(db, &job.scope, q->method == METHOD_QUERY_SQL || q->method == METHOD_QUERY_EXPORT_ROWS, why,
			   &job.db);
	if (r == 0)
		reader_deadline_set(&job, job.db);
	if (r == 0 || r == -ENOENT)
		r = store_reader_open(job.db, &job.scope, why, &job.reader);
	if (r == -ETIME)
		return reader_fail_errno(&job, r);
	if (r < 0)
		return reader_fail(CALL_ERROR_UNAVAILABLE, "%s", why);
	if (methods[q->method](&job))
		return 0; /* reported already */
	return stream_finish() < 0;
}

/* Return: exit status. Nothing is released: the process ends. */
static int reader_serve(void)
{
	static _Alignas(max_align_t) uint8_t message[sizeof(struct reader_question) + READER_REQUEST_MAX];
	struct reader_question q;
	ssize_t n = stream_receive(message, sizeof(message));

	if (n < (ssize_t)sizeof(q))
		return 1;
	memcpy(&q, message, sizeof(q));
	if (q.method >= ARRAY_SIZE(methods) || !methods[q.method])
		return 1;
	return question_answer(&q, message + sizeof(q), (size_t)n - sizeof(q));
}

#define ANY_FD .last_fd = -1

static const struct child_grant grants[] = {
	{ SYS_pwrite64, TEMPORARY_FIRST_FD, TEMPORARY_LAST_FD },
	{ SYS_ftruncate, TEMPORARY_FIRST_FD, TEMPORARY_LAST_FD },
	{ SYS_fcntl, ANY_FD }, /* locks of the file that is read */
	{ SYS_fstat, ANY_FD },
#ifdef SYS_newfstatat
	{ SYS_newfstatat, ANY_FD }, /* the C library's fstat() */
#endif
	{ SYS_getpid, ANY_FD },		 /* owner of a lock */
	{ SYS_clock_nanosleep, ANY_FD }, /* between two tries to get a lock */
};

const struct child_role reader_role = {
	.name = READER_ROLE,
	.title = READER_TITLE,
	.prepare = reader_prepare,
	.serve = reader_serve,
	.grants = grants,
	.n_grants = ARRAY_SIZE(grants),
	.maps_files = true, /* the index of the log, as it grows */
	.descriptors_max = 64,
	.file_bytes_max = TEMPORARY_BYTES_MAX,
	.cpu_limit_s = 660, /* maximum time of a question: 600 s */
};
