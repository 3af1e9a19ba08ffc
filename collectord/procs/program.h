// SPDX-License-Identifier: Apache-2.0
/*
 * Data that distinguishes two processes of one name: the script, the rank, the container.
 *
 * Most of it is text that the process itself can change: only a limited number of bytes is searched for keys, and no
 * decision depends on it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_SCRIPT_BYTES 48
#define PROGRAM_EXECUTABLE_BYTES 32
#define PROGRAM_CONTAINER_BYTES 16 /* the first twelve digits, as container engines show them */

struct program_number {
	uint32_t value;
	bool is_known;
};

/* Of one incarnation. All zero: unknown. */
struct program {
	char script[PROGRAM_SCRIPT_BYTES];	   /* file name, or module, that an interpreter runs; "": none */
	char executable[PROGRAM_EXECUTABLE_BYTES]; /* file name of the executable */
	char container[PROGRAM_CONTAINER_BYTES];   /* "": none */
	uint64_t cgroup_id;			   /* inode of its directory in the tree of version 2; 0: unknown */
	struct program_number rank;		   /* in a distributed run, as its launcher sets it */
	struct program_number local_rank;	   /* on this machine */
	struct program_number world_size;
};

/**
 * program_read() - read the data of the process of a directory handle of /proc
 * Guarded processes, and those of another user than @uid, are skipped. Unreadable data is unknown.
 */
void program_read(int process_fd, uint32_t uid, struct program *ret_program);

/**
 * program_script() - script of a command line. @args: n bytes, each argument with a NUL. "" without an interpreter or a
 * file
 */
void program_script(const char *executable, const char *args, size_t n, char ret_script[PROGRAM_SCRIPT_BYTES]);
/** program_ranks() - ranks from the environment. @environ: n bytes, "NAME=value", each with a NUL */
void program_ranks(const char *environ, size_t n, struct program *program);
/** program_container() - container of a cgroup's path: its last run of 64 hexadecimal digits; "" without one */
void program_container(const char *path, char ret_container[PROGRAM_CONTAINER_BYTES]);
