// SPDX-License-Identifier: Apache-2.0
/*
 * The files that a process maps executable: which of them to examine, and how to open each without reading it and
 * without a request to a user's own file system.
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
	uint64_t device;	   /* major and minor by /proc/PID/maps; for some file systems stat(2) differs */
	struct file_identity file; /* mapped file by the kernel's data; inode 0: unknown */
	char *path;
	bool is_deleted;
	bool is_named;
	bool is_loader;
	bool is_base;	 /* its load address was given */
	bool is_program; /* executable of the process */
	bool is_wanted;	 /* selected by load address or name, or a loader */
};

struct target_candidates {
	size_t n_wanted; /* number of wanted candidates, which come first */
	bool is_cuda;	 /* one has the name of a CUDA library */
	ARRAY(struct target_candidate) all;
};

/**
 * target_candidates_read() - read the mappings of a process
 * @library_base: load address of a new library, then others are left out; 0: none
 * Return: 0 or -errno; in both cases release with target_candidates_done()
 */
int target_candidates_read(int process_fd, uint64_t library_base, struct target_candidates *ret_candidates);
/** target_candidates_identify() - identify each candidate by the kernel's data; without these nothing changes */
void target_candidates_identify(struct target_candidates *candidates, struct probe_set *probes, uint32_t tgid);
/** target_candidates_keep_loaders() - drop all but dynamic loaders */
void target_candidates_keep_loaders(struct target_candidates *candidates);
void target_candidates_done(struct target_candidates *candidates);

/**
 * target_candidate_open() - open the file as O_PATH descriptor and identify it
 * @proc_fd: handle of /proc
 * @process_fd: handle of the process in /proc
 * @memory_device: from target_memory_device()
 * @ret_bytes: size of the file
 * Return: descriptor; -EREMOTEIO if its file system must not be used, -EINVAL if it is no regular file, -ESTALE if its
 * name refers to another file now (a copy made by an overlay), -errno
 */
int target_candidate_open(int proc_fd, int process_fd, uint64_t memory_device, const struct target_candidate *c,
			  struct file_identity *ret_id, uint64_t *ret_bytes);
/**
 * target_memory_device() - device of files in memory, which are mounted nowhere. Return: 0, which is no file's device,
 * if unknown
 */
uint64_t target_memory_device(void);
