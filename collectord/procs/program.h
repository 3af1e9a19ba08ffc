// SPDX-License-Identifier: Apache-2.0
/*
 * What tells two processes of one name apart: the script, the rank, the container.
 *
 * Most of it is text that the process itself can change: bytes of bounded number in which keys are looked for, and
 * which nothing is decided by.
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

/* Of one incarnation. All zero: nothing is known. */
struct program {
	char script[PROGRAM_SCRIPT_BYTES];	   /* file name, or module, that an interpreter runs; "": none */
	char executable[PROGRAM_EXECUTABLE_BYTES]; /* file name */
	char container[PROGRAM_CONTAINER_BYTES];   /* "": none */
	uint64_t cgroup_id;			   /* inode of its directory in the tree of version 2; 0: not known */
	struct program_number rank;		   /* in a distributed run; as its launcher says */
	struct program_number local_rank;	   /* on this machine */
	struct program_number world_size;
};

/**
 * program_read() - of the process of a directory handle of /proc
 * One that is guarded, or not of user @uid, is left alone. What cannot be read is not known.
 */
void program_read(int process_fd, uint32_t uid, struct program *ret_program);

/** program_script() - @args: n bytes, a NUL behind each. "" when it is no interpreter's, or there is no file */
void program_script(const char *executable, const char *args, size_t n, char ret_script[PROGRAM_SCRIPT_BYTES]);
/** program_ranks() - @environ: n bytes, "NAME=value", a NUL behind each */
void program_ranks(const char *environ, size_t n, struct program *program);
/** program_container() - of a cgroup's path: the last 64 hexadecimal digits in a row; "" where there are none */
void program_container(const char *path, char ret_container[PROGRAM_CONTAINER_BYTES]);
