// SPDX-License-Identifier: Apache-2.0
/*
 * Time to name addresses of one file, as the parser does it: bench_names FILE N. Prints {"cold_ms", "index_ms",
 * "warm_ms", "named", "lines", "n"}: without the file in memory, with it, and asked again.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "children/elf_names.h"

#define ANSWER_BYTES (1u << 20)
#define SEGMENTS_MAX 64u
#define SEED 20261u

struct file {
	int fd;
	struct stat status;
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t n_segments;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int file_open(const char *path, struct file *ret)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr head;
	size_t n;

	*ret = (struct file){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (ret->fd < 0 || fstat(ret->fd, &ret->status) < 0 || pread(ret->fd, &head, sizeof(head), 0) != sizeof(head))
		return -1;
	n = MIN((size_t)head.e_phnum, (size_t)SEGMENTS_MAX);
	if (pread(ret->fd, segments, n * sizeof(segments[0]), (off_t)head.e_phoff) !=
	    (ssize_t)(n * sizeof(segments[0])))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X))
			ret->segments[ret->n_segments++] = segments[i];
	return ret->n_segments ? 0 : -1;
}

/* Places in the code, all equally likely. */
static void choose(const struct file *file, uint64_t *at, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < file->n_segments; i++)
		all += file->segments[i].p_filesz;
	srandom(SEED);
	for (size_t i = 0; i < n; i++) {
		uint64_t place = ((uint64_t)random() << 31 | (uint64_t)random()) % all;
		size_t k = 0;

		while (place >= file->segments[k].p_filesz)
			place -= file->segments[k++].p_filesz;
		at[i] = file->segments[k].p_offset + place;
	}
}

/* Return: addresses with a name */
static size_t ask(const struct file *file, const uint64_t *at, size_t n, char *answer, size_t *ret_lines)
{
	struct parser_names_question question = {
		.kind = PARSER_ASK_NAMES,
		.file_bytes = (uint64_t)file->status.st_size,
		.device = file->status.st_dev,
		.inode = file->status.st_ino,
		.change_ns =
			(uint64_t)file->status.st_ctim.tv_sec * NSEC_PER_SEC + (uint64_t)file->status.st_ctim.tv_nsec,
	};
	size_t named = 0;

	*ret_lines = 0;
	for (size_t i = 0; i < n;) {
		const struct parser_names *told = (const void *)answer;
		const struct parser_name *names = (const void *)(told + 1);

		question.n = (uint32_t)MIN(n - i, (size_t)PARSER_NAMES_MAX);
		memcpy(question.at, at + i, question.n * sizeof(*at));
		if (elf_names_answer(&question, sizeof(question), file->fd, answer, ANSWER_BYTES) <
			    (ssize_t)sizeof(*told) ||
		    told->result != PARSER_OK || told->n == 0) {
			fprintf(stderr, "bench_names: no names of this file\n");
			exit(1);
		}
		for (uint32_t k = 0; k < told->n; k++) {
			named += names[k].symbol != 0;
			*ret_lines += names[k].line != 0;
		}
		i += told->n;
	}
	return named;
}

int main(int argc, char **argv)
{
	size_t n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, named = 0, lines = 0;
	CLEANUP(freep) uint64_t *at = calloc(n + 1, sizeof(*at));
	CLEANUP(freep) char *answer = aligned_alloc(64, ANSWER_BYTES);
	double ms[3];
	struct file file;

	if (n == 0 || !at || !answer || file_open(argv[1], &file) < 0) {
		fprintf(stderr, "usage: bench_names FILE N\n");
		return 2;
	}
	choose(&file, at, n);
	(void)posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
	for (size_t i = 0; i < ARRAY_SIZE(ms); i++) {
		double began = now_ms();

		named = ask(&file, at, n, answer, &lines);
		ms[i] = now_ms() - began;
		if (i == 0)
			elf_names_forget();
	}
	printf("{\"cold_ms\": %.2f, \"index_ms\": %.2f, \"warm_ms\": %.2f, \"named\": %zu, \"lines\": %zu, \"n\": "
	       "%zu}\n",
	       ms[0], ms[1], ms[2], named, lines, n);
	(void)close(file.fd);
	return 0;
}
