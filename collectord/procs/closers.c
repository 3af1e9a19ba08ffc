// SPDX-License-Identifier: Apache-2.0
#include "procs/closers.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "procs/procfs.h"

#define DAEMON_COMM "ingero-collecto" /* as much of the name as the kernel keeps; children have names of their own */

/* The name is read first, which costs one file: any process may have such a name, but few have. */
static bool title_read(int process_fd, uint32_t *ret_n_probes)
{
	static const char title[] = CLOSER_TITLE;
	struct procfs_stat stat;
	uint64_t n;

	if (procfs_stat_read(process_fd, &stat) < 0 || stat.state == 'Z' ||
	    strncmp(stat.comm, title, sizeof(title) - 1) != 0 ||
	    parse_u64(stat.comm + sizeof(title) - 1, UINT32_MAX, &n) < 0)
		return false;
	*ret_n_probes = (uint32_t)n;
	return true;
}

static bool runs_our_file(uint32_t pid)
{
	struct statx ours, theirs;

	return procfs_program((uint32_t)getpid(), &ours) == 0 && procfs_program(pid, &theirs) == 0 &&
	       ours.stx_ino == theirs.stx_ino && ours.stx_dev_major == theirs.stx_dev_major &&
	       ours.stx_dev_minor == theirs.stx_dev_minor;
}

static bool is_of_ours(int process_fd)
{
	struct procfs_status status;

	if (procfs_status_read(process_fd, &status) < 0)
		return false;
	for (size_t i = 0; i < PROCFS_UID_COUNT; i++)
		if (status.uids[i] != 0 && status.uids[i] != geteuid())
			return false;
	return true;
}

bool closer_read(uint32_t pid, struct closer *ret)
{
	CLEANUP(closep) int fd = procfs_find(pid);

	ret->pid = pid;
	return fd >= 0 && title_read(fd, &ret->n_probes) && is_of_ours(fd) && runs_our_file(pid);
}

static void dir_closep(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* Stops at the first failure. Return: 0 or -errno */
static int processes_each(int (*func)(uint32_t pid, void *data), void *data)
{
	CLEANUP(dir_closep) DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		uint64_t pid;

		if (parse_u64(entry->d_name, UINT32_MAX, &pid) == 0)
			r = func((uint32_t)pid, data);
	}
	return r;
}

static int closer_add(uint32_t pid, void *data)
{
	closer_list *list = data;
	struct closer closer;

	return closer_read(pid, &closer) ? ARRAY_PUSH(list, closer) : 0;
}

int closers_find(closer_list *list)
{
	return processes_each(closer_add, list);
}

static int daemon_add(uint32_t pid, void *data)
{
	CLEANUP(closep) int fd = procfs_find(pid);
	uint32_t *n = data;
	struct procfs_stat stat;

	if (pid != (uint32_t)getpid() && fd >= 0 && procfs_stat_read(fd, &stat) == 0 && stat.state != 'Z' &&
	    strcmp(stat.comm, DAEMON_COMM) == 0 && is_of_ours(fd) && runs_our_file(pid))
		++*n;
	return 0;
}

uint32_t daemons_count(void)
{
	uint32_t n = 0;

	(void)processes_each(daemon_add, &n);
	return n;
}
