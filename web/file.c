// SPDX-License-Identifier: Apache-2.0
#include "web/file.h"

#include <errno.h>
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int file_refuse(char *error, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int file_refuse(char *error, int r, const char *fmt, ...)
{
	FORMAT_INTO(error, WEB_ERROR_BYTES, fmt);
	return r;
}

static bool is_foreign(const struct stat *st)
{
	return st->st_uid != geteuid() && st->st_uid != 0;
}

static int place_check(const struct web_place *place, char *error)
{
	struct stat st;

	if (fstat(place->fd, &st) < 0)
		return file_refuse(error, -errno, "cannot read '%.300s': %s", place->path, strerror(errno));
	if (is_foreign(&st))
		return file_refuse(error, -EPERM, "'%.300s' belongs to another user", place->path);
	if (st.st_mode & 022)
		return file_refuse(error, -EPERM, "other users can write to '%.180s'; run 'chmod go-w %.180s'",
				   place->path, place->path);
	return 0;
}

int web_place_open(const char *home, char *error, struct web_place *ret)
{
	int n = snprintf(ret->path, sizeof(ret->path), "%s/.ingero", home ? home : ""), r;

	ret->fd = -1;
	if (!home || *home != '/' || n < 0 || (size_t)n >= sizeof(ret->path))
		return file_refuse(error, -ENOENT,
				   "HOME is not an absolute path; name the files with '--token-file', '--tls-cert' and "
				   "'--tls-key'");
	if (mkdir(ret->path, 0700) < 0 && errno != EEXIST)
		return file_refuse(error, -errno, "cannot create '%.300s': %s", ret->path, strerror(errno));
	ret->fd = open(ret->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return file_refuse(error, -errno, "'%.300s' is not a directory, or a link", ret->path);
	if (ret->fd < 0)
		return file_refuse(error, -errno, "cannot open '%.300s': %s", ret->path, strerror(errno));
	r = place_check(ret, error);
	if (r < 0)
		web_place_close(ret);
	return r;
}

void web_place_close(struct web_place *place)
{
	closep(&place->fd);
	place->fd = -1;
}

static int file_check(int fd, const char *path, bool is_secret, char *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return file_refuse(error, -errno, "cannot read '%.300s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return file_refuse(error, -EPERM, "'%.300s' is not a regular file", path);
	if (is_secret && is_foreign(&st))
		return file_refuse(error, -EPERM, "'%.300s' belongs to another user", path);
	if (is_secret && (st.st_mode & 077))
		return file_refuse(error, -EPERM, "other users can read '%.180s'; run 'chmod 600 %.180s'", path, path);
	return 0;
}

int web_file_open(const struct web_file *file, bool is_secret, char *error)
{
	int link = file->directory == AT_FDCWD ? 0 : O_NOFOLLOW;
	CLEANUP(closep)
	int fd = openat(file->directory, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | link);
	int r;

	if (fd < 0 && link && errno == ELOOP)
		return file_refuse(error, -EPERM, "'%.300s' is a link", file->path);
	if (fd < 0)
		return file_refuse(error, -errno, "cannot read '%.300s': %s", file->path, strerror(errno));
	r = file_check(fd, file->path, is_secret, error);
	if (r < 0)
		return r;
	r = fd;
	fd = -1;
	return r;
}

int web_file_create(const struct web_file *file, mode_t mode, char *temporary, char *error)
{
	uint64_t number;
	int fd, n;

	if (RAND_bytes((unsigned char *)&number, sizeof(number)) != 1)
		return file_refuse(error, -EIO, "cannot get random numbers");
	n = snprintf(temporary, WEB_TEMPORARY_BYTES, "%s.%016llx", file->name, (unsigned long long)number);
	if (n < 0 || n >= WEB_TEMPORARY_BYTES)
		return file_refuse(error, -ENAMETOOLONG, "cannot create '%.300s': %s", file->path,
				   strerror(ENAMETOOLONG));
	fd = openat(file->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return file_refuse(error, -errno, "cannot create '%.300s': %s", file->path, strerror(errno));
	(void)fchmod(fd, mode); /* whatever the mask is */
	return fd;
}
