// SPDX-License-Identifier: Apache-2.0
/* Processes and files that rows of figures name, by the numbers that the kernel half gave them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/io_record.h"

#define IO_FILES_MOST (64u << 10)
#define IO_FILES_BYTES_MOST (16u << 20)
#define IO_PROCESSES_MOST (64u << 10)

struct io_process_info {
	uint32_t process; /* the kernel half's number */
	uint32_t tgid;
	uint32_t uid;
	bool is_guarded;
	char comm[RECORD_COMM_BYTES];
};

struct io_file_info {
	uint64_t file;	  /* identity */
	const char *path; /* as file_path_format() has it, of a pipe or socket as /proc/PID/fd has it */
	const char *kind; /* "file", "directory", "pipe", "socket", "device", "memory", "other", "name" */
	uint64_t inode;
	uint32_t device;  /* major << 20 | minor */
	uint32_t version; /* another one for each text of a path, never 0 */
};

struct io_files;

struct io_files *io_files_new(void);
void io_files_free(struct io_files *files);
/** io_files_process() - add a process. Return: 0; -ENOSPC: no room; -ENOMEM */
int io_files_process(struct io_files *files, const struct io_process_record *record);
/** io_files_file() - add a file, or replace its path. Return: 0; -ENOSPC: no room; -ENOMEM */
int io_files_file(struct io_files *files, const struct file_record *record);
/** io_files_name() - add a path as a call named it. Return: as io_files_file() */
int io_files_name(struct io_files *files, const struct io_name_record *record);
/** io_files_process_find() - look a process up. Return: NULL: unknown; valid until the next addition */
const struct io_process_info *io_files_process_find(const struct io_files *files, uint32_t process);
/** io_files_file_find() - the same for a file */
const struct io_file_info *io_files_file_find(const struct io_files *files, uint64_t file);
