// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "stacks"
#include "stacks/stack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/utf8.h"
#include "bpf/stack_record.h"
#include "clock.h"
#include "probes/probe_stacks.h"
#include "probes/target_candidate.h"
#include "probes/target_memory.h"
#include "procs/procfs.h"

#define FILE_BUCKETS 1024
#define FILE_UNUSED_NS (60 * NSEC_PER_SEC)
/* Of one file; a dynamic loader makes one or two of them, everywhere the same. */
#define FILE_SEGMENTS_MAX 512
#define FILE_SEGMENTS_OF_USER_MAX 8
/* Of the table of pages, for a user other than root: 2 GB of code. Those of PyTorch have 1.6 GB together. */
#define PLACES_OF_USER_MAX (UNWIND_PAGES / 4)
/* Minimum time between two emptyings of the tables: all stacks are read anew then. */
#define RESET_PERIOD_NS (600 * NSEC_PER_SEC)

struct stack_files {
	struct stack_readers readers;
	struct probe_set *probes;
	int proc_fd;
	uint64_t memory_device; /* from target_memory_device() */
	struct stack_file *buckets[FILE_BUCKETS];
	size_t n;
	ARRAY(struct stack_file *) dirty;
	struct rules_table rules;
	uint32_t next_page;  /* place behind all that were given */
	bool is_short;	     /* of places: some code has none */
	uint64_t reset_ns;   /* when the tables were emptied */
	uint32_t vdso_bytes; /* size of the kernel's own code that processes map */
	int vdso_fd;	     /* a copy of it in memory; -1: there is none */
	bool is_full_told;
};

/* ---- the set ---- */

static int on_own_mapping(const struct procfs_mapping *m, void *data)
{
	struct stack_files *files = data;
	size_t n = (size_t)(m->end - m->start);

	if (strcmp(m->path, "[vdso]") != 0 || m->end - m->start > UINT32_MAX)
		return 0;
	files->vdso_fd = memfd_create("vdso", MFD_CLOEXEC);
	if (files->vdso_fd >= 0 && write(files->vdso_fd, (const void *)(uintptr_t)m->start, n) == (ssize_t)n)
		files->vdso_bytes = (uint32_t)n;
	return 1;
}

int stack_files_new(const struct stack_readers *readers, struct probe_set *probes, struct stack_files **ret_files)
{
	struct stack_files *files = calloc(1, sizeof(*files));
	CLEANUP(closep) int self_fd = -1;

	if (!files)
		return -ENOMEM;
	files->readers = *readers;
	files->probes = probes;
	files->next_page = 1; /* 0 means none */
	files->vdso_fd = -1;
	files->memory_device = target_memory_device();
	files->proc_fd = procfs_open();
	if (files->proc_fd < 0) {
		int r = files->proc_fd;

		free(files);
		return r;
	}
	self_fd = procfs_open_process(files->proc_fd, (uint32_t)getpid());
	if (self_fd >= 0)
		(void)procfs_maps_read(self_fd, on_own_mapping, files);
	*ret_files = files;
	return 0;
}

static void stack_file_free(struct stack_file *file)
{
	closep(&file->path_fd);
	rules_wanted_done(&file->rules);
	names_forget(&file->names);
	ARRAY_DONE(&file->segments);
	free(file->path);
	free(file);
}

void stack_files_free(struct stack_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < FILE_BUCKETS; i++) {
		while (files->buckets[i]) {
			struct stack_file *file = files->buckets[i];

			files->buckets[i] = file->next;
			stack_file_free(file);
		}
	}
	ARRAY_DONE(&files->dirty);
	rules_table_done(&files->rules);
	closep(&files->proc_fd);
	closep(&files->vdso_fd);
	free(files);
}

struct child *stack_files_parser(const struct stack_files *files, uint32_t owner)
{
	return files->readers.parser[owner ? STACK_READERS_OWN : STACK_READERS_ROOT];
}

struct child *stack_files_namer(const struct stack_files *files, uint32_t owner)
{
	return files->readers.namer[owner ? STACK_READERS_OWN : STACK_READERS_ROOT];
}

struct probe_set *stack_files_probes(const struct stack_files *files)
{
	return files->probes;
}

int stack_files_proc_fd(const struct stack_files *files)
{
	return files->proc_fd;
}

struct rules_table *stack_files_rules(struct stack_files *files)
{
	return &files->rules;
}

size_t stack_files_count(const struct stack_files *files)
{
	return files->n;
}

/* ---- one file ---- */

static struct stack_file **file_bucket(struct stack_files *files, const struct file_identity *id)
{
	uint64_t hash = (id->inode ^ id->device << 20) * 0x9e3779b97f4a7c15ull;

	return &files->buckets[hash >> 54 & (FILE_BUCKETS - 1)];
}

/* A file is known under its identity to root's parser, or to that of this user. */
static struct stack_file *file_known(struct stack_files *files, const struct file_identity *id, uint32_t uid)
{
	for (struct stack_file *file = *file_bucket(files, id); file; file = file->next)
		if (file_identity_equal(&file->id, id) && (file->owner == 0 || file->owner == uid))
			return file;
	return NULL;
}

/* Whoever maps a file pays for it, also if it is one of root's: anybody may map all of those. */
static bool files_have_room(const struct stack_files *files, uint32_t uid)
{
	size_t n_of_user = 0;

	if (files->n >= STACK_FILES_MAX)
		return false;
	if (uid == 0)
		return true;
	for (size_t i = 0; i < FILE_BUCKETS; i++)
		for (const struct stack_file *file = files->buckets[i]; file; file = file->next)
			n_of_user += file->uid == uid;
	return n_of_user < STACK_FILES_OF_USER_MAX;
}

/* Takes the descriptor in case of success. */
static int file_add(struct stack_files *files, const struct file_identity *id, uint32_t owner, uint32_t uid,
		    int path_fd, uint64_t n_bytes, const char *path, struct stack_file **ret_file)
{
	struct stack_file *file;

	if (!files_have_room(files, uid)) {
		if (!files->is_full_told)
			(void)log_warning(0, "too many files with code at once; stacks end at those beyond");
		files->is_full_told = true;
		return -ENOSPC;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	*file = (struct stack_file){ .files = files, .id = *id, .owner = owner, .uid = uid, .n_bytes = n_bytes };
	names_begin(&file->names);
	file->path = strdup(path);
	if (!file->path) {
		file->path_fd = -1;
		stack_file_free(file);
		return -ENOMEM;
	}
	utf8_scrub(file->path);
	file->path_fd = path_fd;
	file->next = *file_bucket(files, id);
	*file_bucket(files, id) = file;
	files->n++;
	*ret_file = file;
	return 0;
}

static int vdso_get(struct stack_files *files, const struct stack_sight *sight, struct stack_file **ret_file)
{
	/* No file has it: an inode without a device. */
	const struct file_identity id = { .device = 0, .inode = 1, .bytes = files->vdso_bytes };
	int fd;

	*ret_file = file_known(files, &id, 0);
	if (*ret_file)
		return 0;
	if (files->vdso_fd < 0 || sight->end - sight->start != files->vdso_bytes)
		return -ENOENT;
	fd = fcntl(files->vdso_fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	if (file_add(files, &id, /* owner= */ 0, /* uid= */ 0, fd, files->vdso_bytes, "[vdso]", ret_file) < 0) {
		closep(&fd);
		return -ENOMEM;
	}
	return 0;
}

/* With an access control list the group bits hold its mask. */
static uint32_t file_owner(int path_fd, uint32_t uid)
{
	struct stat st;

	return fstat(path_fd, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : uid;
}

#define OVERLAY_MAGIC 0x794c7630 /* include/uapi/linux/magic.h */

/*
 * Whether an open file is the one that was mapped: by the time it is opened, another one may be at its place. An
 * overlay passes size and times through, but may number files in its own way.
 */
static bool file_is(int path_fd, const struct file_identity *file)
{
	struct statfs fs;
	struct stat st;

	if (fstat(path_fd, &st) < 0 || fstatfs(path_fd, &fs) < 0)
		return false;
	return (uint64_t)st.st_size == file->bytes && st.st_ctim.tv_sec == file->change_s &&
	       (uint32_t)st.st_ctim.tv_nsec == file->change_ns &&
	       (st.st_ino == file->inode || fs.f_type == OVERLAY_MAGIC);
}

static int sight_open(struct stack_files *files, const struct stack_sight *sight, struct stack_file **ret_file)
{
	const struct target_candidate c = { .start = sight->start,
					    .end = sight->end,
					    .inode = sight->inode,
					    .device = sight->device,
					    .file = sight->file,
					    .path = (char *)(uintptr_t)sight->path,
					    .is_deleted = sight->is_deleted };
	CLEANUP(closep) int fd = -1;
	struct file_identity id;
	uint64_t n_bytes;
	uint32_t owner;
	int r;

	fd = target_candidate_open(files->proc_fd, sight->process_fd, files->memory_device, &c, &id, &n_bytes);
	if (fd < 0)
		return fd;
	if (sight->file.inode && !file_is(fd, &sight->file))
		return -ESTALE;
	owner = file_owner(fd, sight->uid);
	*ret_file = file_known(files, &id, owner);
	if (*ret_file)
		return 0;
	r = file_add(files, &id, owner, sight->uid, fd, n_bytes, sight->path, ret_file);
	if (r == 0)
		(void)TAKE_FD(fd);
	return r;
}

int stack_file_get(struct stack_files *files, const struct stack_sight *sight, struct stack_file **ret_file)
{
	struct stack_file *file = sight->file.inode ? file_known(files, &sight->file, sight->uid) : NULL;
	int r = 0;

	if (!file)
		r = sight->is_vdso ? vdso_get(files, sight, &file) : sight_open(files, sight, &file);
	if (r == 0)
		*ret_file = stack_file_ref(file);
	return r;
}

struct stack_file *stack_file_ref(struct stack_file *file)
{
	file->n_references++;
	return file;
}

void stack_file_unref(struct stack_file *file)
{
	if (file && --file->n_references == 0)
		file->used_ns = clock_now_ns();
}

/* Whether a user may place one more segment of a file. Nobody may use up those of a file that others map, too. */
static bool segment_has_room(const struct stack_file *file, uint32_t uid)
{
	size_t n_of_user = 0;

	for (size_t i = 0; i < file->segments.n; i++)
		n_of_user += file->segments.items[i].uid == uid;
	return file->segments.n < FILE_SEGMENTS_MAX && (uid == 0 || n_of_user < FILE_SEGMENTS_OF_USER_MAX);
}

static bool places_take(struct stack_files *files, uint32_t uid, uint32_t n_pages)
{
	struct rules_owner *user = uid ? rules_owner_find(&files->rules, uid) : NULL;

	if (n_pages > UNWIND_PAGES - files->next_page || (uid && !user) ||
	    (user && n_pages > PLACES_OF_USER_MAX - user->n_pages)) {
		files->is_short |= n_pages <= PLACES_OF_USER_MAX;
		return false;
	}
	if (user)
		user->n_pages += n_pages;
	files->next_page += n_pages;
	return true;
}

uint32_t stack_file_place(struct stack_file *file, uint32_t uid, uint32_t page, uint32_t n_pages)
{
	struct stack_files *files = file->files;
	struct stack_segment segment = { .page = page, .n_pages = n_pages, .first_page = files->next_page, .uid = uid };

	for (size_t i = 0; i < file->segments.n; i++) {
		const struct stack_segment *s = &file->segments.items[i];

		if (page >= s->page && page - s->page < s->n_pages && n_pages <= s->n_pages - (page - s->page))
			return s->first_page + (page - s->page);
	}
	if (!n_pages || !segment_has_room(file, uid) || !places_take(files, uid, n_pages) ||
	    ARRAY_PUSH(&file->segments, segment) < 0)
		return 0;
	return segment.first_page;
}

int stack_file_open(const struct stack_file *file)
{
	char name[32];
	int fd;

	if (file->path_fd < 0)
		return -ENOENT;
	/* O_NONBLOCK: a lease (fcntl) on the file must not block the daemon. */
	(void)snprintf(name, sizeof(name), "self/fd/%d", file->path_fd);
	fd = openat(file->files->proc_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void stack_file_asked(struct stack_file *file)
{
	if (!file->is_dirty && ARRAY_PUSH(&file->files->dirty, file) == 0)
		file->is_dirty = true;
}

void stack_files_pump(struct stack_files *files, stack_files_told_func told, void *data)
{
	for (size_t i = files->dirty.n; i-- > 0;) {
		struct stack_file *file = files->dirty.items[i];

		rules_pump(file, told, data);
		names_pump(file, told, data);
		if (file->rules.pages.n || names_are_wanted(&file->names))
			continue;
		file->is_dirty = false;
		ARRAY_REMOVE_SWAP(&files->dirty, i);
	}
}

/* Places and rules are given anew to what is met from now on. */
static void files_reset(struct stack_files *files)
{
	probe_stacks_reset(files->probes);
	rules_table_reset(&files->rules);
	files->next_page = 1;
	files->is_short = false;
	for (size_t i = 0; i < FILE_BUCKETS; i++)
		for (struct stack_file *file = files->buckets[i]; file; file = file->next) {
			file->segments.n = 0;
			rules_unwant(&file->rules);
		}
}

/* Its places in the table of pages stay taken until all are given again. */
static bool is_forgettable(const struct stack_file *file, uint64_t now_ns)
{
	return !file->n_references && !file->is_dirty && !file->rules.is_asking && !file->names.is_asking &&
	       now_ns - file->used_ns > FILE_UNUSED_NS;
}

bool stack_files_second(struct stack_files *files, uint64_t now_ns)
{
	bool is_reset = (files->is_short || files->rules.is_short) &&
			(!files->reset_ns || now_ns - files->reset_ns >= RESET_PERIOD_NS);

	for (size_t i = 0; i < FILE_BUCKETS; i++) {
		for (struct stack_file **at = &files->buckets[i]; *at;) {
			struct stack_file *file = *at;

			if (!is_forgettable(file, now_ns)) {
				at = &file->next;
				continue;
			}
			*at = file->next;
			stack_file_free(file);
			files->n--;
			files->is_full_told = false;
		}
	}
	if (is_reset) {
		files->reset_ns = now_ns;
		files_reset(files);
	}
	return is_reset;
}
