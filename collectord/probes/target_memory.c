// SPDX-License-Identifier: Apache-2.0
#include "probes/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "procs/root_file.h"

#define HEAD "ingero libraries 1"
#define LIST_BYTES_MAX (TARGET_MEMORY_FILES_MAX * 4352u) /* each file has a path and six numbers */
#define DAY_S 86400u
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

int target_memory_open_file(int proc_fd, const char *path, const struct file_identity *id)
{
	struct stat st = { .st_mode = 0 };
	CLEANUP(closep) int fd = root_file_open(proc_fd, path, /* n_links= */ 0, &st, /* ret_is_public= */ NULL);

	if (fd < 0)
		return fd;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (((uint64_t)major(st.st_dev) << 32 | minor(st.st_dev)) != id->device || st.st_ino != id->inode ||
	    (uint64_t)st.st_size != id->bytes || st.st_ctim.tv_sec != id->change_s ||
	    (uint64_t)st.st_ctim.tv_nsec != id->change_ns)
		return -ESTALE;
	return TAKE_FD(fd);
}

/* ---- what is remembered ---- */

static void file_drop(struct target_memory *memory, size_t i)
{
	free(memory->files.items[i].path);
	ARRAY_REMOVE_SWAP(&memory->files, i);
	memory->is_changed = true;
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->change_s == b->change_s &&
	       a->change_ns == b->change_ns && a->bytes == b->bytes;
}

static struct target_memory_file *file_find(const struct target_memory *memory, const struct file_identity *id)
{
	for (size_t i = 0; i < memory->files.n; i++)
		if (file_identity_equal(&memory->files.items[i].id, id))
			return &memory->files.items[i];
	return NULL;
}

static bool is_old(const struct target_memory_file *file, uint64_t now_s)
{
	return now_s > file->used_s && now_s - file->used_s > TARGET_MEMORY_DAYS * DAY_S;
}

/* Remove the old entry of this path; without room also the file that was unused for longest. */
static void room_make(struct target_memory *memory, const char *path)
{
	size_t oldest = 0;

	for (size_t i = memory->files.n; i-- > 0;)
		if (strcmp(memory->files.items[i].path, path) == 0)
			file_drop(memory, i);
	if (memory->files.n < TARGET_MEMORY_FILES_MAX)
		return;
	for (size_t i = 1; i < memory->files.n; i++)
		if (memory->files.items[i].used_s < memory->files.items[oldest].used_s)
			oldest = i;
	file_drop(memory, oldest);
}

static bool memory_file_add(struct target_memory *memory, const char *path, const struct file_identity *id,
			    uint64_t used_s)
{
	struct target_memory_file file = { .id = *id, .used_s = used_s, .path = strdup(path) };

	if (!file.path || ARRAY_PUSH(&memory->files, file) < 0) {
		free(file.path);
		return false;
	}
	memory->is_changed = true;
	return true;
}

bool target_memory_note(struct target_memory *memory, int proc_fd, const char *path, const struct file_identity *id,
			uint64_t now_s)
{
	struct target_memory_file *file = memory->list_path ? file_find(memory, id) : NULL;
	CLEANUP(closep) int fd = -1;

	if (!memory->list_path)
		return false;
	if (file) {
		/* Days are exact enough: the list is not written for smaller changes. */
		memory->is_changed |= now_s / DAY_S != file->used_s / DAY_S;
		file->used_s = now_s;
		return true;
	}
	fd = strchr(path, '\n') ? -EINVAL : target_memory_open_file(proc_fd, path, id);
	if (fd < 0)
		return false;
	room_make(memory, path);
	return memory_file_add(memory, path, id, now_s);
}

bool target_memory_holds(struct target_memory *memory, int proc_fd, const struct file_identity *id, uint64_t now_s)
{
	struct target_memory_file *file = file_find(memory, id);
	CLEANUP(closep) int fd = -1;

	if (!file)
		return false;
	fd = is_old(file, now_s) ? -ESTALE : target_memory_open_file(proc_fd, file->path, id);
	if (fd < 0)
		file_drop(memory, (size_t)(file - memory->files.items));
	return fd >= 0;
}

/* ---- the list ---- */

/* "DEVICE INODE BYTES CHANGE_S CHANGE_NS USED_S PATH" */
static bool memory_line_parse(char *line, struct target_memory_file *ret_file)
{
	uint64_t numbers[6];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const char *word = strsep(&line, " ");

		if (!line || parse_u64(word, UINT64_MAX, &numbers[i]) < 0)
			return false;
	}
	*ret_file = (struct target_memory_file){
		.id = { .device = numbers[0],
			.inode = numbers[1],
			.bytes = numbers[2],
			.change_s = (int64_t)numbers[3],
			.change_ns = (uint32_t)numbers[4] },
		.used_s = numbers[5],
		.path = line,
	};
	return *line == '/';
}

/* Return: text of the list; NULL: there is no trusted list */
static char *memory_list_read(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	CLEANUP(freep) char *text = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & OTHERS_WRITE) || st.st_size > LIST_BYTES_MAX)
		return NULL;
	text = calloc(1, (size_t)st.st_size + 1);
	if (!text || fd_read_full(fd, text, (size_t)st.st_size) < 0)
		return NULL;
	return TAKE_PTR(text);
}

int target_memory_load(struct target_memory *memory, const char *list_path, uint64_t now_s)
{
	CLEANUP(freep) char *text = memory_list_read(list_path);
	char *rest = text, *line = strsep(&rest, "\n");

	memory->list_path = strdup(list_path);
	if (!memory->list_path)
		return -ENOMEM;
	if (!line || strcmp(line, HEAD) != 0)
		return 0;
	while ((line = strsep(&rest, "\n")) && memory->files.n < TARGET_MEMORY_FILES_MAX) {
		struct target_memory_file file;

		if (memory_line_parse(line, &file) && !is_old(&file, now_s) && !file_find(memory, &file.id) &&
		    !memory_file_add(memory, file.path, &file.id, file.used_s))
			return -ENOMEM;
	}
	memory->is_changed = false;
	return 0;
}

int target_memory_save(struct target_memory *memory)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	CLEANUP(freep) char *new_path = NULL;
	CLEANUP(closep) int fd = -1;
	int r;

	if (!memory->list_path || !memory->is_changed)
		return 0;
	(void)buf_append_text(&text, HEAD "\n");
	for (size_t i = 0; i < memory->files.n; i++) {
		const struct target_memory_file *f = &memory->files.items[i];

		(void)buf_printf(&text, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %s\n",
				 (uint64_t)f->id.device, (uint64_t)f->id.inode, (uint64_t)f->id.bytes,
				 (uint64_t)f->id.change_s, (uint32_t)f->id.change_ns, f->used_s, f->path);
	}
	if (text.failed || asprintf(&new_path, "%s.new", memory->list_path) < 0)
		return -ENOMEM;
	memory->is_changed = false; /* no retry: a list that cannot be written now will fail again */
	(void)unlink(new_path);
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, text.data, text.n);
	if (r == 0 && rename(new_path, memory->list_path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(new_path);
	return r;
}

void target_memory_done(struct target_memory *memory)
{
	for (size_t i = 0; i < memory->files.n; i++)
		free(memory->files.items[i].path);
	ARRAY_DONE(&memory->files);
	free(memory->list_path);
	*memory = (struct target_memory){ .list_path = NULL };
}
