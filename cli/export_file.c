// SPDX-License-Identifier: Apache-2.0
#include "cli/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "cli/options.h"

#define PARTIAL ".partial"

static int refuse(char *error, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int refuse(char *error, int r, const char *fmt, ...)
{
	FORMAT_INTO(error, EXPORT_FILE_ERROR_BYTES, fmt);
	return r;
}

static int target_check(const char *path, bool replaces, char *error)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : refuse(error, -errno, "cannot write %s: %s", option_quote(path).text, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse(error, -EISDIR, "%s is a directory; name a file in it", option_quote(path).text);
	if (!S_ISREG(st.st_mode))
		return refuse(error, -EINVAL, "%s is no plain file; for a pipe write to '-o -'",
			      option_quote(path).text);
	if (!replaces)
		return refuse(error, -EEXIST, "%s exists; '--force' overwrites it", option_quote(path).text);
	return 0;
}

/* A partial file of an aborted export is overwritten; a running export holds its lock. */
static int partial_open(const char *path, const char *partial, char *error, int *ret_fd)
{
	CLEANUP(closep) int fd = open(partial, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return refuse(error, -ENOENT, "cannot write %s: its directory does not exist", option_quote(path).text);
	if (fd < 0)
		return refuse(error, -errno, "cannot write %s: %s", option_quote(partial).text, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(error, -EINVAL, "%s is no plain file; remove it", option_quote(partial).text);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return refuse(error, -EEXIST, "another export is writing %s; wait for it, or name another file",
			      option_quote(partial).text);
	if (ftruncate(fd, 0) < 0)
		return refuse(error, -errno, "cannot write %s: %s", option_quote(partial).text, strerror(errno));

	*ret_fd = TAKE_FD(fd);
	return 0;
}

int export_file_open(const char *path, bool replaces, char *error, struct export_file *ret_file)
{
	struct export_file file = { .path = path, .fd = -1, .replaces = replaces };
	CLEANUP(freep) char *partial = NULL;
	int r;

	if (strcmp(path, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return refuse(error, -EINVAL,
				      "a database is binary data, not for a terminal; name a file with '-o FILE', or "
				      "pipe '-o -' to "
				      "another program");
		file.fd = STDOUT_FILENO;
		*ret_file = file;
		return 0;
	}
	r = target_check(path, replaces, error);
	if (r < 0)
		return r;
	if (asprintf(&partial, "%s%s", path, PARTIAL) < 0) {
		partial = NULL;
		return refuse(error, -ENOMEM, "no memory for the name of the file");
	}
	r = partial_open(path, partial, error, &file.fd);
	if (r < 0)
		return r;

	file.partial = TAKE_PTR(partial);
	*ret_file = file;
	return 0;
}

int export_file_write(struct export_file *file, const void *data, size_t n)
{
	return fd_write_full(file->fd, data, n);
}

int export_file_finish(struct export_file *file)
{
	if (!file->partial)
		return 0;
	if (fsync(file->fd) < 0)
		return -errno;
	if (renameat2(AT_FDCWD, file->partial, AT_FDCWD, file->path, file->replaces ? 0 : RENAME_NOREPLACE) < 0)
		return -errno;

	file->is_finished = true;
	return 0;
}

void export_file_done(struct export_file *file)
{
	if (file->partial && !file->is_finished)
		(void)unlink(file->partial); /* a partial file is useless; errors of its removal change nothing */
	if (file->partial)
		closep(&file->fd);
	freep(&file->partial);
	*file = (struct export_file)EXPORT_FILE_INIT;
}
