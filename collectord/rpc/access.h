// SPDX-License-Identifier: Apache-2.0
/* Identity of a caller, and its view: one function for every row of data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpc/call.h"

/**
 * access_may_see() - THE decision about every row of data that belongs to a user
 * @owner_uid: uid of the process of the row
 * @is_guarded: ptrace(2) would not grant the process to its user: its three uids differ, or it is not dumpable
 */
bool access_may_see(const struct call_identity *identity, uint32_t owner_uid, bool is_guarded);

/* Groups with more rights, looked up once; ACCESS_NO_GROUP for missing ones. */
#define ACCESS_NO_GROUP ((gid_t)-1)
struct access_groups {
	gid_t read; /* ingero-read */
};

/** access_groups_find() - look up the groups of this machine */
struct access_groups access_groups_find(void);

struct ucred; /* of sys/socket.h, with _GNU_SOURCE */
/** access_credentials() - read uid, first group and pid of the peer of a connected Unix socket. Return: 0 or -errno */
int access_credentials(int fd, struct ucred *ret_cred);
/**
 * access_identify() - identity of the peer, with all its groups, from the kernel
 * @cred: from access_credentials(); its uid is the peer's own, whoever it may later act for
 * Return: 0 or -errno
 */
int access_identify(int fd, const struct ucred *cred, const struct access_groups *groups,
		    struct call_identity *ret_identity);
/**
 * access_act_for() - identity of root acting for a user: it has that user's view, and no more
 * @identity: root's, from access_identify()
 * @gids:     that user's groups, as root's client names them
 */
struct call_identity access_act_for(const struct call_identity *identity, uint32_t uid, const gid_t *gids,
				    size_t n_gids, const struct access_groups *groups);
/** access_grant() - rights of a user with these groups; access_identify() without the socket */
struct call_identity access_grant(uint32_t uid, uint32_t pid, const gid_t *gids, size_t n_gids,
				  const struct access_groups *groups);
