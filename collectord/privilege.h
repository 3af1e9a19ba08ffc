// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

struct privilege_need {
	bool late_perf; /* perf events are opened later, which needs CAP_SYS_ADMIN */
	bool continues; /* processes of any user and session are continued after a hold */
	bool nothing;	/* nothing is captured: no capability at all */
};

/**
 * privilege_refuse_rings() - refuse io_uring from here on, and privileges by exec
 * Before the first event loop: libuv 1.45 and newer opens a ring for each loop if it can, and aborts when the ring is
 * refused later.
 * Return: 0 or -errno
 */
int privilege_refuse_rings(void);
/**
 * privilege_seal() - give up every capability but those of the service, and system calls that it has no use for
 * For ever, for all threads, and for children, which get none of the capabilities.
 * Return: 0 or -errno
 */
int privilege_seal(const struct privilege_need *need);
/**
 * privilege_leave() - become a user for good, without any capability, untraceable for that user
 * @whom: "UID:GID:PARENT"; PARENT: the process with whose end this one ends
 * Return: 0; -EINVAL; -ESRCH: the parent has ended; -errno
 */
int privilege_leave(const char *whom);
/**
 * privilege_become() - become this user and keep every capability until privilege_seal(), for all threads
 * @file: a file for the user below a directory that only root can make; NULL: none
 * Return: 0; -ENOENT: no such user; -EPERM: not root; -errno
 */
int privilege_become(const char *user, const char *file);
