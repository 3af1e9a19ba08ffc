// SPDX-License-Identifier: Apache-2.0
/*
 * Who a caller is, and what he may see: one function for every row of data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpc/call.h"

/**
 * access_may_see() - THE decision about every row of data that belongs to somebody
 * @owner_uid: uid of the process the row is about
 * @is_guarded: that process is not what ptrace(2) would grant to its user: its three
 *             uids differ, or it is not dumpable
 */
bool access_may_see(const struct call_identity *identity, uint32_t owner_uid, bool is_guarded);

/* Groups that lift an ordinary user, looked up once; ACCESS_NO_GROUP where they do not exist. */
#define ACCESS_NO_GROUP ((gid_t)-1)
struct access_groups {
	gid_t read; /* ingero-read */
};

/** access_groups_find() - the groups of this machine */
struct access_groups access_groups_find(void);

struct ucred; /* of sys/socket.h, with _GNU_SOURCE */
/** access_credentials() - uid, first group and pid at the other end of a connected Unix socket. Return: 0 or -errno */
int access_credentials(int fd, struct ucred *ret_cred);
/**
 * access_identify() - who that is, with all his groups, from the kernel
 * @cred: from access_credentials(); its uid is the peer's own, whoever it may later act for
 * Return: 0 or -errno
 */
int access_identify(int fd, const struct ucred *cred, const struct access_groups *groups,
		    struct call_identity *ret_identity);
/**
 * access_act_for() - the identity of root who acts for a user: sees what that user sees, and no more
 * @identity: root's, from access_identify()
 * @gids:     that user's groups; root's word is taken for them
 */
struct call_identity access_act_for(const struct call_identity *identity, uint32_t uid, const gid_t *gids,
				    size_t n_gids, const struct access_groups *groups);
/** access_grant() - what a user with these groups may see; access_identify() without the socket */
struct call_identity access_grant(uint32_t uid, uint32_t pid, const gid_t *gids, size_t n_gids,
				  const struct access_groups *groups);
