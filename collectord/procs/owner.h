// SPDX-License-Identifier: Apache-2.0
/* The owner of a process by /proc. bpf/credentials.h decides the same in the kernel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procs/procfs.h"

#define OWNER_NOBODY UINT32_MAX /* no user: for leases and scopes */

struct owner {
	uint32_t uid;	 /* real uid */
	bool is_guarded; /* belongs to root, not to its user: ptrace(2) would refuse a user without capabilities */
};

/** owner_of() - owner of the process of a directory handle, now; unreadable data makes it guarded */
struct owner owner_of(int process_fd, const struct procfs_status *status);
/** owner_read() - the same with its status. Return: 0 or -errno */
int owner_read(int process_fd, struct owner *ret_owner);
/** owner_uid() - the user who may inspect it, OWNER_NOBODY if only root may */
static inline uint32_t owner_uid(const struct owner *owner)
{
	return owner->is_guarded ? OWNER_NOBODY : owner->uid;
}
