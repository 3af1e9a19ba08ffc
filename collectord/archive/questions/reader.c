// SPDX-License-Identifier: Apache-2.0
/*
 * The child that reads the database for one caller.
 *
 * First it opens the files, begins its only transaction, and makes SQLite open everything that it would open later.
 * Then it is sealed. It reads the caller's request only after that.
 */
#include "archive/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <malloc.h>
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "children/child_role.h"
#include "archive/foreign/import.h"
#include "archive/job.h"
#include "archive/questions/unshared.h"
#include "children/stream.h"
#include "children/temporary.h"
#include "clock.h"
#include "proto/methods.h"

_Static_assert(READER_FILES_MAX == READ_FILES_MAX, "a reader holds what may be named");
_Static_assert(TEMPORARY_COUNT == TEMPORARY_LEAST + READER_FILES_MAX, "each file may need one to be imported into");

#define CACHE_KIB 2048 /* SQLite's page cache, for all files together */

/* A file to read. */
struct reader_file {
	const char *path;
	struct stat st;
	struct unshared unshared;
	sqlite3 *db;
	char name[READ_NODE_BYTES]; /* name shown to users: the part of path after the last slash */
};

/* Set by prepare(), before the job exists. */
static struct reader_file files[READER_FILES_MAX];
static size_t n_files;
static bool is_recorded; /* a recorder has one of the files open for writing */

/* ---- before the seal ---- */

/* Begins the only transaction: all answers show one state of the file, and no file is opened or locked later. */
static int database_prime(sqlite3 *db)
{
	static const char *const steps[] = { "PRAGMA query_only=1", "PRAGMA mmap_size=0", "PRAGMA temp_store=1",
					     "BEGIN", "SELECT count(*) FROM sqlite_schema" };
	char cache[64];
	int r;

	(void)snprintf(cache, sizeof(cache), "PRAGMA cache_size=-%zu", CACHE_KIB / n_files);
	r = sqlite3_exec(db, cache, NULL, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == SQLITE_OK; i++)
		r = sqlite3_exec(db, steps[i], NULL, NULL, NULL);
	return r;
}

static int database_open(const char *path, struct unshared_way way, sqlite3 **ret_db)
{
	CLEANUP(freep) char *uri = malloc(strlen(path) * 3 + strlen(way.more) + sizeof("file:"));
	char *p = uri;
	int r;

	if (!uri)
		return SQLITE_NOMEM;
	p += sprintf(p, "file:");
	for (const char *c = path; *c; c++) /* escape characters that have a meaning in a URI */
		p += sprintf(p, strchr("%?#", *c) ? "%%%02X" : "%c", (unsigned char)*c);
	strcpy(p, way.more);
	r = sqlite3_open_v2(uri, ret_db,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			    way.vfs);
	if (r == SQLITE_OK) {
		(void)sqlite3_busy_timeout(*ret_db, 2000);
		r = database_prime(*ret_db);
	}
	return r;
}

/* Whether a process holds the recorder's lock (archive/write/place.c). The kernel releases it when the process ends. */
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

static int path_fail(const char *path, sqlite3 *db, int result)
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

/* Makes SQLite and the C library do now what they would do at first use: a sealed process may not open files. */
static void late_prime(void)
{
	char sorted[4096] = { 0 }; /* large enough that qsort(3) asks for the amount of memory */
	uint64_t random;
	time_t now = time(NULL);
	struct tm tm;

	sqlite3_randomness(sizeof(random), &random);
	(void)localtime_r(&now, &tm);
	qsort(sorted, sizeof(sorted), 1, bytes_compare);
}

/* Return: 0, or -errno after an error was sent */
static int file_prepare(struct reader_file *file)
{
	const char *path = file->path;
	int r;

	if (stat(path, &file->st) == 0 &&
	    file->st.st_size == 0) /* for SQLite an empty file is an empty database, but users expect an error */
		return reader_fail(CALL_ERROR_UNAVAILABLE,
				   "'%s' is empty: nothing was recorded there; name another file with '--db'", path),
		       -EINVAL;
	file->unshared = (struct unshared)UNSHARED_INIT;
	r = database_open(path, unshared_look(&file->unshared, path), &file->db);
	/* No lock file can be created in this directory, so no recorder writes there. */
	if (((r & 0xff) == SQLITE_CANTOPEN || (r & 0xff) == SQLITE_READONLY) && stat(path, &file->st) == 0 &&
	    unshared_has_no_log(path)) {
		(void)sqlite3_close(file->db);
		r = database_open(path, (struct unshared_way){ .vfs = NULL, .more = "?immutable=1" }, &file->db);
	}
	if (r != SQLITE_OK) {
		(void)path_fail(path, file->db, r);
		return -EIO;
	}
	is_recorded |= has_recorder(path);
	return 0;
}

/* Refuse a file that was named twice, since its rows would count twice. Return: 0, or -errno after an error was sent */
static int file_look_twice(const struct reader_file *file)
{
	for (const struct reader_file *other = files; other < file; other++)
		if (other->st.st_dev == file->st.st_dev && other->st.st_ino == file->st.st_ino)
			return reader_fail(CALL_ERROR_INVALID, "'%s' and '%s' are one file: leave out one of them",
					   other->path, file->path),
			       -EINVAL;
	return 0;
}

static void file_label(struct reader_file *file)
{
	const char *slash = strrchr(file->path, '/');

	(void)snprintf(file->name, sizeof(file->name), "%s", slash ? slash + 1 : file->path);
	(void)utf8_scrub(file->name);
}

/* Return: 0 or -ECANCELED */
static int paths_receive(void)
{
	static char paths[READER_FILES_MAX * (READER_PATH_MAX + 1)];
	ssize_t n = stream_receive(paths, sizeof(paths) - 1);

	for (char *path = paths; n > 0 && path < paths + n; path += strlen(path) + 1) {
		if (n_files == READER_FILES_MAX)
			return -ECANCELED;
		files[n_files++].path = path;
	}
	return n_files ? 0 : -ECANCELED;
}

#define KEPT_BYTES (32 << 20)
#define HUGE_BYTES (8 << 20)

/*
 * Memory of one row of figures is taken again for the next: the kernel would have to clear it each time. What most
 * answers take comes in huge pages, where the machine has them, and is only there once it is used. All is far below
 * what a reader may take.
 */
static void heap_prepare(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from;
	char *heap;

	(void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	heap = malloc(HUGE_BYTES);
	from = ((uintptr_t)heap + page - 1) & ~(page - 1);
	if (heap)
		(void)madvise((void *)from, HUGE_BYTES - page, MADV_HUGEPAGE);
	free(heap);
}

static int reader_prepare(void)
{
	int r;

	heap_prepare();
	late_prime(); /* before the paths, which may come later (children/spare.h) */
	r = paths_receive();
	if (r < 0)
		return r;
	r = temporary_prepare(n_files > 1 ? n_files : 0);
	r = r ? r : unshared_prepare();
	if (r < 0)
		return reader_fail(CALL_ERROR_INTERNAL, "cannot make temporary files: %s", strerror(-r)), r;
	for (size_t i = 0; i < n_files && r == 0; i++) {
		r = file_prepare(&files[i]);
		r = r ? r : file_look_twice(&files[i]);
		file_label(&files[i]);
	}
	if (r < 0)
		return r;
	temporary_seal();
	return 0;
}

/* ---- sealed ---- */

static const reader_method_func methods[] = {
#define QUESTION(ID, name, limit, stacks) [METHOD_QUERY_##ID] = reader_##name,
#include "archive/reader.def"
};

/* Open a file; one recorded by Ingero is imported. Return: 0; 1: an error was sent */
static int file_read(struct reader_job *job, struct reader_file *file, bool has_stacks)
{
	char why[READ_WHY_BYTES];
	int r;

	reader_deadline_set(job, file->db);
	r = foreign_import(file->db, &job->scope, has_stacks, why, &file->db);
	if (r != -ETIME && unshared_has_changed(&file->unshared)) /* whatever was read may be of two states */
		return reader_fail(CALL_ERROR_UNAVAILABLE, "'%s' was written while it was read; ask again", file->path);
	if (r == 0)
		reader_deadline_set(job, file->db);
	if (r == 0 || r == -ENOENT)
		return 0;
	job->db = file->db;
	if (r == -ETIME)
		return reader_fail_errno(job, r);
	return n_files > 1 ? reader_fail(CALL_ERROR_UNAVAILABLE, "'%s': %s; leave it out to read the others",
					 file->path, why)
			   : reader_fail(CALL_ERROR_UNAVAILABLE, "%s", why);
}

/* Open all files. Return: 0; 1: an error was sent */
static int files_open(struct reader_job *job, bool has_stacks)
{
	struct read_file opened[READER_FILES_MAX];
	char why[READ_WHY_BYTES];
	size_t wrong = 0;
	int r = 0;

	for (size_t i = 0; i < n_files && r == 0; i++) {
		r = file_read(job, &files[i], has_stacks);
		opened[i] = (struct read_file){ .db = files[i].db, .name = files[i].name };
	}
	if (r)
		return r;
	job->db = files[0].db;
	r = store_reader_open_files(opened, n_files, &job->scope, why, &wrong, &job->reader);
	if (r == -ETIME)
		return reader_fail_errno(job, r);
	if (r < 0 && n_files > 1)
		return reader_fail(CALL_ERROR_UNAVAILABLE, "'%s': %s; leave it out to read the others",
				   files[wrong].path, why);
	return r < 0 ? reader_fail(CALL_ERROR_UNAVAILABLE, "%s", why) : 0;
}

static int question_answer(const struct reader_question *q, const uint8_t *request, size_t n)
{
	struct reader_job job = {
		.scope = { .all = q->all, .uid = q->uid, .names_hidden = q->names_hidden },
		.is_recorded = is_recorded,
		.has_cost = q->has_cost,
		.now_unix_ns = q->now_unix_ns,
		.limit_ns = q->limit_ns,
		.deadline_ns = clock_now_ns() + q->limit_ns,
		.request = request,
		.request_bytes = n,
	};

	if (files_open(&job, q->has_stacks) || methods[q->method](&job))
		return 0; /* an error was sent already */
	return stream_finish() < 0;
}

/* Return: exit status. Memory is not released, since the process ends. */
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
	{ SYS_fcntl, ANY_FD }, /* SQLite's locks on the files */
	{ SYS_fstat, ANY_FD },
#ifdef SYS_newfstatat
	{ SYS_newfstatat, ANY_FD }, /* the C library uses it for fstat() */
#endif
	{ SYS_getpid, ANY_FD },		 /* SQLite asks for the owner of a lock */
	{ SYS_clock_nanosleep, ANY_FD }, /* SQLite waits before it retries to get a lock */
};

const struct child_role reader_role = {
	.name = READER_ROLE,
	.title = READER_TITLE,
	.prepare = reader_prepare,
	.serve = reader_serve,
	.grants = grants,
	.n_grants = ARRAY_SIZE(grants),
	.maps_files = true,	/* the index of the write-ahead log, which may grow */
	.descriptors_max = 128, /* three for each file, and the temporary files */
	.file_bytes_max = TEMPORARY_BYTES_MAX,
	.cpu_limit_s = 660, /* more than the longest time limit of a request, 600 s */
};
