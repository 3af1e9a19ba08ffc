// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's parts around a set of targets, with real probes and the real parser, and files for processes to map.
 * An executable that uses it is the test, the parser child (--child), and the processes that are looked at (subject.h).
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "probes/probe_set.h"
#include "probes/target.h"

enum { ID_FREE = 2, ID_LAUNCH = 3 }; /* ids of ops.def */

extern struct target_world {
	uv_loop_t loop;
	struct child *parser;
	struct probe_set *probes;
	struct target_set *targets;
	size_t n_found; /* libraries told of */
	unsigned int n_done;
	char dir[PATH_MAX]; /* where the files are */
} world;

/** target_world_main() - open it, run the cases, close it. Return: the exit status */
int target_world_main(int argc, char **argv, void (*cases)(void));
/** target_world_done() - for what is scanned: counts */
void target_world_done(uint32_t tgid, void *data);
/** scan() - look for libraries in a process, and wait for the end of it; @base: where one is mapped, or 0 */
void scan(const char *name, pid_t pid, uint64_t base);
/** library_find() - what was found last under this name of a file, or NULL */
const struct target_library *library_find(const char *file);
/** calls_counted() - of a process that is traced */
uint64_t calls_counted(pid_t pid, unsigned int op);
/** path_of() - of a file of the world; the last 16 answers are kept */
const char *path_of(const char *file);
/** load_of() - for a subject: that file, to be called into; the last 8 answers are kept */
const char *load_of(const char *file);
/** make() - a copy of a sample, or of its beginning, under a name */
void make(const char *sample, const char *file, size_t most_bytes);
