// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/collectord/probes/subject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

static void *first_map;
static size_t first_bytes;

static void *file_map(int fd)
{
	size_t n = (size_t)lseek(fd, 0, SEEK_END);
	void *at = mmap(NULL, n, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		abort();
	if (!first_map) {
		first_map = at;
		first_bytes = n;
	}
	return at;
}

void subject_copy(const char *from, int to_fd, size_t most_bytes)
{
	CLEANUP(closep) int fd = open(from, O_RDONLY | O_CLOEXEC);
	CLEANUP(freep) char *bytes = malloc(1 << 20);
	ssize_t n = read(fd, bytes, MIN(most_bytes, (size_t)1 << 20));

	if (n < 0 || pwrite(to_fd, bytes, (size_t)n, 0) != n || ftruncate(to_fd, n) < 0) {
		perror(from);
		abort();
	}
}

static void *directory_map(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	void *at = NULL;

	if (!directory)
		abort();
	while ((entry = readdir(directory))) {
		CLEANUP(closep) int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);

		if (entry->d_type == DT_REG)
			at = file_map(fd);
	}
	(void)closedir(directory);
	return at;
}

int subject_main(int argc, char **argv)
{
	int (*release)(void) = NULL, (*launch)(void) = NULL;
	char command;

	for (int i = 2; i < argc; i++) {
		void *at = NULL;

		if (strncmp(argv[i], "load:", 5) == 0) {
			void *handle = dlopen(argv[i] + 5, RTLD_NOW);

			if (!handle)
				abort();
			release = (int (*)(void))dlsym(handle, "cudaFree");
			launch = (int (*)(void))dlsym(handle, "cudaLaunchKernel");
		} else if (strncmp(argv[i], "memory:", 7) == 0) {
			int fd = memfd_create("libcudart.so.12", MFD_CLOEXEC);

			subject_copy(argv[i] + 7, fd, SIZE_MAX);
			at = file_map(fd);
		} else if (strncmp(argv[i], "all:", 4) == 0) {
			at = directory_map(argv[i] + 4);
		} else {
			int fd = open(argv[i], O_RDONLY | O_CLOEXEC);

			if (fd < 0)
				abort();
			at = file_map(fd);
		}
		printf("%" PRIxPTR "\n", (uintptr_t)at);
	}
	puts("ready");
	(void)fflush(stdout);

	while (read(STDIN_FILENO, &command, 1) == 1) {
		if (!command)
			(void)munmap(first_map, first_bytes);
		for (int i = 0; i < command; i++) {
			if (!release || !launch)
				abort();
			(void)release();
			(void)launch();
		}
		puts("called");
		(void)fflush(stdout);
	}
	return 0;
}

void subject_start(struct subject *s, const char *const *files)
{
	const char *argv[12] = { "subject", "--subject" };
	int to[2], from[2];
	char line[64];

	for (size_t i = 0; files[i]; i++)
		argv[2 + i] = files[i];
	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		abort();
	s->pid = fork();
	if (s->pid == 0) {
		(void)dup2(to[0], STDIN_FILENO);
		(void)dup2(from[1], STDOUT_FILENO);
		execv("/proc/self/exe", (char *const *)argv);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	s->to = to[1];
	s->from = fdopen(from[0], "r");
	s->n_bases = 0;
	while (fgets(line, sizeof(line), s->from) && strcmp(line, "ready\n") != 0)
		s->bases[s->n_bases++] = strtoull(line, NULL, 16);
}

void subject_call(struct subject *s, char n)
{
	char line[64];

	if (write(s->to, &n, 1) != 1 || !fgets(line, sizeof(line), s->from))
		abort();
}

void subject_end(struct subject *s)
{
	(void)close(s->to);
	(void)fclose(s->from);
	(void)waitpid(s->pid, NULL, 0);
}
