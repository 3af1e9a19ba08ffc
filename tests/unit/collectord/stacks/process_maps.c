// SPDX-License-Identifier: Apache-2.0
/*
 * The path of a file in the stacks of a user is the one that the user's process sees: two processes map one file of
 * root under two names. No kernel half is here. Needs root (or it is skipped).
 */
#include "stacks/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "procs/procfs.h"
#include "stacks/stack_file.h"
#include "tests/support/check.h"

/* --- two processes --- */

static char place[] = "/var/lib/ingero-test-XXXXXX";

/* Return: a process that has the file mapped under this name, and waits */
static pid_t mapping_process(const char *name, void **ret_at)
{
	char path[128];
	int ready[2], fd;
	pid_t pid;

	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	CHECK_INT_EQ(name, pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		void *at;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (write(ready[1], &at, sizeof(at)) == sizeof(at))
			(void)pause();
		_exit(1);
	}
	CHECK_INT_EQ(name, read(ready[0], ret_at, sizeof(*ret_at)), sizeof(*ret_at));
	CHECK(name, *ret_at != MAP_FAILED);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

static const struct {
	const char *name; /* of a link to the file */
	uint32_t uid;	  /* whose process is said to have it mapped */
	const char *told;
} cases[] = {
	{ "one", 1000, "one" },
	{ "two", 1001, "two" },
	{ "one", 1001, "one" },
	{ "\033[31mred", 1002, "?[31mred" },
};

int main(void)
{
	const struct stack_readers readers = { .parser = { NULL } };
	struct stack_files *files;
	char path[128];
	int fd;

	if (geteuid() != 0)
		return 77;
	CHECK("a directory", mkdtemp(place) != NULL);
	CHECK_INT_EQ("its mode", chmod(place, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/file", place);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	CHECK_INT_EQ("a file", ftruncate(fd, 4096), 0);
	(void)close(fd);
	CHECK_INT_EQ("no files", stack_files_new(&readers, NULL, &files), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process_maps *maps = NULL;
		const struct process_map *map;
		char link_path[128], told[128];
		pid_t pid;
		void *at;

		(void)snprintf(link_path, sizeof(link_path), "%s/%s", place, cases[i].name);
		CHECK(cases[i].name, link(path, link_path) == 0 || errno == EEXIST);
		pid = mapping_process(cases[i].name, &at);
		CHECK_INT_EQ(cases[i].name,
			     process_maps_read(files, stack_files_proc_fd(files), (uint32_t)pid, cases[i].uid, &maps),
			     0);
		map = process_maps_find(maps, (uint64_t)(uintptr_t)at);
		(void)snprintf(told, sizeof(told), "%s/%s", place, cases[i].told);
		CHECK(cases[i].name, map && map->file && map->file->owner == 0);
		CHECK_STR_EQ(cases[i].name, map->path ? map->path : map->file->path, told);
		process_maps_unref(maps);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	stack_files_free(files);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", place, cases[i].name);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/file", place);
	(void)unlink(path);
	CHECK_INT_EQ("nothing is left", rmdir(place), 0);
	return check_result();
}
