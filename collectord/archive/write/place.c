// SPDX-License-Identifier: Apache-2.0
#include "archive/write/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char *const beside[] = { "-wal", "-shm", "-journal" };

/* Creates every missing part of a directory's path. */
static int make_directories(const char *directory)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s", directory);
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int resolve(struct place *place, const char *path, bool makes_directory, char *why, size_t why_bytes)
{
	CLEANUP(freep) char *directory = NULL, *real = NULL;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int n, r;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EISDIR;
	directory = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	if (!directory)
		return -ENOMEM;
	real = realpath(directory, NULL);
	if (!real && errno == ENOENT && makes_directory) {
		r = make_directories(directory);
		if (r < 0)
			return r;
		real = realpath(directory, NULL);
	}
	r = real ? 0 : -errno;
	if (r == -ENOENT)
		(void)snprintf(why, why_bytes,
			       "cannot write '%s': the directory '%s' does not exist; create it, or name another file "
			       "with --db",
			       path, directory);
	if (r < 0)
		return r;

	/* Leaves room for the suffix that place_set_aside() appends. */
	n = snprintf(place->path, sizeof(place->path) - 64, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
	return n < 0 || (size_t)n >= sizeof(place->path) - 64 ? -ENAMETOOLONG : 0;
}

/*
 * A lock of the process, not of the descriptor: the lock ends with the process even if a child has the descriptor, and
 * F_GETLK returns the process that holds it. The lock is on a file of its own, because closing any descriptor of the
 * database would release SQLite's locks.
 */
static int lock(struct place *place, char *why, size_t why_bytes)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	CLEANUP(closep) int fd = -1;
	char path[PATH_MAX + 8];

	(void)snprintf(path, sizeof(path), "%s.lock", place->path);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &whole) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		if (fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK && whole.l_pid > 0)
			(void)snprintf(why, why_bytes,
				       "'%s' is in use by process %d; stop it, or name another file with --db",
				       place->path, (int)whole.l_pid);
		else
			(void)snprintf(why, why_bytes,
				       "'%s' is in use by another recorder; stop it, or name another file with --db",
				       place->path);
		return -EBUSY;
	}
	place->lock_fd = TAKE_FD(fd);
	return 0;
}

int place_create(struct place *place)
{
	CLEANUP(closep) int fd = open(place->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return 0;
}

/* Return: 0; -ENOENT when the file does not exist; -ELOOP for a link; -EEXIST for no regular file; -errno */
static int place_look(const struct place *place, char *why, size_t why_bytes)
{
	struct stat st;

	if (lstat(place->path, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		(void)snprintf(why, why_bytes, "'%s' is a link, which is not followed; name the file itself with --db",
			       place->path);
		return -ELOOP;
	}
	if (!S_ISREG(st.st_mode)) {
		(void)snprintf(why, why_bytes, "'%s' is no regular file; name another with --db", place->path);
		return -EEXIST;
	}
	return 0;
}

static int prepare(struct place *place, char *why, size_t why_bytes)
{
	int r = place_look(place, why, why_bytes); /* before a lock file is created beside it */

	if (r == 0 || r == -ENOENT)
		r = lock(place, why, why_bytes);
	if (r == 0)
		r = place_look(place, why, why_bytes);
	return r == -ENOENT ? place_create(place) : r;
}

int place_open(struct place *place, const char *path, bool makes_directory, char *why, size_t why_bytes)
{
	int r;

	why[0] = '\0';
	r = resolve(place, path, makes_directory, why, why_bytes);
	if (r == 0)
		r = prepare(place, why, why_bytes);
	if (r == -ENOENT && place->path[0]) /* as in /proc: the directory exists */
		(void)snprintf(
			why, why_bytes,
			"cannot write '%s': no file can be created in that directory; name another file with --db",
			path);
	if (r < 0 && !why[0])
		(void)snprintf(why, why_bytes, "cannot write '%s': %s; name another file with --db", path,
			       strerror(-r));
	return r;
}

void place_close(struct place *place)
{
	closep(&place->lock_fd);
	place->lock_fd = -1;
}

/* Renames SQLite's log, index and journal before the file, so that a crash leaves no log beside a new file. */
static int rename_beside(const struct place *place, const char *to)
{
	char from_path[PATH_MAX + 16], to_path[PATH_MAX + 80];

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		(void)snprintf(from_path, sizeof(from_path), "%s%s", place->path, beside[i]);
		(void)snprintf(to_path, sizeof(to_path), "%s%s", to, beside[i]);
		if (rename(from_path, to_path) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int place_set_aside(struct place *place, const char *word, uint64_t unix_ns, char *ret_name)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	char stamp[32], name[PATH_MAX + 64];
	struct tm utc;
	int r;

	if (!gmtime_r(&seconds, &utc) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc))
		return -EINVAL;
	(void)snprintf(name, sizeof(name), "%s.%s-%s", place->path, word, stamp);
	if (strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	for (int again = 2; access(name, F_OK) == 0 && again < 100; again++)
		(void)snprintf(name, sizeof(name), "%s.%s-%s.%d", place->path, word, stamp, again);

	r = rename_beside(place, name);
	if (r == 0 && rename(place->path, name) < 0)
		r = -errno;
	if (r == 0)
		(void)snprintf(ret_name, PATH_MAX, "%.*s", PATH_MAX - 1, name);
	return r;
}

uint64_t place_bytes(const struct place *place)
{
	char path[PATH_MAX + 16];
	uint64_t bytes = 0;
	struct stat st;

	if (stat(place->path, &st) == 0)
		bytes = (uint64_t)st.st_size;
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", place->path, beside[i]);
		if (stat(path, &st) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}
