// SPDX-License-Identifier: Apache-2.0
/*
 * Library files that were attached before, remembered from one run of a service to the next, so that they are attached
 * before a process loads them.
 *
 * Only files that nobody but root can replace (procs/root_file.h). A kept path is a hint: the opened file is compared
 * with the one that was attached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"

#define TARGET_MEMORY_FILES_MAX 64
#define TARGET_MEMORY_DAYS 30 /* guess: after so long without use a library may be attached late once more */

struct target_memory_file {
	struct file_identity id;
	uint64_t used_s; /* when a process was last known to map it, wall clock */
	char *path;
};

struct target_memory {
	char *list_path; /* NULL: nothing is remembered */
	bool is_changed; /* changed since the list was written */
	ARRAY(struct target_memory_file) files;
};

/** file_identity_equal() - whether both are the same file in the same state */
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);
/**
 * target_memory_open_file() - open a file that nobody but root can replace
 * Return: O_PATH descriptor; -EPERM: another user could replace it; -ESTALE: it is another file, or was changed; -errno
 */
int target_memory_open_file(int proc_fd, const char *path, const struct file_identity *id);

/**
 * target_memory_load() - read the list of an earlier run; a damaged list, or one of another owner, counts as empty
 * @list_path: path of the list, copied; its directory belongs to the daemon
 * @now_s: wall clock; files unused for TARGET_MEMORY_DAYS are forgotten
 * Return: 0 or -ENOMEM
 */
int target_memory_load(struct target_memory *memory, const char *list_path, uint64_t now_s);
/** target_memory_save() - write the list if it changed. Return: 0, or -errno with the file unchanged */
int target_memory_save(struct target_memory *memory);
void target_memory_done(struct target_memory *memory);
/**
 * target_memory_note() - note that a process uses this file
 * Return: whether it is remembered: nobody but root can replace it, and there is room
 */
bool target_memory_note(struct target_memory *memory, int proc_fd, const char *path, const struct file_identity *id,
			uint64_t now_s);
/** target_memory_holds() - whether it is remembered, still exists and was used recently */
bool target_memory_holds(struct target_memory *memory, int proc_fd, const struct file_identity *id, uint64_t now_s);
