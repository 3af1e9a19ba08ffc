// SPDX-License-Identifier: Apache-2.0
#include "libingero/connect/caller.h"

#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "libingero/render/user.h"

#define UID_VARIABLE "SUDO_UID"
#define GID_VARIABLE "SUDO_GID"
#define GROUPS_GUESS 64
#define GROUPS_MOST 4096 /* maximum entries of one field of a request */

/* The variables count only if the process is root: anybody can set variables. */
static bool is_real_root(void)
{
	return getuid() == 0 && geteuid() == 0;
}

/* Return: 1 with an id, 0 if the variable is not set, -EINVAL for another value */
static int id_from_environment(const char *variable, uint32_t *ret_id)
{
	const char *text = getenv(variable);
	uint64_t id;

	if (!text)
		return 0;
	if (parse_u64(text, UINT32_MAX - 1, &id) < 0)
		return -EINVAL;
	*ret_id = (uint32_t)id;
	return 1;
}

/* Return: 1 with both ids, 0 without sudo, -EINVAL if one of them is missing or invalid */
static int ids_from_sudo(uint32_t *ret_uid, uint32_t *ret_gid)
{
	int has_uid, has_gid;

	if (!is_real_root())
		return 0;
	has_uid = id_from_environment(UID_VARIABLE, ret_uid);
	has_gid = id_from_environment(GID_VARIABLE, ret_gid);
	return has_uid == has_gid ? has_uid : -EINVAL;
}

int caller_check(char *error, size_t error_bytes)
{
	uint32_t uid, gid;
	int r = ids_from_sudo(&uid, &gid);

	if (r < 0)
		(void)snprintf(error, error_bytes,
			       "cannot tell which user typed sudo: " UID_VARIABLE " and " GID_VARIABLE
			       " have to be numeric ids of user and group; to act as root, unset both");
	return MIN(r, 0);
}

struct caller caller_get(void)
{
	struct caller caller = { .uid = getuid(), .gid = getgid(), .is_root = geteuid() == 0 };
	uint32_t uid, gid;

	if (ids_from_sudo(&uid, &gid) > 0) {
		caller.is_sudo = uid != 0;
		caller.uid = uid;
		caller.gid = gid;
	}
	return caller;
}

int caller_groups(const struct caller *caller, gid_t **ret_gids, size_t *ret_n)
{
	struct user_entry entry;
	bool is_known = user_find(caller->uid, &entry);
	int n = GROUPS_GUESS;

	for (;;) {
		CLEANUP(freep) gid_t *gids = calloc((size_t)n, sizeof(gids[0]));
		int room = n;

		if (!gids)
			return -ENOMEM;
		gids[0] = caller->gid;
		if (!is_known)
			n = 1;
		else if (getgrouplist(entry.user.pw_name, caller->gid, gids, &n) < 0 && n > room && n <= GROUPS_MOST)
			continue;
		/* Groups that do not fit are left out, which only reduces rights. */
		*ret_n = (size_t)(n < room ? n : room);
		*ret_gids = TAKE_PTR(gids);
		return 0;
	}
}

/* For this thread alone; setgroups(2) of the C library is for all. Return: 0 or -errno */
static int thread_groups_set(const gid_t *gids, int n)
{
	return syscall(SYS_setgroups, n, gids) < 0 ? -errno : 0;
}

int caller_files_begin(const struct caller *caller, struct caller_files *ret_before)
{
	CLEANUP(freep) gid_t *groups = NULL;
	int n = getgroups(0, NULL), r;

	*ret_before = (struct caller_files){ .groups = NULL };
	if (!caller->is_sudo)
		return 0;
	groups = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*groups));
	n = groups ? getgroups(n, groups) : n;
	if (n < 0 || !groups)
		return groups ? -errno : -ENOMEM;
	r = thread_groups_set(&caller->gid, 1);
	if (r < 0)
		return r;
	*ret_before = (struct caller_files){ .groups = TAKE_PTR(groups),
					     .n_groups = n,
					     .gid = (gid_t)setfsgid(caller->gid),
					     .uid = (uid_t)setfsuid(caller->uid),
					     .is_changed = true };
	/* Both return what was before, also where they fail. */
	if ((gid_t)setfsgid((gid_t)-1) != caller->gid || (uid_t)setfsuid((uid_t)-1) != caller->uid) {
		caller_files_end(ret_before);
		return -EPERM;
	}
	return 0;
}

void caller_files_end(struct caller_files *before)
{
	if (before->is_changed) {
		(void)setfsuid(before->uid);
		(void)setfsgid(before->gid);
		(void)thread_groups_set(before->groups, before->n_groups);
	}
	free(before->groups);
	*before = (struct caller_files){ .groups = NULL };
}

int caller_become(const struct caller *caller)
{
	CLEANUP(freep) gid_t *gids = NULL;
	size_t n = 0;
	int r;

	if (!caller->is_sudo)
		return 0;
	r = caller_groups(caller, &gids, &n);
	if (r < 0)
		return r;
	return setgroups(n, gids) || setresgid(caller->gid, caller->gid, caller->gid) ||
			       setresuid(caller->uid, caller->uid, caller->uid)
		       ? -errno
		       : 0;
}
