// SPDX-License-Identifier: Apache-2.0
#include "procs/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define NAMESPACE_DEPTH_MAX 33 /* the kernel's maximum depth of nested user namespaces */

/* Files of an undumpable process belong to root, or to the root of its user namespace; its directory never does. */
static bool is_dumpable(int process_fd, uint32_t uid)
{
	struct stat st;

	return fstatat(process_fd, "status", &st, 0) == 0 && st.st_uid == uid;
}

static bool is_same_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

/*
 * Capabilities in a user namespace are valid there alone. The creator of the outermost namespace below ours has them
 * all, other users none.
 */
static bool is_no_more(int process_fd, uint32_t uid, uint64_t permitted)
{
	CLEANUP(closep) int ours = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int space = openat(process_fd, "ns/user", O_RDONLY | O_CLOEXEC);

	if (ours < 0 || space < 0)
		return false;
	if (is_same_file(space, ours))
		return permitted == 0;
	for (int i = 0; i < NAMESPACE_DEPTH_MAX; i++) {
		CLEANUP(closep) int parent = ioctl(space, NS_GET_PARENT);
		uid_t owner;

		if (parent < 0)
			return false;
		if (is_same_file(parent, ours))
			return ioctl(space, NS_GET_OWNER_UID, &owner) == 0 && owner == uid;
		(void)close(space);
		space = TAKE_FD(parent);
	}
	return false;
}

struct owner owner_of(int process_fd, const struct procfs_status *status)
{
	uint32_t uid = status->uids[0];
	struct owner owner = { .uid = uid, .is_guarded = uid != status->uids[1] || uid != status->uids[2] };

	/* Root may inspect all processes of root. An exiting process has no memory that could be dumped. */
	if (!owner.is_guarded && uid != 0)
		owner.is_guarded = (status->has_memory && !is_dumpable(process_fd, uid)) ||
				   !is_no_more(process_fd, uid, status->permitted);
	return owner;
}

int owner_read(int process_fd, struct owner *ret_owner)
{
	struct procfs_status status;
	int r = procfs_status_read(process_fd, &status);

	if (r == 0)
		*ret_owner = owner_of(process_fd, &status);
	/*
	 * A process that ends between two reads appears guarded: its memory is gone by the second, or everything by the
	 * third.
	 */
	for (int i = 0; r == 0 && ret_owner->is_guarded && i < 2; i++) {
		r = procfs_status_read(process_fd, &status);
		if (r == 0)
			*ret_owner = owner_of(process_fd, &status);
	}
	return r;
}
