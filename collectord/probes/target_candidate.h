// SPDX-License-Identifier: Apache-2.0
/*
 * The files that a process maps executable: which are worth a look, and how each is
 * opened without reading it and without asking anything of a user's own file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "probes/target_file.h"

struct target_candidate {
	uint64_t start;
	uint64_t end;
	uint64_t inode;
	uint64_t device; /* major and minor as maps says, which for some file systems stat(2) says otherwise */
	struct file_identity file; /* what is mapped, as the kernel knows it; inode 0: not known */
	char *path;
	bool is_deleted;
	bool is_named;
	bool is_loader;
	bool is_base;	 /* pointed at by its load address */
	bool is_program; /* what the process executes */
	bool is_wanted;	 /* by its load address, its name, or a loader */
};

struct target_candidates {
	size_t n_wanted; /* they come first */
	bool is_cuda;	 /* some name says so */
	ARRAY(struct target_candidate) all;
};

/**
 * target_candidates_read() - what a process maps now
 * @library_base: load address of a library known to be new: the others are left out then; 0: none
 * Return: 0 or -errno, in either case to be given to target_candidates_done()
 */
int target_candidates_read(int process_fd, uint64_t library_base, struct target_candidates *ret_candidates);
/** target_candidates_identify() - ask the kernel what each of them is; where it cannot tell, nothing changes */
void target_candidates_identify(struct target_candidates *candidates, struct probe_set *probes, uint32_t tgid);
/** target_candidates_keep_loaders() - forget what is no dynamic loader */
void target_candidates_keep_loaders(struct target_candidates *candidates);
void target_candidates_done(struct target_candidates *candidates);

/**
 * target_candidate_open() - an O_PATH descriptor of the file, and what it is
 * @proc_fd:       of /proc
 * @process_fd:    of the process, in /proc
 * @memory_device: as target_memory_device() says
 * @ret_bytes:     size of that file
 * Return: descriptor; -EREMOTEIO when its file system is not to be touched, -EINVAL when it is no regular file,
 * -ESTALE when its name leads to another file now (a copy that an overlay made), -errno
 */
int target_candidate_open(int proc_fd, int process_fd, uint64_t memory_device, const struct target_candidate *c,
			  struct file_identity *ret_id, uint64_t *ret_bytes);
/** target_memory_device() - of files in memory, which are mounted nowhere. Return: 0, which no file lies on, where it
 * cannot be found out */
uint64_t target_memory_device(void);
