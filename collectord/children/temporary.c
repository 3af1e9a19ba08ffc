// SPDX-License-Identifier: Apache-2.0
#include "children/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LIMIT_DEFAULT (512ull << 20) /* sorting ten million calls by one column took up to 148 MB */

struct temporary_file {
	sqlite3_file base;
	int slot;
};

struct slot {
	bool is_open;
	bool is_database; /* kept when closed */
};

/* SQLite knows one VFS by this name, and a child has one thread: the state is global. */
static struct {
	sqlite3_vfs vfs;
	sqlite3_vfs *system; /* the VFS that opens files */
	struct slot slots[TEMPORARY_COUNT];
	int n_slots;
	uint64_t bytes_max;
	bool is_sealed;
} state = { .bytes_max = LIMIT_DEFAULT };

static int slot_fd(int slot)
{
	return TEMPORARY_FIRST_FD + slot;
}

static int file_fd(sqlite3_file *file)
{
	return slot_fd(((struct temporary_file *)file)->slot);
}

/* ---- a file ---- */

static int file_close(sqlite3_file *file)
{
	struct slot *slot = &state.slots[((struct temporary_file *)file)->slot];

	slot->is_open = false;
	if (!slot->is_database && ftruncate(file_fd(file), 0) < 0)
		return SQLITE_IOERR_CLOSE;
	return SQLITE_OK;
}

static int temporary_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	int done = 0;

	while (done < n) {
		ssize_t got = pread(file_fd(file), (char *)to + done, (size_t)(n - done), at + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (got == 0)
			break;
		done += (int)got;
	}
	if (done == n)
		return SQLITE_OK;
	memset((char *)to + done, 0, (size_t)(n - done)); /* SQLite requires it */
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
	int done = 0;

	if (at < 0 || (uint64_t)at + (uint64_t)n > state.bytes_max)
		return SQLITE_FULL;
	while (done < n) {
		ssize_t put = pwrite(file_fd(file), (const char *)from + done, (size_t)(n - done), at + done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 && errno != ENOSPC ? SQLITE_IOERR_WRITE : SQLITE_FULL;
		done += (int)put;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 n)
{
	return ftruncate(file_fd(file), n) < 0 ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK; /* a crash removes it */
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_n)
{
	struct stat st;

	if (fstat(file_fd(file), &st) < 0)
		return SQLITE_IOERR_FSTAT;
	*ret_n = st.st_size;
	return SQLITE_OK;
}

/* No other process can open it, so there is nothing to lock. */
static int file_lock(sqlite3_file *file, int level)
{
	(void)file;
	(void)level;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	(void)file;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_device(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods file_methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = temporary_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_device,
};

/* ---- opening ---- */

static int slot_open(sqlite3_file *file, bool is_database)
{
	for (int i = 0; i < state.n_slots; i++) {
		struct slot *slot = &state.slots[i];

		if (slot->is_open || (slot->is_database && !is_database))
			continue;
		slot->is_open = true;
		slot->is_database = is_database;
		((struct temporary_file *)file)->slot = i;
		file->pMethods = &file_methods;
		return SQLITE_OK;
	}
	return SQLITE_CANTOPEN; /* a statement was seen to need two at once */
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	const char *last = name ? strrchr(name, '/') : NULL;
	bool is_database = name && strcmp(last ? last + 1 : name, TEMPORARY_DATABASE) == 0;

	(void)vfs;
	file->pMethods = NULL;
	if (!state.is_sealed && name && !is_database)
		return state.system->xOpen(state.system, name, file, flags, ret_flags);
	if (name && !is_database &&
	    !(flags &
	      (SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB | SQLITE_OPEN_SUBJOURNAL)))
		return SQLITE_CANTOPEN;
	if (ret_flags)
		*ret_flags = flags;
	return slot_open(file, is_database);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
	(void)vfs;
	return state.is_sealed ? SQLITE_OK : state.system->xDelete(state.system, name, sync_dir);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	(void)vfs;
	*ret = 0;
	return state.is_sealed ? SQLITE_OK : state.system->xAccess(state.system, name, flags, ret);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *name, int room, char *ret)
{
	(void)vfs;
	if (!state.is_sealed)
		return state.system->xFullPathname(state.system, name, room, ret);
	if (strlen(name) >= (size_t)room)
		return SQLITE_CANTOPEN;
	strcpy(ret, name);
	return SQLITE_OK;
}

static int file_open_unnamed(void)
{
	static const char *const places[] = { "/var/tmp", "/tmp" }; /* preferably on a disk */

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (fd >= 0)
			return fd;
	}
	return memfd_create("ingero-temporary", MFD_CLOEXEC);
}

int temporary_prepare(size_t n_more)
{
	state.n_slots = (int)MIN(n_more + TEMPORARY_LEAST, (size_t)TEMPORARY_COUNT);
	for (int i = 0; i < TEMPORARY_COUNT; i++) {
		/* Numbers that may be written to are never those of other files. */
		int fd = i < state.n_slots ? file_open_unnamed() : fcntl(slot_fd(0), F_DUPFD_CLOEXEC, slot_fd(i));

		if (fd < 0)
			return -errno;
		if (fd == slot_fd(i))
			continue;
		if (dup3(fd, slot_fd(i), O_CLOEXEC) < 0)
			return -errno;
		(void)close(fd);
	}

	if (sqlite3_initialize() != SQLITE_OK)
		return -ENOMEM;
	state.system = sqlite3_vfs_find(NULL);
	state.vfs = *state.system;
	state.vfs.zName = "temporary";
	state.vfs.pNext = NULL;
	state.vfs.szOsFile = MAX(state.system->szOsFile, (int)sizeof(struct temporary_file));
	state.vfs.xOpen = vfs_open;
	state.vfs.xDelete = vfs_delete;
	state.vfs.xAccess = vfs_access;
	state.vfs.xFullPathname = vfs_full_pathname;
	return sqlite3_vfs_register(&state.vfs, 1) == SQLITE_OK ? 0 : -ENOMEM;
}

void temporary_seal(void)
{
	state.is_sealed = true;
}

void temporary_limit(uint64_t bytes_max)
{
	state.bytes_max = MIN(bytes_max, TEMPORARY_BYTES_MAX);
}

int temporary_database_fd(void)
{
	for (int i = 0; i < TEMPORARY_COUNT; i++)
		if (state.slots[i].is_database)
			return slot_fd(i);
	return -1;
}
