// SPDX-License-Identifier: Apache-2.0
/*
 * Which process maps which CUDA library file, by the last scans. Filled by the scans that leases cause; refreshed from
 * /proc before it is reported, so that unloaded libraries and gone processes are dropped. It is separate from the
 * process table: most of these processes are not traced and have no entry there, and /proc does not show their exec
 * generation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"
#include "procs/owner.h"

struct target_file;

/* One file that the process maps executable. */
struct target_mapped {
	struct target_file *file; /* borrowed; NULL: not examined yet */
	char *path;		  /* path in this process */
	uint64_t device;	  /* device by its maps: major << 32 | minor */
	uint64_t inode;
	bool is_deleted; /* the file has no name any more */
	bool is_met;	 /* found by the current scan */
};

#define TARGET_COMM_BYTES 64

struct target_process {
	uint32_t tgid;
	struct owner owner;
	uint64_t start_ticks;
	char comm[TARGET_COMM_BYTES];
	struct file_identity interpreter; /* Python interpreter whose garbage collections are traced; inode 0: none */
	ARRAY(struct target_mapped) mapped;
};

struct target_processes {
	ARRAY(struct target_process *) all;
};

/* A mapping found by a scan. */
struct target_sighting {
	struct target_file *file;
	const char *path;
	uint64_t device;
	uint64_t inode;
	bool is_deleted;
};

void target_processes_done(struct target_processes *processes);
struct target_process *target_processes_find(const struct target_processes *processes, uint32_t tgid);
/**
 * target_processes_note() - note that a process maps a file
 * @process_fd: handle of the process, to read its owner
 * The same mapping may be noted again. Return: 1 if it is new, else 0; -ENOMEM; -errno if the process is gone
 */
int target_processes_note(struct target_processes *processes, uint32_t tgid, int process_fd,
			  const struct target_sighting *sighting);
/** target_processes_forget() - forget a process that is gone or executes another program */
void target_processes_forget(struct target_processes *processes, uint32_t tgid);
/** target_processes_forget_file() - forget a file in all processes */
void target_processes_forget_file(struct target_processes *processes, const struct target_file *file);
/** target_processes_refresh() - drop files that are no longer mapped, and gone processes. @proc_fd: handle of /proc */
void target_processes_refresh(struct target_processes *processes, int proc_fd);
/** target_processes_interpret() - whether any process runs this interpreter */
bool target_processes_interpret(const struct target_processes *processes, const struct file_identity *interpreter);
/** target_process_maps() - whether this process maps the file, by the last scan */
bool target_process_maps(const struct target_process *process, const struct target_file *file);
/** target_processes_map() - whether any process maps this file, by the last scans */
bool target_processes_map(const struct target_processes *processes, const struct target_file *file);
