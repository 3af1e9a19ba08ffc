// SPDX-License-Identifier: Apache-2.0
/*
 * Library files that were attached before, remembered from one run of a service to the next, so that they are attached
 * before anybody loads them.
 *
 * Only files that nobody but root can replace: root's, on the file system of / or /usr, with every directory on the way
 * root's and written by nobody else. A path that is kept is a hint: what is opened is compared with what was attached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"

#define TARGET_MEMORY_FILES_MAX 64
#define TARGET_MEMORY_DAYS 30 /* guess: who has not used a library for that long may have it late once more */

struct target_memory_file {
	struct file_identity id;
	uint64_t used_s; /* wall clock, when a process was last known to map it */
	char *path;
};

struct target_memory {
	char *list_path; /* NULL: nothing is remembered */
	bool is_changed; /* since it was written */
	ARRAY(struct target_memory_file) files;
};

/** file_identity_equal() - whether it is the same file, in the same state */
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);
/**
 * target_memory_open_file() - an O_PATH descriptor of a file that nobody but root can replace
 * Return: descriptor; -EPERM: somebody could; -ESTALE: it is another file, or was changed; -errno
 */
int target_memory_open_file(int proc_fd, const char *path, const struct file_identity *id);

/**
 * target_memory_load() - what an earlier run remembered; what is damaged or not the daemon's own is as good as none
 * @list_path: of the list, copied; its directory is the daemon's
 * @now_s:     wall clock; what was not used for TARGET_MEMORY_DAYS is forgotten
 * Return: 0 or -ENOMEM
 */
int target_memory_load(struct target_memory *memory, const char *list_path, uint64_t now_s);
/** target_memory_save() - write the list if it changed. Return: 0 or -errno, the file is as before then */
int target_memory_save(struct target_memory *memory);
void target_memory_done(struct target_memory *memory);
/**
 * target_memory_note() - a process uses this file
 * Return: whether it is remembered: nobody but root can replace it, and there is room
 */
bool target_memory_note(struct target_memory *memory, int proc_fd, const char *path, const struct file_identity *id,
			uint64_t now_s);
/** target_memory_holds() - whether it is remembered and still there, and was used of late */
bool target_memory_holds(struct target_memory *memory, int proc_fd, const struct file_identity *id, uint64_t now_s);
