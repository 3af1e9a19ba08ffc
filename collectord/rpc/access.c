// SPDX-License-Identifier: Apache-2.0
#include "rpc/access.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "procs/hidepid.h"
#include "procs/procfs.h"

#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

bool access_may_see(const struct call_identity *identity, uint32_t owner_uid, bool is_guarded)
{
	return identity->can_read_all || (owner_uid == identity->uid && !is_guarded);
}

static gid_t group_find(const char *name)
{
	char text[16384];
	struct group group, *found = NULL;

	if (getgrnam_r(name, &group, text, sizeof(text), &found) || !found)
		return ACCESS_NO_GROUP;
	return found->gr_gid;
}

struct access_groups access_groups_find(void)
{
	return (struct access_groups){ .read = group_find("ingero-read") };
}

static bool is_member(gid_t gid, const gid_t *gids, size_t n_gids)
{
	if (gid == ACCESS_NO_GROUP)
		return false;
	for (size_t i = 0; i < n_gids; i++) {
		if (gids[i] == gid)
			return true;
	}
	return false;
}

struct call_identity access_grant(uint32_t uid, uint32_t pid, const gid_t *gids, size_t n_gids,
				  const struct access_groups *groups)
{
	bool can_read_all = uid == 0 || is_member(groups->read, gids, n_gids);

	return (struct call_identity){
		.uid = uid,
		.peer_pid = pid,
		.can_read_all = can_read_all,
		.can_show_all = can_read_all,
	};
}

struct call_identity access_act_for(const struct call_identity *identity, uint32_t uid, const gid_t *gids,
				    size_t n_gids, const struct access_groups *groups)
{
	struct call_identity acting = access_grant(uid, identity->peer_pid, gids, n_gids, groups);

	acting.can_show_all |= identity->can_show_all;
	acting.is_elsewhere = identity->is_elsewhere;
	return acting;
}

/* The peer's supplementary groups at connect, after its primary group. */
static int peer_groups(int fd, gid_t first, gid_t **ret_gids, size_t *ret_n)
{
	socklen_t bytes = 32 * sizeof(gid_t);

	for (;;) {
		CLEANUP(freep) gid_t *gids = malloc(sizeof(gid_t) + bytes);

		if (!gids)
			return -ENOMEM;
		gids[0] = first;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids + 1, &bytes) == 0) {
			*ret_n = 1 + bytes / sizeof(gid_t);
			*ret_gids = TAKE_PTR(gids);
			return 0;
		}
		/* With ERANGE the kernel has stored the needed length in `bytes`. */
		if (errno != ERANGE || bytes > GROUPS_MAX * sizeof(gid_t))
			return -errno;
	}
}

int access_credentials(int fd, struct ucred *ret_cred)
{
	socklen_t bytes = sizeof(*ret_cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_cred, &bytes))
		return -errno;
	/* A socket of another family returns no credentials. */
	return ret_cred->uid == (uid_t)-1 ? -ENOTCONN : 0;
}

int access_identify(int fd, const struct ucred *cred, const struct access_groups *groups,
		    struct call_identity *ret_identity)
{
	CLEANUP(freep) gid_t *gids = NULL;
	size_t n_gids = 0;
	int r;

	r = peer_groups(fd, cred->gid, &gids, &n_gids);
	if (r)
		return r;
	*ret_identity = access_grant(cred->uid, (uint32_t)cred->pid, gids, n_gids, groups);
	/* Usually a client in a container or a sandbox. */
	ret_identity->is_elsewhere =
		procfs_is_elsewhere((uint32_t)cred->pid) || hidepid_hides_from((uint32_t)cred->pid);
	return 0;
}
