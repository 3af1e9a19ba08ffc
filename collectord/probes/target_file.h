// SPDX-License-Identifier: Apache-2.0
/*
 * The files that were met, by what the kernel says each is: asked about once, attached
 * once, however many processes map them. Those of no interest are forgotten first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probes/target.h"

#define TARGET_FILE_BUCKETS 1024
#define TARGET_DEVICE_OVERLAY UINT64_MAX /* of any overlay, where the kernel does not tell what is below */

/* The garbage collector of a Python interpreter. */
struct target_collector {
	struct probe_site begins[4], ends[4]; /* no ends: `begins` are functions */
	size_t n_begins;		      /* 0: it was not found */
	size_t n_ends;
	struct probe_library *probes; /* NULL while not attached */
	uint64_t used_ns;	      /* when a process that needs it was last known */
	bool is_refused;	      /* was tried, which failed */
};

struct target_file {
	struct target_file *next; /* of its bucket */
	struct file_identity id;
	uint64_t bytes;		 /* of the file that path_fd names */
	struct timespec written; /* when it was last, as the parser was asked */
	struct target_library library;
	struct probe_library *loader;	   /* attached as a loader */
	struct probe_site *sites;	   /* n_symbols, while attached */
	uint64_t last_scan;		   /* number of the last scan that met it */
	uint64_t used_ns;		   /* when a process was last known to map it, while it is listed */
	uint64_t loaded_ns;		   /* when a process told of it, which is noted within a second; 0: none did */
	uint64_t interpreter_bytes;	   /* of the state of a Python interpreter that it holds; 0: none */
	int64_t interpreter_delta;	   /* where that is, from the file's first executable mapping */
	struct target_collector collector; /* of that interpreter */
	int path_fd;			   /* O_PATH, while it is being asked about */
	bool is_settled;
	bool is_retried; /* was refused for a reason that may pass, as want of memory is */
	bool is_listed;
	bool is_turned_away; /* there was no room for it: listed all the same, and asked about again when there is */
	bool is_named;	     /* by its name, a CUDA library */
	bool is_loader;
	bool is_remembered; /* stays attached when nobody maps it, target_set_keep() */
	bool is_deleted;    /* had no name when it was first met */
	/* The file whose probes serve this one: this is another state of it. NULL: none. */
	struct target_file *same;
};

struct target_files {
	struct probe_set *probes;	    /* borrowed, as is the next */
	struct target_processes *processes; /* who maps them */
	int proc_fd;			    /* borrowed */
	uint64_t seen_ns;		    /* when that was last looked at because there was no room */
	size_t n;
	struct target_file *buckets[TARGET_FILE_BUCKETS];
	ARRAY(struct target_file *) listed;	/* borrowed from the buckets */
	ARRAY(struct target_file *) collectors; /* attached; likewise */
};

/** target_files_done() - detach and forget all of them */
void target_files_done(struct target_files *files);
/** target_files_find() - Return: the file, NULL when it was never met or is forgotten */
struct target_file *target_files_find(const struct target_files *files, const struct file_identity *id);
/** target_files_find_load() - by what a load knows of it: identities without times are those of any state */
struct target_file *target_files_find_load(const struct target_files *files, const struct file_identity *id);
/** target_files_find_attached() - another state of this file, whose probes are attached; or NULL */
struct target_file *target_files_find_attached(const struct target_files *files, const struct target_file *file);
/** target_files_add() - one that target_files_find() does not know. Return: NULL without memory */
struct target_file *target_files_add(struct target_files *files, const struct file_identity *id, const char *path,
				     const struct owner *owner);
/**
 * target_files_make_room() - for another one of this user: nobody's copies leave no room for others'
 * Where there is none, the one goes that no process has mapped for longest.
 * Return: whether there is room; false when all are in use
 */
bool target_files_make_room(struct target_files *files, uint32_t uid);
/** target_files_admit() - make room for this one, or turn it away, and say why. Return: whether there is room */
bool target_files_admit(struct target_files *files, struct target_file *file);
/** target_files_list() - Return: 0, also for one that is turned away; -E2BIG: there are too many of these; -ENOMEM */
int target_files_list(struct target_files *files, struct target_file *file);
/** target_files_see() - look which are mapped now, and note the time with those that are */
void target_files_see(struct target_files *files, uint64_t now_ns);

/** target_files_forget() - detach a listed file, and forget it and its other states; nobody refers to it */
void target_files_forget(struct target_files *files, struct target_file *file);
/** target_file_refuse() - why it is not attached; the first reason is kept */
void target_file_refuse(struct target_file *file, const char *fmt, ...) PRINTF_LIKE(2, 3);
