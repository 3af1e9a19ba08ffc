// SPDX-License-Identifier: Apache-2.0
/*
 * Which process maps which CUDA library file, as last looked at. Filled by scans, which
 * leases cause; refreshed from /proc before it is told, so that what was unloaded, or
 * whose process is gone, is not. A book beside the process table: most of these processes
 * are not traced and have no entry, and /proc does not tell the exec generation of one.
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
	struct target_file *file; /* borrowed; NULL: nobody asked about it yet */
	char *path;		  /* as this process calls it */
	uint64_t device;	  /* as its maps say: major << 32 | minor */
	uint64_t inode;
	bool is_deleted; /* has no name any more */
	bool is_met;	 /* by the look that goes on */
};

#define TARGET_COMM_BYTES 64

struct target_process {
	uint32_t tgid;
	struct owner owner;
	uint64_t start_ticks;
	char comm[TARGET_COMM_BYTES];
	struct file_identity interpreter; /* of Python, whose garbage collections are traced; inode 0: none */
	ARRAY(struct target_mapped) mapped;
};

struct target_processes {
	ARRAY(struct target_process *) all;
};

/* A mapping as a look found it. */
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
 * target_processes_note() - a process maps a file
 * @process_fd: of the process, to know whose it is
 * Noting the same again is fine. Return: 1 when it is new, 0; -ENOMEM; -errno when the process is gone
 */
int target_processes_note(struct target_processes *processes, uint32_t tgid, int process_fd,
			  const struct target_sighting *sighting);
/** target_processes_forget() - it is gone, or has become another program */
void target_processes_forget(struct target_processes *processes, uint32_t tgid);
/** target_processes_forget_file() - a file is no longer known, whoever maps it */
void target_processes_forget_file(struct target_processes *processes, const struct target_file *file);
/** target_processes_refresh() - drop what is no longer mapped, and processes that are gone. @proc_fd: of /proc */
void target_processes_refresh(struct target_processes *processes, int proc_fd);
/** target_processes_interpret() - whether any process has that interpreter */
bool target_processes_interpret(const struct target_processes *processes, const struct file_identity *interpreter);
/** target_process_maps() - whether this one maps the file, as last looked at */
bool target_process_maps(const struct target_process *process, const struct target_file *file);
/** target_processes_map() - whether any process maps this file, as last looked at */
bool target_processes_map(const struct target_processes *processes, const struct target_file *file);
