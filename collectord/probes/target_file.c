// SPDX-License-Identifier: Apache-2.0
#include "probes/target_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "clock.h"
#include "probes/target_collector.h"
#include "probes/target_python.h"
#include "probes/target_memory.h"
#include "probes/target_process.h"

#define FILES_MAX 4096		  /* files kept; irrelevant ones are forgotten first */
#define LIBRARIES_MAX 1024	  /* listed libraries, attached or not */
#define LIBRARIES_OF_USER_MAX 256 /* of these, found first in processes of one user */

#define LOADED_NOTED_NS (2 * NSEC_PER_SEC) /* the process that loaded a known file is noted within a second */
#define SEEN_LIMIT_NS NSEC_PER_SEC	   /* guess: 256 processes are scanned in 20 ms */

static void file_free(struct target_file *file, struct target_files *files)
{
	if (file->library.probes)
		probe_set_detach_library(files->probes, file->library.probes);
	if (file->loader)
		probe_set_detach_library(files->probes, file->loader);
	target_collector_detach(files, file);
	target_python_unwatch(files, file);
	closep(&file->path_fd);
	free(file->sites);
	ARRAY_DONE(&file->library.ops);
	free(file->library.path);
	free(file->library.soname);
	free(file->library.build_id);
	free(file->library.reason);
	free(file);
}

static size_t file_bucket_of(const struct file_identity *id)
{
	return (id->inode ^ id->device * 31) % TARGET_FILE_BUCKETS;
}

struct target_file *target_files_find(const struct target_files *files, const struct file_identity *id)
{
	for (struct target_file *file = files->buckets[file_bucket_of(id)]; file; file = file->next)
		if (file_identity_equal(&file->id, id))
			return file;
	return NULL;
}

struct target_file *target_files_find_load(const struct target_files *files, const struct file_identity *id)
{
	struct target_file *found = NULL;

	if (!id->inode)
		return NULL;
	if (id->change_s || id->bytes)
		return target_files_find(files, id);
	for (struct target_file *file = files->buckets[file_bucket_of(id)]; file; file = file->next)
		if (file->id.device == id->device && file->id.inode == id->inode &&
		    (!found || file->library.probes || file->last_scan > found->last_scan))
			found = file;
	return found;
}

/* Forget the irrelevant file that was last found longest ago. */
static void file_forget_one(struct target_files *files)
{
	struct target_file **oldest = NULL;

	for (size_t i = 0; i < TARGET_FILE_BUCKETS; i++)
		for (struct target_file **f = &files->buckets[i]; *f; f = &(*f)->next)
			if ((*f)->is_settled && !(*f)->is_listed && !(*f)->library.probes && !(*f)->loader &&
			    !(*f)->collector.probes && !(*f)->python.watch &&
			    (!oldest || (*f)->last_scan < (*oldest)->last_scan))
				oldest = f;
	if (oldest) {
		struct target_file *file = *oldest;

		*oldest = file->next;
		files->n--;
		file_free(file, files);
	}
}

struct target_file *target_files_add(struct target_files *files, const struct file_identity *id, const char *path,
				     const struct owner *owner)
{
	struct target_file *file = calloc(1, sizeof(*file)), **bucket = &files->buckets[file_bucket_of(id)];

	if (!file)
		return NULL;
	file->path_fd = -1;
	file->id = *id;
	file->library.owner = *owner;
	file->library.path = strdup(path);
	file->library.soname = strdup("");
	file->library.build_id = strdup("");
	file->library.reason = strdup("");
	if (!file->library.path || !file->library.soname || !file->library.build_id || !file->library.reason) {
		file_free(file, files);
		return NULL;
	}

	if (files->n >= FILES_MAX)
		file_forget_one(files);
	file->next = *bucket;
	*bucket = file;
	files->n++;
	return file;
}

/* Without memory for the reason, the file still counts as not attached. */
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
 * Probes belong to device and inode, so an earlier state of this file, since written or touched, has the same probes.
 * On an overlay a changed file is most likely a new copy made by the change, while other processes still use the lower
 * file; a file that only lost its name is still the same.
 */
struct target_file *target_files_find_attached(const struct target_files *files, const struct target_file *file)
{
	if (file->id.device == TARGET_DEVICE_OVERLAY && !file->is_deleted)
		return NULL;
	for (struct target_file *other = files->buckets[file_bucket_of(&file->id)]; other; other = other->next)
		if (other != file && other->library.probes && other->id.device == file->id.device &&
		    other->id.inode == file->id.inode)
			return other;
	return NULL;
}

void target_files_see(struct target_files *files, uint64_t now_ns)
{
	target_processes_refresh(files->processes, files->proc_fd);
	for (size_t i = 0; i < files->listed.n; i++)
		if (target_processes_map(files->processes, files->listed.items[i]))
			files->listed.items[i]->used_ns = now_ns;
	files->seen_ns = now_ns;
}

enum room { ROOM, ROOM_OF_USER_FULL, ROOM_FULL };

/* Files refused for lack of room take none, until they are tried again. */
static bool takes_room(const struct target_file *file)
{
	return !file->is_turned_away || file->is_retried;
}

static enum room room_find(const struct target_files *files, uint32_t uid)
{
	size_t n = 0, n_of_user = 0;

	for (size_t i = 0; i < files->listed.n; i++) {
		const struct target_file *file = files->listed.items[i];

		n += takes_room(file);
		n_of_user += takes_room(file) && file->library.owner.uid == uid;
	}
	if (n_of_user >= LIBRARIES_OF_USER_MAX)
		return ROOM_OF_USER_FULL;
	return n < LIBRARIES_MAX ? ROOM : ROOM_FULL;
}

/* Return: the file that has been unmapped for longest, by the last scans; NULL: all are in use */
static struct target_file *unused_find(const struct target_files *files, enum room room, uint32_t uid, uint64_t now_ns)
{
	struct target_file *found = NULL;

	for (size_t i = 0; i < files->listed.n; i++) {
		struct target_file *file = files->listed.items[i];

		if (file->loader || file->is_turned_away ||
		    (room == ROOM_OF_USER_FULL && file->library.owner.uid != uid) ||
		    now_ns - file->loaded_ns < LOADED_NOTED_NS || (found && file->used_ns >= found->used_ns))
			continue;
		if (!target_processes_map(files->processes, file))
			found = file;
	}
	return found;
}

/* If a user has all of them in use, the processes are scanned at most once a second, not for each further copy. */
bool target_files_make_room(struct target_files *files, uint32_t uid)
{
	enum room room = room_find(files, uid);
	uint64_t now_ns = clock_now_ns();
	struct target_file *unused;

	if (room == ROOM)
		return true;
	if (now_ns - files->seen_ns > SEEN_LIMIT_NS)
		target_files_see(files, now_ns);
	unused = unused_find(files, room, uid, now_ns);
	if (!unused)
		return false;
	target_files_forget(files, unused);
	return true;
}

bool target_files_admit(struct target_files *files, struct target_file *file)
{
	uint32_t uid = file->library.owner.uid;

	if (target_files_make_room(files, uid))
		return true;
	file->is_turned_away = true;
	if (room_find(files, uid) == ROOM_FULL)
		target_file_refuse(
			file,
			"is not traced: %d other copies of CUDA libraries are in use; it will be when programs "
			"with others end, or let them share one",
			LIBRARIES_MAX);
	else
		target_file_refuse(file,
				   "is not traced: user %" PRIu32
				   " has %d other copies of CUDA libraries in use; it will "
				   "be when programs with others end, or let them share one",
				   uid, LIBRARIES_OF_USER_MAX);
	return false;
}

/* As many refused files again are listed, so that users see what is not traced. */
static bool can_turn_away(const struct target_files *files, uint32_t uid)
{
	size_t n = 0, n_of_user = 0;

	for (size_t i = 0; i < files->listed.n; i++) {
		const struct target_file *file = files->listed.items[i];

		n += file->is_turned_away;
		n_of_user += file->is_turned_away && file->library.owner.uid == uid;
	}
	return n < LIBRARIES_MAX && n_of_user < LIBRARIES_OF_USER_MAX;
}

int target_files_list(struct target_files *files, struct target_file *file)
{
	if (!file->is_turned_away)
		(void)target_files_admit(files, file);
	if (file->is_turned_away && !can_turn_away(files, file->library.owner.uid))
		return -E2BIG;
	if (ARRAY_PUSH(&files->listed, file) < 0)
		return -ENOMEM;
	file->used_ns = clock_now_ns();
	file->is_listed = true;
	return 0;
}

void target_files_forget(struct target_files *files, struct target_file *file)
{
	for (size_t i = 0; i < files->listed.n; i++) {
		if (files->listed.items[i] != file)
			continue;
		memmove(&files->listed.items[i], &files->listed.items[i + 1],
			(files->listed.n - i - 1) * sizeof(files->listed.items[0]));
		files->listed.n--;
		break;
	}
	for (size_t i = 0; i < TARGET_FILE_BUCKETS; i++) {
		for (struct target_file **f = &files->buckets[i]; *f;) {
			struct target_file *other = *f;

			if (other != file && other->same != file) {
				f = &other->next;
				continue;
			}
			*f = other->next;
			files->n--;
			file_free(other, files);
		}
	}
}

void target_files_done(struct target_files *files)
{
	for (size_t i = 0; i < TARGET_FILE_BUCKETS; i++) {
		while (files->buckets[i]) {
			struct target_file *file = files->buckets[i];

			files->buckets[i] = file->next;
			file_free(file, files);
		}
	}
	ARRAY_DONE(&files->listed);
	ARRAY_DONE(&files->collectors);
	ARRAY_DONE(&files->watched);
}
