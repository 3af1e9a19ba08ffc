// SPDX-License-Identifier: Apache-2.0
#include "io/io_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "files/file_path.h"

#define PLACES_LEAST 256u

struct file_entry {
	struct io_file_info info;
	char *path; /* owned; info.path */
	size_t n_bytes;
};

/* Entries in order of arrival; places are found by a table of hashes with free places between. */
struct places {
	uint32_t *items; /* 1 + index of the entry; 0: free */
	size_t n;	 /* a power of two */
};

struct io_files {
	ARRAY(struct file_entry) files;
	ARRAY(struct io_process_info) processes;
	struct places file_places, process_places;
	size_t n_bytes;
	uint32_t n_versions;
};

static uint64_t number_hash(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ key >> 32;
}

static uint64_t file_key_of(const struct io_files *f, size_t i)
{
	return f->files.items[i].info.file;
}

static uint64_t process_key_of(const struct io_files *f, size_t i)
{
	return f->processes.items[i].process;
}

typedef uint64_t (*key_func)(const struct io_files *f, size_t i);

/* Return: place of the entry with this key, or the free one for it */
static uint32_t *number_place_find(const struct io_files *f, const struct places *p, key_func key_of, uint64_t key)
{
	size_t i = number_hash(key) & (p->n - 1);

	while (p->items[i] && key_of(f, p->items[i] - 1) != key)
		i = (i + 1) & (p->n - 1);
	return &p->items[i];
}

/* Room for n + 1 entries, half of the places free. */
static int places_reserve(const struct io_files *f, struct places *p, key_func key_of, size_t n)
{
	struct places fresh = { .n = p->n ? p->n * 2 : PLACES_LEAST };

	if (p->n && (n + 1) * 2 <= p->n)
		return 0;
	fresh.items = calloc(fresh.n, sizeof(*fresh.items));
	if (!fresh.items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		*number_place_find(f, &fresh, key_of, key_of(f, i)) = (uint32_t)i + 1;
	free(p->items);
	*p = fresh;
	return 0;
}

struct io_files *io_files_new(void)
{
	return calloc(1, sizeof(struct io_files));
}

void io_files_free(struct io_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->files.n; i++)
		free(f->files.items[i].path);
	ARRAY_DONE(&f->files);
	ARRAY_DONE(&f->processes);
	free(f->file_places.items);
	free(f->process_places.items);
	free(f);
}

int io_files_process(struct io_files *f, const struct io_process_record *record)
{
	struct io_process_info info = { .process = record->process,
					.tgid = record->tgid,
					.uid = record->uid,
					.is_guarded = record->flags & LIFE_GUARDED };
	int r = places_reserve(f, &f->process_places, process_key_of, f->processes.n);
	uint32_t *place;

	if (r < 0)
		return r;
	memcpy(info.comm, record->comm, sizeof(info.comm) - 1);
	place = number_place_find(f, &f->process_places, process_key_of, info.process);
	if (*place) {
		f->processes.items[*place - 1] = info;
		return 0;
	}
	if (f->processes.n >= IO_PROCESSES_MOST)
		return -ENOSPC;
	r = ARRAY_PUSH(&f->processes, info);
	if (r == 0)
		*place = (uint32_t)f->processes.n;
	return r;
}

static const char *file_kind_of(const struct file_record *record)
{
	switch (record->slot & S_IFMT) {
	case S_IFREG:
		return record->path_flags & FILE_NAMELESS ? "memory" : "file";
	case S_IFDIR:
		return "directory";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	default:
		return "other";
	}
}

static void path_text(const struct file_record *record, char ret[FILE_PATH_TEXT_BYTES])
{
	const char *kind = file_kind_of(record);
	bool is_numbered = strcmp(kind, "pipe") == 0 || strcmp(kind, "socket") == 0;

	if (is_numbered && record->path_flags & FILE_NAMELESS)
		(void)snprintf(ret, FILE_PATH_TEXT_BYTES, "%s:[%llu]", kind, record->key.inode);
	else if (record->path_flags & FILE_NAMELESS && strcmp(kind, "memory") != 0)
		(void)snprintf(ret, FILE_PATH_TEXT_BYTES, "anon_inode:%.*s", (int)record->n_bytes, record->text);
	else
		file_path_format(record, ret);
}

/* Adds an entry, or replaces one of the same identity. */
static int entry_put(struct io_files *f, const struct io_file_info *info, const char *path)
{
	struct file_entry entry = { .info = *info, .n_bytes = strlen(path) + 1 };
	int r = places_reserve(f, &f->file_places, file_key_of, f->files.n);
	uint32_t *place;

	if (r < 0)
		return r;
	place = number_place_find(f, &f->file_places, file_key_of, entry.info.file);
	if (f->n_bytes + entry.n_bytes > IO_FILES_BYTES_MOST || (!*place && f->files.n >= IO_FILES_MOST))
		return -ENOSPC;
	entry.path = strdup(path);
	entry.info.path = entry.path;
	if (!entry.path)
		return -ENOMEM;
	f->n_versions += f->n_versions == UINT32_MAX ? 2 : 1;
	entry.info.version = f->n_versions;
	if (*place) {
		struct file_entry *before = &f->files.items[*place - 1];

		if (strcmp(before->path, path) == 0)
			entry.info.version = before->info.version;
		f->n_bytes += entry.n_bytes - before->n_bytes;
		free(before->path);
		*before = entry;
		return 0;
	}
	r = ARRAY_PUSH(&f->files, entry);
	if (r < 0) {
		free(entry.path);
		return r;
	}
	f->n_bytes += entry.n_bytes;
	*place = (uint32_t)f->files.n;
	return 0;
}

int io_files_file(struct io_files *f, const struct file_record *record)
{
	const struct io_file_info info = { .file = record->time_ns,
					   .kind = file_kind_of(record),
					   .inode = record->key.inode,
					   .device = record->key.device };
	char path[FILE_PATH_TEXT_BYTES];

	path_text(record, path);
	return entry_put(f, &info, path);
}

int io_files_name(struct io_files *f, const struct io_name_record *record)
{
	const struct io_file_info info = { .file = record->name, .kind = "name" };
	const struct io_file_info *base = record->base ? io_files_file_find(f, record->base) : NULL;
	char path[2 * FILE_PATH_TEXT_BYTES];

	if (record->base && !base)
		return -ENOSPC; /* its directory found none either */
	(void)snprintf(path, sizeof(path), "%s%s%.*s", base ? base->path : "",
		       base && strcmp(base->path, "/") != 0 ? "/" : "", (int)record->n_bytes, record->text);
	return entry_put(f, &info, path);
}

const struct io_process_info *io_files_process_find(const struct io_files *f, uint32_t process)
{
	uint32_t at = f->process_places.n ? *number_place_find(f, &f->process_places, process_key_of, process) : 0;

	return at ? &f->processes.items[at - 1] : NULL;
}

const struct io_file_info *io_files_file_find(const struct io_files *f, uint64_t file)
{
	uint32_t at = f->file_places.n ? *number_place_find(f, &f->file_places, file_key_of, file) : 0;

	return at ? &f->files.items[at - 1].info : NULL;
}
