// SPDX-License-Identifier: Apache-2.0
/*
 * The files that were met, by what the kernel says each is: asked about once, attached
 * once, however many processes map them. Those of no interest are forgotten first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probes/target.h"

#define TARGET_FILE_BUCKETS 1024
#define TARGET_DEVICE_OVERLAY UINT64_MAX /* in struct file_id: of any overlay */

/* What the kernel says a file is. The change time tells a file that was written to from what it was. */
struct file_id {
	uint64_t device; /* major << 32 | minor */
	uint64_t inode;
	int64_t change_s;
	int64_t change_ns;
	uint64_t bytes;
};

struct target_file {
	struct target_file *next; /* of its bucket */
	struct file_id id;
	struct target_library library;
	struct probe_library *loader; /* attached as a loader */
	struct probe_site *sites;     /* n_symbols, while attached */
	uint64_t last_scan;	      /* number of the last scan that met it */
	int path_fd;		      /* O_PATH, while it is being asked about */
	bool is_settled;
	bool is_listed;
	bool is_named; /* by its name, a CUDA library */
	bool is_loader;
	bool is_deleted; /* had no name when it was first met */
	bool is_same;	 /* another state of a file whose probes are where they belong */
};

struct target_files {
	struct probe_set *probes; /* borrowed */
	size_t n;
	struct target_file *buckets[TARGET_FILE_BUCKETS];
	ARRAY(struct target_file *) listed; /* borrowed from the buckets */
};

/** target_files_done() - detach and forget all of them */
void target_files_done(struct target_files *files);
/** target_files_find() - Return: the file, NULL when it was never met or is forgotten */
struct target_file *target_files_find(const struct target_files *files, const struct file_id *id);
/** target_files_find_attached() - another state of this file, whose probes are attached; or NULL */
struct target_file *target_files_find_attached(const struct target_files *files, const struct target_file *file);
/** target_files_add() - one that target_files_find() does not know. Return: NULL without memory */
struct target_file *target_files_add(struct target_files *files, const struct file_id *id, const char *path,
				     uint32_t uid);
/** target_files_has_room() - for another listed one of this user: nobody's copies leave no room for others' */
bool target_files_has_room(const struct target_files *files, uint32_t uid);
/** target_files_list() - Return: 0, -E2BIG or -ENOMEM */
int target_files_list(struct target_files *files, struct target_file *file);

/** target_file_refuse() - why it is not attached; the first reason is kept */
void target_file_refuse(struct target_file *file, const char *fmt, ...) PRINTF_LIKE(2, 3);
