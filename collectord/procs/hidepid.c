// SPDX-License-Identifier: Apache-2.0
#include "procs/hidepid.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "clock.h"
#include "procs/procfs.h"

/* Every row of an answer asks; a mount cannot change within that time. */
#define LOOK_NS (10 * NSEC_PER_MSEC)

bool hidepid_in_mounts(const char *mounts)
{
	bool is_on = true;

	while (*mounts) {
		const char *end = strchrnul(mounts, '\n');
		char where[64], type[16], options[256];

		if (sscanf(mounts, "%*s %63s %15s %255s", where, type, options) == 3 && strcmp(where, "/proc") == 0) {
			const char *option = strstr(options, "hidepid=");

			/* 0 and "off" show everything; 1, 2, 4 and their names do not */
			is_on = strcmp(type, "proc") != 0 ||
				(option && option[8] != '0' && strncmp(option + 8, "off", 3) != 0);
		}
		mounts = *end ? end + 1 : end;
	}
	return is_on;
}

static bool hidepid_look(void)
{
	char mounts[65536];

	/*
	 * Reads the mounts of the machine's first process: a service has a /proc of its own that may hide more than
	 * users' /proc. Without permission for that, the reader has the same /proc as its users.
	 */
	if (fd_read_file_at(AT_FDCWD, "/proc/1/mounts", mounts, sizeof(mounts)) > 0)
		return hidepid_in_mounts(mounts);
	/* If unknown, names are hidden. */
	return fd_read_file_at(AT_FDCWD, "/proc/mounts", mounts, sizeof(mounts)) < 0 || hidepid_in_mounts(mounts);
}

static bool is_same_mounts(int process_fd)
{
	struct stat first, theirs;

	return stat("/proc/1/ns/mnt", &first) == 0 && fstatat(process_fd, "ns/mnt", &theirs, 0) == 0 &&
	       first.st_ino == theirs.st_ino && first.st_dev == theirs.st_dev;
}

/*
 * Whether it has another root than its namespace, as after chroot(2): its own /proc is then what is mounted below that
 * root, and "/proc" in its list of mounts may be another. The link is read without a request to the root's file system.
 */
static bool has_own_root(int process_fd)
{
	char root[2];

	return readlinkat(process_fd, "root", root, sizeof(root)) != 1 || root[0] != '/';
}

bool hidepid_hides_from(uint32_t pid)
{
	CLEANUP(closep) int fd = procfs_find(pid);
	char mounts[65536];
	ssize_t n;

	if (fd < 0 || has_own_root(fd))
		return true;
	if (is_same_mounts(fd))
		return false; /* hidepid_is_on() */
	n = fd_read_file_at(fd, "mounts", mounts, sizeof(mounts));
	return n < 0 || (size_t)n + 1 == sizeof(mounts) || hidepid_in_mounts(mounts);
}

bool hidepid_is_on(void)
{
	static uint64_t looked_ns; /* 0: never */
	static bool is_on;
	uint64_t now_ns = clock_now_ns();

	if (!looked_ns || now_ns - looked_ns >= LOOK_NS) {
		is_on = hidepid_look();
		looked_ns = now_ns;
	}
	return is_on;
}
