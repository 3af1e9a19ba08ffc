// SPDX-License-Identifier: Apache-2.0
#include "stacks/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "procs/root_file.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define BUILD_ID_BYTES_MIN 2 /* the first one names a directory */
#define BUILD_ID_BYTES_MAX 64
#define LINKS_MAX 8 /* some distributions have links to the files by build-id, and /lib is one */

static int debug_file_open(int proc_fd, const char *path, struct debug_file *ret_file)
{
	CLEANUP(closep) int path_fd = -1, fd = -1;
	struct stat st = { .st_mode = 0 };
	bool is_public = false;
	char name[32];

	path_fd = root_file_open(proc_fd, path, LINKS_MAX, &st, &is_public);
	if (path_fd < 0)
		return path_fd;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* The library that leads to it may be a user's, who is told of its contents. */
	if (!is_public)
		return -EACCES;
	/* O_NONBLOCK: a lease (fcntl) on the file must not block the daemon. */
	(void)snprintf(name, sizeof(name), "self/fd/%d", path_fd);
	fd = openat(proc_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_file = (struct debug_file){
		.fd = TAKE_FD(fd),
		.id = { .device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev),
			.inode = st.st_ino,
			.bytes = (uint64_t)st.st_size,
			.change_s = st.st_ctim.tv_sec,
			.change_ns = (uint32_t)st.st_ctim.tv_nsec },
	};
	return 0;
}

int debug_files_open_build_id(int proc_fd, const uint8_t *id, size_t n, struct debug_file *ret_file)
{
	char path[sizeof(DEBUG_ROOT "/.build-id/ab/.debug") + 2 * BUILD_ID_BYTES_MAX];
	size_t at;

	if (n < BUILD_ID_BYTES_MIN || n > BUILD_ID_BYTES_MAX)
		return -EINVAL;
	at = (size_t)snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", id[i]);
	(void)snprintf(path + at, sizeof(path) - at, ".debug");
	return debug_file_open(proc_fd, path, ret_file);
}

int debug_files_open_link(int proc_fd, const char *path, const char *link, struct debug_file *ret_file)
{
	static const struct {
		const char *before, *behind; /* the directory of the library */
	} places[] = { { "", "/" }, { "", "/.debug/" }, { DEBUG_ROOT, "/" } };
	const char *slash = strrchr(path, '/');
	int why = -ENOENT;

	if (!slash || path[0] != '/' || !link[0] || strchr(link, '/') || strcmp(link, ".") == 0 ||
	    strcmp(link, "..") == 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char place[PATH_MAX];
		int r;

		if (snprintf(place, sizeof(place), "%s%.*s%s%s", places[i].before, (int)(slash - path), path,
			     places[i].behind, link) >= (int)sizeof(place))
			return -ENAMETOOLONG;
		r = debug_file_open(proc_fd, place, ret_file);
		if (r == 0)
			return 0;
		if (why == -ENOENT)
			why = r;
	}
	return why;
}
