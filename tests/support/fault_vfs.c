// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fault_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define NAME_BYTES 64
#define TORN_BYTES 512

enum step_kind { STEP_WRITE, STEP_TRUNCATE, STEP_SYNC, STEP_DELETE };

struct step {
	enum step_kind kind;
	uint32_t file; /* index of names */
	int64_t offset;
	size_t n;
	uint8_t *data;
};

struct fault_trace {
	char names[8][NAME_BYTES];
	uint32_t n_names;
	ARRAY(struct step) steps;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t is_set;
	sqlite3_vfs vfs;
	sqlite3_vfs *below;
	enum fault_kind kind;
	uint32_t at_write;
	uint32_t n_writes;
	uint64_t n_reads;
	bool is_hit;
	struct fault_trace *trace;
} fault = { .lock = PTHREAD_MUTEX_INITIALIZER, .is_set = PTHREAD_COND_INITIALIZER };

struct file {
	sqlite3_file base;
	char name[NAME_BYTES];
	sqlite3_file *below; /* behind this struct */
};

static sqlite3_file *below(sqlite3_file *f)
{
	return ((struct file *)f)->below;
}

static const char *last_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static void note(enum step_kind kind, const char *name, int64_t offset, const void *data, size_t n)
{
	struct step step = { .kind = kind, .offset = offset, .n = n };
	struct fault_trace *t = fault.trace;

	if (!t || !name[0])
		return;
	while (step.file < t->n_names && strcmp(t->names[step.file], name) != 0)
		step.file++;
	if (step.file == t->n_names) {
		if (t->n_names == sizeof(t->names) / sizeof(t->names[0]))
			abort();
		(void)snprintf(t->names[t->n_names++], NAME_BYTES, "%s", name);
	}
	if (data) {
		step.data = malloc(n);
		if (!step.data)
			abort();
		memcpy(step.data, data, n);
	}
	if (ARRAY_PUSH(&t->steps, step) < 0)
		abort();
}

static int fault_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 offset)
{
	struct file *file = (struct file *)f;
	bool is_full = false;
	int r;

	(void)pthread_mutex_lock(&fault.lock);
	fault.n_writes++;
	while (fault.kind == FAULT_STALL)
		(void)pthread_cond_wait(&fault.is_set, &fault.lock);
	if (fault.kind != FAULT_NONE && fault.n_writes >= fault.at_write) {
		if (fault.kind == FAULT_KILL) {
			int part = (int)((fault.n_writes * 2654435761u) % (uint32_t)(n + 1));

			if (part)
				(void)file->below->pMethods->xWrite(file->below, data, part, offset);
			_exit(9);
		}
		is_full = fault.kind == FAULT_FULL_FOREVER || fault.n_writes == fault.at_write;
	}
	if (is_full)
		fault.is_hit = true;
	r = is_full ? SQLITE_FULL : file->below->pMethods->xWrite(file->below, data, n, offset);
	if (r == SQLITE_OK)
		note(STEP_WRITE, file->name, offset, data, (size_t)n);
	(void)pthread_mutex_unlock(&fault.lock);
	return r;
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int r;

	(void)pthread_mutex_lock(&fault.lock);
	r = below(f)->pMethods->xTruncate(below(f), size);
	if (r == SQLITE_OK)
		note(STEP_TRUNCATE, ((struct file *)f)->name, size, NULL, 0);
	(void)pthread_mutex_unlock(&fault.lock);
	return r;
}

static int fault_sync(sqlite3_file *f, int flags)
{
	int r;

	(void)pthread_mutex_lock(&fault.lock);
	r = below(f)->pMethods->xSync(below(f), flags);
	if (r == SQLITE_OK)
		note(STEP_SYNC, ((struct file *)f)->name, 0, NULL, 0);
	(void)pthread_mutex_unlock(&fault.lock);
	return r;
}

static int fault_close(sqlite3_file *f)
{
	return below(f)->pMethods->xClose(below(f));
}
static int fault_read(sqlite3_file *f, void *data, int n, sqlite3_int64 offset)
{
	(void)pthread_mutex_lock(&fault.lock);
	fault.n_reads++;
	(void)pthread_mutex_unlock(&fault.lock);
	return below(f)->pMethods->xRead(below(f), data, n, offset);
}
static int fault_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return below(f)->pMethods->xFileSize(below(f), ret);
}
static int fault_lock(sqlite3_file *f, int level)
{
	return below(f)->pMethods->xLock(below(f), level);
}
static int fault_unlock(sqlite3_file *f, int level)
{
	return below(f)->pMethods->xUnlock(below(f), level);
}
static int fault_reserved(sqlite3_file *f, int *ret)
{
	return below(f)->pMethods->xCheckReservedLock(below(f), ret);
}
static int fault_control(sqlite3_file *f, int op, void *data)
{
	return below(f)->pMethods->xFileControl(below(f), op, data);
}
static int fault_sector(sqlite3_file *f)
{
	return below(f)->pMethods->xSectorSize(below(f));
}
static int fault_device(sqlite3_file *f)
{
	return below(f)->pMethods->xDeviceCharacteristics(below(f));
}
static int fault_shm_map(sqlite3_file *f, int page, int size, int extends, void volatile **ret)
{
	return below(f)->pMethods->xShmMap(below(f), page, size, extends, ret);
}
static int fault_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return below(f)->pMethods->xShmLock(below(f), offset, n, flags);
}
static void fault_shm_barrier(sqlite3_file *f)
{
	below(f)->pMethods->xShmBarrier(below(f));
}
static int fault_shm_unmap(sqlite3_file *f, int deletes)
{
	return below(f)->pMethods->xShmUnmap(below(f), deletes);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = fault_close,
	.xRead = fault_read,
	.xWrite = fault_write,
	.xTruncate = fault_truncate,
	.xSync = fault_sync,
	.xFileSize = fault_size,
	.xLock = fault_lock,
	.xUnlock = fault_unlock,
	.xCheckReservedLock = fault_reserved,
	.xFileControl = fault_control,
	.xSectorSize = fault_sector,
	.xDeviceCharacteristics = fault_device,
	.xShmMap = fault_shm_map,
	.xShmLock = fault_shm_lock,
	.xShmBarrier = fault_shm_barrier,
	.xShmUnmap = fault_shm_unmap,
};

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
	struct file *file = (struct file *)f;
	int r;

	(void)vfs;
	*file = (struct file){ .below = (sqlite3_file *)(file + 1) };
	(void)snprintf(file->name, sizeof(file->name), "%s", last_name(path));
	r = fault.below->xOpen(fault.below, path, file->below, flags, ret_flags);
	if (r == SQLITE_OK)
		file->base.pMethods = &methods;
	return r;
}

static int fault_delete(sqlite3_vfs *vfs, const char *path, int syncs)
{
	int r;

	(void)vfs;
	(void)pthread_mutex_lock(&fault.lock);
	r = fault.below->xDelete(fault.below, path, syncs);
	if (r == SQLITE_OK)
		note(STEP_DELETE, last_name(path), 0, NULL, 0);
	(void)pthread_mutex_unlock(&fault.lock);
	return r;
}

void fault_vfs_install(void)
{
	fault.below = sqlite3_vfs_find(NULL);
	fault.vfs = *fault.below; /* the other functions are those of the file system below */
	fault.vfs.zName = "fault";
	fault.vfs.szOsFile = (int)sizeof(struct file) + fault.below->szOsFile;
	fault.vfs.xOpen = fault_open;
	fault.vfs.xDelete = fault_delete;
	(void)sqlite3_vfs_register(&fault.vfs, 1);
}

void fault_vfs_set(enum fault_kind kind, uint32_t at_write)
{
	(void)pthread_mutex_lock(&fault.lock);
	fault.kind = kind;
	fault.at_write = at_write;
	fault.n_writes = 0;
	fault.is_hit = false;
	(void)pthread_cond_broadcast(&fault.is_set);
	(void)pthread_mutex_unlock(&fault.lock);
}

uint32_t fault_vfs_writes(void)
{
	return fault.n_writes;
}

uint64_t fault_vfs_reads(void)
{
	return fault.n_reads;
}

bool fault_vfs_is_hit(void)
{
	return fault.is_hit;
}

struct fault_trace *fault_trace_new(void)
{
	return calloc(1, sizeof(struct fault_trace));
}

void fault_trace_free(struct fault_trace *trace)
{
	for (size_t i = 0; i < trace->steps.n; i++)
		free(trace->steps.items[i].data);
	ARRAY_DONE(&trace->steps);
	free(trace);
}

void fault_vfs_trace(struct fault_trace *trace)
{
	(void)pthread_mutex_lock(&fault.lock);
	fault.trace = trace;
	(void)pthread_mutex_unlock(&fault.lock);
}

size_t fault_trace_mark(struct fault_trace *trace)
{
	size_t n;

	(void)pthread_mutex_lock(&fault.lock);
	n = trace->steps.n;
	(void)pthread_mutex_unlock(&fault.lock);
	return n;
}

static uint32_t dice(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Bytes of an unsynced step that have reached the disk. */
static size_t kept_of(const struct step *step, enum replay_kind kind, uint32_t *state)
{
	if (kind == REPLAY_LOST)
		return 0;
	if (kind == REPLAY_KEPT || step->kind != STEP_WRITE)
		return kind == REPLAY_KEPT || dice(state) % 2 ? step->n : SIZE_MAX;
	switch (dice(state) % 5) {
	case 0:
	case 1:
		return step->n;
	case 2: /* torn */
		return step->n / TORN_BYTES ? dice(state) % (step->n / TORN_BYTES + 1) * TORN_BYTES : 0;
	default:
		return 0;
	}
}

/* SQLite syncs directories with its deletes and creations: these are kept. */
int fault_trace_replay(const struct fault_trace *trace, size_t position, enum replay_kind kind, uint32_t seed,
		       const char *directory)
{
	int fds[8];
	int64_t last_sync[8];
	int r = 0;

	for (uint32_t i = 0; i < trace->n_names; i++) {
		char path[256];

		last_sync[i] = -1;
		(void)snprintf(path, sizeof(path), "%s/%s", directory, trace->names[i]);
		fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fds[i] < 0)
			r = -errno;
	}
	for (size_t i = 0; i < position; i++)
		if (trace->steps.items[i].kind == STEP_SYNC)
			last_sync[trace->steps.items[i].file] = (int64_t)i;
	for (size_t i = 0; r == 0 && i < position; i++) {
		const struct step *s = &trace->steps.items[i];
		size_t n = (int64_t)i < last_sync[s->file] || s->kind == STEP_DELETE ? s->n : kept_of(s, kind, &seed);

		if (s->kind == STEP_WRITE && n && pwrite(fds[s->file], s->data, n, s->offset) < 0)
			r = -errno;
		if (s->kind == STEP_TRUNCATE && n != SIZE_MAX &&
		    ((int64_t)i < last_sync[s->file] || kind != REPLAY_LOST) && ftruncate(fds[s->file], s->offset) < 0)
			r = -errno;
		if (s->kind == STEP_DELETE && ftruncate(fds[s->file], 0) < 0)
			r = -errno;
	}
	for (uint32_t i = 0; i < trace->n_names; i++)
		(void)close(fds[i]);
	return r;
}
