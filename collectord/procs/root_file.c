// SPDX-License-Identifier: Apache-2.0
#include "procs/root_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "procs/procfs.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

struct root_walk {
	int proc_fd;
	uint64_t root, usr; /* ids of mounts that are never unmounted while the machine runs */
	int fd;		    /* how far it has come, O_PATH */
	struct stat st;	    /* of that */
	unsigned int n_links;
	bool may_go_up;
	bool is_public;	     /* everybody could come as far, and read it */
	char path[PATH_MAX]; /* what is left to go */
};

static int mount_of(int proc_fd, const char *path, uint64_t *ret_id)
{
	CLEANUP(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : procfs_mount_id(proc_fd, fd, ret_id);
}

/* Takes the descriptor. The mount is checked first, so that no request is sent to another file system. */
static int walk_step(struct root_walk *walk, int fd)
{
	uint64_t mount;
	int r;

	closep(&walk->fd);
	walk->fd = fd;
	r = procfs_mount_id(walk->proc_fd, fd, &mount);
	if (r < 0)
		return r;
	if (mount != walk->root && mount != walk->usr)
		return -EPERM;
	if (fstat(fd, &walk->st) < 0)
		return -errno;
	/* With an access control list the group bits hold its mask. A link has no mode: its directory says who may
	 * write. */
	if (walk->st.st_uid != 0 || (!S_ISLNK(walk->st.st_mode) && (walk->st.st_mode & OTHERS_WRITE)))
		return -EPERM;
	walk->is_public &=
		S_ISLNK(walk->st.st_mode) || walk->st.st_mode & (S_ISDIR(walk->st.st_mode) ? S_IXOTH : S_IROTH);
	return 0;
}

static int walk_start(struct root_walk *walk)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : walk_step(walk, fd);
}

/* Puts the target of a link before the rest of the path. @directory_fd: where the link is; taken */
static int link_follow(struct root_walk *walk, int directory_fd)
{
	CLEANUP(closep) int fd = directory_fd;
	size_t n_rest = strlen(walk->path) + 1;
	char target[PATH_MAX];
	ssize_t n;

	if (!walk->n_links)
		return walk->may_go_up ? -ELOOP : -EPERM;
	walk->n_links--;
	n = readlinkat(walk->fd, "", target, sizeof(target));
	if (n < 0)
		return -errno;
	if ((size_t)n + 1 + n_rest > sizeof(walk->path))
		return -ENAMETOOLONG;
	memmove(walk->path + n + 1, walk->path, n_rest);
	memcpy(walk->path, target, (size_t)n);
	walk->path[n] = '/';
	return target[0] == '/' ? walk_start(walk) : walk_step(walk, TAKE_FD(fd));
}

/* Goes one component further. */
static int component_pass(struct root_walk *walk)
{
	size_t n = strcspn(walk->path, "/");
	CLEANUP(closep) int before = -1;
	char name[NAME_MAX + 1];
	int fd, r;

	if (n > NAME_MAX || !S_ISDIR(walk->st.st_mode))
		return -EINVAL;
	memcpy(name, walk->path, n);
	name[n] = 0;
	memmove(walk->path, walk->path + n, strlen(walk->path + n) + 1);
	if (strcmp(name, "..") == 0 && !walk->may_go_up)
		return -EINVAL;
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	before = TAKE_FD(walk->fd);
	r = walk_step(walk, fd);
	if (r == 0 && S_ISLNK(walk->st.st_mode))
		r = link_follow(walk, TAKE_FD(before));
	return r;
}

int root_file_open(int proc_fd, const char *path, unsigned int n_links, struct stat *ret_stat, bool *ret_is_public)
{
	struct root_walk walk = {
		.proc_fd = proc_fd, .fd = -1, .n_links = n_links, .may_go_up = n_links > 0, .is_public = true
	};
	int r = mount_of(proc_fd, "/", &walk.root);

	if (r == 0 && mount_of(proc_fd, "/usr", &walk.usr) < 0)
		walk.usr = walk.root;
	if (r == 0 && strlen(path) >= sizeof(walk.path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = *path == '/' ? walk_start(&walk) : -EINVAL;
	if (r == 0)
		memcpy(walk.path, path, strlen(path) + 1);
	while (r == 0) {
		size_t n = strspn(walk.path, "/");

		memmove(walk.path, walk.path + n, strlen(walk.path + n) + 1);
		if (!walk.path[0])
			break;
		r = component_pass(&walk);
	}
	if (r < 0) {
		closep(&walk.fd);
		return r;
	}
	*ret_stat = walk.st;
	if (ret_is_public)
		*ret_is_public = walk.is_public;
	return walk.fd;
}
