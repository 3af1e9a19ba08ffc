// SPDX-License-Identifier: Apache-2.0
#include "probes/target_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define FILES_MAX 4096		  /* remembered; those of no interest are forgotten first */
#define LIBRARIES_MAX 1024	  /* listed, attached or not */
#define LIBRARIES_OF_USER_MAX 256 /* of these, first met in processes of one user */

static void file_free(struct target_file *file, struct probe_set *probes)
{
	if (file->library.probes)
		probe_set_detach_library(probes, file->library.probes);
	if (file->loader)
		probe_set_detach_library(probes, file->loader);
	closep(&file->path_fd);
	free(file->sites);
	free(file->library.path);
	free(file->library.soname);
	free(file->library.build_id);
	free(file->library.reason);
	free(file);
}

static size_t bucket_of(const struct file_id *id)
{
	return (id->inode ^ id->device * 31) % TARGET_FILE_BUCKETS;
}

static bool id_equal(const struct file_id *a, const struct file_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->change_s == b->change_s &&
	       a->change_ns == b->change_ns && a->bytes == b->bytes;
}

struct target_file *target_files_find(const struct target_files *files, const struct file_id *id)
{
	for (struct target_file *file = files->buckets[bucket_of(id)]; file; file = file->next)
		if (id_equal(&file->id, id))
			return file;
	return NULL;
}

/* Forgets the file of no interest that was not met for longest. */
static void file_forget_one(struct target_files *files)
{
	struct target_file **oldest = NULL;

	for (size_t i = 0; i < TARGET_FILE_BUCKETS; i++)
		for (struct target_file **f = &files->buckets[i]; *f; f = &(*f)->next)
			if ((*f)->is_settled && !(*f)->is_listed && !(*f)->library.probes && !(*f)->loader &&
			    (!oldest || (*f)->last_scan < (*oldest)->last_scan))
				oldest = f;
	if (oldest) {
		struct target_file *file = *oldest;

		*oldest = file->next;
		files->n--;
		file_free(file, files->probes);
	}
}

struct target_file *target_files_add(struct target_files *files, const struct file_id *id, const char *path,
				     uint32_t uid)
{
	struct target_file *file = calloc(1, sizeof(*file)), **bucket = &files->buckets[bucket_of(id)];

	if (!file)
		return NULL;
	file->path_fd = -1;
	file->id = *id;
	file->library.owner_uid = uid;
	file->library.path = strdup(path);
	file->library.soname = strdup("");
	file->library.build_id = strdup("");
	file->library.reason = strdup("");
	if (!file->library.path || !file->library.soname || !file->library.build_id || !file->library.reason) {
		file_free(file, files->probes);
		return NULL;
	}

	if (files->n >= FILES_MAX)
		file_forget_one(files);
	file->next = *bucket;
	*bucket = file;
	files->n++;
	return file;
}

/* Without memory for the reason the file still counts as not attached. */
void target_file_refuse(struct target_file *file, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (!*file->library.reason && vasprintf(&text, fmt, ap) >= 0) {
		free(file->library.reason);
		file->library.reason = text;
	}
	va_end(ap);
}

/*
 * Probes belong to device and inode: what this very file, since written to or just touched, has on it.
 * On an overlay a file that changed is most likely a copy that the change itself brought about, while
 * others go on using the one below; one that only lost its name is still the same.
 */
struct target_file *target_files_find_attached(const struct target_files *files, const struct target_file *file)
{
	if (file->id.device == TARGET_DEVICE_OVERLAY && !file->is_deleted)
		return NULL;
	for (struct target_file *other = files->buckets[bucket_of(&file->id)]; other; other = other->next)
		if (other != file && other->library.probes && other->id.device == file->id.device &&
		    other->id.inode == file->id.inode)
			return other;
	return NULL;
}

bool target_files_has_room(const struct target_files *files, uint32_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < files->listed.n; i++)
		n += files->listed.items[i]->library.owner_uid == uid;
	return files->listed.n < LIBRARIES_MAX && n < LIBRARIES_OF_USER_MAX;
}

int target_files_list(struct target_files *files, struct target_file *file)
{
	if (!target_files_has_room(files, file->library.owner_uid))
		return -E2BIG;
	if (ARRAY_PUSH(&files->listed, file) < 0)
		return -ENOMEM;
	file->is_listed = true;
	return 0;
}

void target_files_done(struct target_files *files)
{
	for (size_t i = 0; i < TARGET_FILE_BUCKETS; i++) {
		while (files->buckets[i]) {
			struct target_file *file = files->buckets[i];

			files->buckets[i] = file->next;
			file_free(file, files->probes);
		}
	}
	ARRAY_DONE(&files->listed);
}
