// SPDX-License-Identifier: Apache-2.0
/*
 * The files found so far, by the kernel's identity: each is parsed once and attached once, however many processes map
 * it. Irrelevant files are forgotten first.
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
#define TARGET_DEVICE_OVERLAY UINT64_MAX /* stands for any overlay, if the kernel does not report the lower file */

/* The garbage collector of a Python interpreter. */
struct target_collector {
	struct probe_site begins[4], ends[4]; /* without ends, `begins` are functions */
	size_t n_begins;		      /* 0: no collector was found */
	size_t n_ends;
	struct probe_library *probes; /* NULL while not attached */
	uint64_t used_ns;	      /* when a process was last known to need it */
	bool is_refused;	      /* attaching failed */
};

/* A Python interpreter. */
struct target_python {
	uint32_t version; /* as sys.hexversion; 0: not known, or there is none */
	struct python_layout
		layout;		 /* addresses from the start of the first executable mapping; minor 0: not understood */
	struct probe_site freed; /* where it frees code objects */
	bool has_freed;
	struct probe_library *watch; /* the probe there; NULL while not attached */
	uint32_t watch_number;	     /* 0: not attached */
	uint64_t used_ns;	     /* when a process was last known to need it */
	bool is_refused;	     /* attaching failed */
};

struct target_file {
	struct target_file *next; /* next file in its bucket */
	struct file_identity id;
	uint64_t bytes;		 /* size of the file of path_fd */
	struct timespec written; /* modification time when the parser was asked */
	struct target_library library;
	struct probe_library *loader;	   /* probes of the file as a dynamic loader */
	struct probe_site *sites;	   /* n_symbols sites, while attached */
	uint64_t last_scan;		   /* number of the last scan that found it */
	uint64_t used_ns;		   /* when a process was last known to map it; kept while it is listed */
	uint64_t loaded_ns;		   /* when a process last loaded it, which is listed within a second; 0: none */
	uint64_t interpreter_bytes;	   /* size of the state of a Python interpreter in it; 0: none */
	int64_t interpreter_delta;	   /* offset of that state from the file's first executable mapping */
	struct target_collector collector; /* garbage collector of that interpreter */
	struct target_python python;	   /* that interpreter */
	bool is_interpreter;		   /* of Python, also if nothing more is known of it */
	int path_fd;			   /* O_PATH, while the parser examines it */
	bool is_settled;
	bool is_retried; /* was refused for a reason that may pass, such as lack of memory */
	bool is_listed;
	bool is_turned_away; /* refused for lack of room: listed, and tried again when there is room */
	bool is_named;	     /* has the name of a CUDA library */
	bool is_loader;
	bool is_remembered; /* stays attached while no process maps it, see target_set_keep() */
	bool is_of_root;    /* root owns it, and nobody else may write it */
	bool is_deleted;    /* had no name when it was first found */
	/* Earlier state of this file, whose probes serve this one, too; NULL: none. */
	struct target_file *same;
};

struct target_files {
	struct probe_set *probes;	    /* borrowed, as is the next */
	struct target_processes *processes; /* processes that map the files */
	int proc_fd;			    /* borrowed */
	uint64_t seen_ns;		    /* when processes were last scanned for lack of room */
	size_t n;
	struct target_file *buckets[TARGET_FILE_BUCKETS];
	ARRAY(struct target_file *) listed;	/* borrowed from the buckets */
	ARRAY(struct target_file *) collectors; /* files with an attached collector; borrowed */
	ARRAY(struct target_file *) watched;	/* interpreters with that probe; borrowed */
};

/** target_files_done() - detach and forget all files */
void target_files_done(struct target_files *files);
/** target_files_find() - find a file. Return: NULL if it was never found or was forgotten */
struct target_file *target_files_find(const struct target_files *files, const struct file_identity *id);
/** target_files_find_load() - find the file of a load; an identity without times matches any state */
struct target_file *target_files_find_load(const struct target_files *files, const struct file_identity *id);
/** target_files_find_attached() - find another state of this file whose probes are attached; or NULL */
struct target_file *target_files_find_attached(const struct target_files *files, const struct target_file *file);
/** target_files_add() - add a file that target_files_find() does not find. Return: NULL without memory */
struct target_file *target_files_add(struct target_files *files, const struct file_identity *id, const char *path,
				     const struct owner *owner);
/**
 * target_files_make_room() - make room for a file of this user; limits per user keep room for other users
 * Without room, the file that has been unmapped for longest is forgotten.
 * Return: whether there is room; false if all files are in use
 */
bool target_files_make_room(struct target_files *files, uint32_t uid);
/** target_files_admit() - make room for this file, or refuse it with a reason. Return: whether there is room */
bool target_files_admit(struct target_files *files, struct target_file *file);
/**
 * target_files_list() - list a file. Return: 0, also for a file refused for lack of room; -E2BIG: too many of these;
 * -ENOMEM
 */
int target_files_list(struct target_files *files, struct target_file *file);
/** target_files_see() - scan which files are mapped now, and note the time for them */
void target_files_see(struct target_files *files, uint64_t now_ns);

/**
 * target_files_forget() - detach a listed file, and forget it and its other states; there must be no other reference
 */
void target_files_forget(struct target_files *files, struct target_file *file);
/** target_file_refuse() - note why it is not attached; the first reason is kept */
void target_file_refuse(struct target_file *file, const char *fmt, ...) PRINTF_LIKE(2, 3);
