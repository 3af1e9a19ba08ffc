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

int process_list_read(int proc_fd, process_list *list)
{
	CLEANUP(closep)
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a position of its own */
	CLEANUP(closedirp) DIR *dir = NULL;
	struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)TAKE_FD(fd);
	while (r == 0) {
		struct listed_process process;
		uint64_t pid;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno;
		if (parse_u64(entry->d_name, UINT32_MAX, &pid) == 0 &&
		    listed_process_look(proc_fd, (uint32_t)pid, &process))
			r = ARRAY_PUSH(list, process);
	}
	return r;
}
