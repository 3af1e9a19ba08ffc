// SPDX-License-Identifier: Apache-2.0
/* A process that is looked at: the test's own executable, started as --subject, which maps what it is told to. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct subject {
	pid_t pid;
	int to;
	FILE *from;
	uint64_t bases[8]; /* where each argument was mapped */
	size_t n_bases;
};

/**
 * subject_main() - maps what its arguments say, tells where, and then makes calls as long as it is told to (0: lets go
 * of the first): PATH       the whole file, executable load:PATH  as a library; its cudaFree and cudaLaunchKernel are
 * what is called memory:PATH  a copy of it that has no name all:PATH   every file in that directory
 */
int subject_main(int argc, char **argv);
/** subject_start() - @files: as subject_main() takes them, NULL at the end; it has mapped them when this returns */
void subject_start(struct subject *s, const char *const *files);
/** subject_call() - it has made that many calls when this returns; 0: it has let go of the first file */
void subject_call(struct subject *s, char n);
void subject_end(struct subject *s);
/** subject_copy() - at most so many bytes of a file */
void subject_copy(const char *from, int to_fd, size_t most_bytes);
