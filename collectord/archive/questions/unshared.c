// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/unshared.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "archive/sql/header.h"

/* ---- the index of the log, in memory ---- */

/* Behind the file of the VFS below. */
struct log_index {
	void **pages;
	size_t n;
};

/* SQLite knows one VFS by this name. */
static struct {
	sqlite3_vfs vfs;
	sqlite3_vfs *below;
	sqlite3_io_methods methods; /* of a database: those of the VFS below, but for the index */
	size_t index_at;	    /* offset of struct log_index in a file */
} state;

static struct log_index *index_of(sqlite3_file *file)
{
	return (struct log_index *)(void *)((char *)file + state.index_at);
}

static int index_grow(struct log_index *index, size_t n)
{
	void **pages = reallocarray(index->pages, n, sizeof(*pages));

	if (!pages)
		return SQLITE_NOMEM;
	memset(pages + index->n, 0, (n - index->n) * sizeof(*pages));
	index->pages = pages;
	index->n = n;
	return SQLITE_OK;
}

static int index_map(sqlite3_file *file, int at, int bytes, int may_grow, void volatile **ret)
{
	struct log_index *index = index_of(file);

	*ret = NULL;
	if (may_grow && (size_t)at >= index->n && index_grow(index, (size_t)at + 1) != SQLITE_OK)
		return SQLITE_NOMEM;
	if ((size_t)at >= index->n)
		return SQLITE_OK; /* it has no such page yet */
	if (may_grow && !index->pages[at]) {
		index->pages[at] = calloc(1, (size_t)bytes);
		if (!index->pages[at])
			return SQLITE_NOMEM;
	}
	*ret = index->pages[at];
	return SQLITE_OK;
}

/* One connection has the index. */
static int index_lock(sqlite3_file *file, int offset, int n, int flags)
{
	(void)file;
	(void)offset;
	(void)n;
	(void)flags;
	return SQLITE_OK;
}

static void index_barrier(sqlite3_file *file)
{
	(void)file;
}

static int index_unmap(sqlite3_file *file, int removes)
{
	struct log_index *index = index_of(file);

	(void)removes;
	for (size_t i = 0; i < index->n; i++)
		free(index->pages[i]);
	free(index->pages);
	*index = (struct log_index){ .pages = NULL };
	return SQLITE_OK;
}

static int unshared_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	int r;

	(void)vfs;
	*index_of(file) = (struct log_index){ .pages = NULL };
	if (flags & SQLITE_OPEN_WAL)
		flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
	r = state.below->xOpen(state.below, name, file, flags, ret_flags);
	if (r != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB) || file->pMethods->iVersion < 2)
		return r;
	state.methods = *file->pMethods;
	state.methods.xShmMap = index_map;
	state.methods.xShmLock = index_lock;
	state.methods.xShmBarrier = index_barrier;
	state.methods.xShmUnmap = index_unmap;
	file->pMethods = &state.methods;
	return SQLITE_OK;
}

int unshared_prepare(void)
{
	const size_t align = _Alignof(struct log_index);

	if (sqlite3_initialize() != SQLITE_OK)
		return -ENOMEM;
	state.below = sqlite3_vfs_find(NULL);
	state.index_at = ((size_t)state.below->szOsFile + align - 1) / align * align;
	state.vfs = *state.below;
	state.vfs.zName = UNSHARED_VFS;
	state.vfs.pNext = NULL;
	state.vfs.szOsFile = (int)(state.index_at + sizeof(struct log_index));
	state.vfs.xOpen = unshared_open;
	return sqlite3_vfs_register(&state.vfs, 0) == SQLITE_OK ? 0 : -ENOMEM;
}

/* ---- which way ---- */

/* Name of what belongs to a file; SQLite follows links before it appends the ending. Return: NULL on failure */
static char *name_beside(const char *path, const char *ending)
{
	CLEANUP(freep) char *real = realpath(path, NULL);
	char *name;

	return real && asprintf(&name, "%s%s", real, ending) >= 0 ? name : NULL;
}

/* Return: 0 or -errno */
static int stat_beside(const char *path, const char *ending, struct stat *ret)
{
	CLEANUP(freep) char *name = name_beside(path, ending);

	return !name || stat(name, ret) < 0 ? -errno : 0;
}

static bool is_absent_or_empty(const char *path, const char *ending)
{
	struct stat st;
	int r = stat_beside(path, ending, &st);

	return r ? r == -ENOENT : st.st_size == 0;
}

bool unshared_has_no_log(const char *path)
{
	return is_absent_or_empty(path, "-wal");
}

static int beside_open(const char *path, const char *ending, struct stat *ret)
{
	CLEANUP(freep) char *name = name_beside(path, ending);
	CLEANUP(closep) int fd = name ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	return fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) ? -1 : TAKE_FD(fd);
}

struct unshared_way unshared_look(struct unshared *u, const char *path)
{
	static const struct unshared_way as_usual = { NULL, "" }, immutable = { NULL, "?immutable=1" },
					 in_memory = { UNSHARED_VFS, "" };
	CLEANUP(closep) int fd = beside_open(path, "", &u->st);
	struct sql_header header;
	struct stat log, index;

	if (fd < 0 || sql_header_read(fd, &header) != SQL_FILE_DATABASE || !header.has_log ||
	    header.application_id == SQL_APPLICATION_ID || !is_absent_or_empty(path, "-journal"))
		return as_usual;
	if (stat_beside(path, "-wal", &log) == 0 && stat_beside(path, "-shm", &index) == 0)
		return as_usual;
	if (!unshared_has_no_log(path)) {
		u->log_fd = beside_open(path, "-wal", &u->log_st);
		if (u->log_fd < 0)
			return as_usual;
		u->fd = TAKE_FD(fd);
		return in_memory;
	}
	u->fd = TAKE_FD(fd);
	return immutable;
}

static bool is_changed(int fd, const struct stat *before)
{
	struct stat now;

	if (fd < 0)
		return false;
	return fstat(fd, &now) < 0 || now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

bool unshared_has_changed(const struct unshared *u)
{
	return is_changed(u->fd, &u->st) || is_changed(u->log_fd, &u->log_st);
}
