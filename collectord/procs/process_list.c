// SPDX-License-Identifier: Apache-2.0
#include "procs/process_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "procs/owner.h"
#include "procs/procfs.h"

/* Return: 1 with a process, 0 when there is none any more */
static int listed_process_look(int proc_fd, uint32_t pid, struct listed_process *ret_process)
{
	CLEANUP(closep) int process_fd = procfs_open_process(proc_fd, pid);
	struct procfs_status
		status; /* one file has nearly all data: each further file costs as much as all other work here */
	struct owner owner;

	if (process_fd < 0 || procfs_status_read(process_fd, &status) < 0)
		return 0;
	owner = owner_of(process_fd, &status);
	*ret_process = (struct listed_process){ .pid = pid, .ppid = status.ppid, .uid = owner_uid(&owner) };
	return 1;
}

int process_walk_begin(struct process_walk *walk, int proc_fd)
{
	CLEANUP(closep)
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a position of its own */
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)TAKE_FD(fd);
	*walk = (struct process_walk){ .dir = dir, .proc_fd = proc_fd };
	return 0;
}

int process_walk_next(struct process_walk *walk, struct listed_process *ret_process)
{
	for (;;) {
		const struct dirent *entry;
		uint64_t pid;
		int r;

		errno = 0;
		entry = readdir(walk->dir);
		if (!entry) {
			r = -errno;
			process_walk_end(walk);
			return r;
		}
		if (parse_u64(entry->d_name, UINT32_MAX, &pid) == 0 &&
		    listed_process_look(walk->proc_fd, (uint32_t)pid, ret_process))
			return 1;
	}
}

void process_walk_end(struct process_walk *walk)
{
	closedirp(&walk->dir);
	walk->dir = NULL;
}

int process_list_read(int proc_fd, process_list *list)
{
	CLEANUP(process_walk_end) struct process_walk walk = { .dir = NULL };
	struct listed_process process;
	int r = process_walk_begin(&walk, proc_fd);

	while (r >= 0 && (r = process_walk_next(&walk, &process)) > 0)
		r = ARRAY_PUSH(list, process);
	return r;
}
