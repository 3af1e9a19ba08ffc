// SPDX-License-Identifier: Apache-2.0
/*
 * Whose a process is: by what /proc says, the question that bpf/credentials.h answers in the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procs/procfs.h"

#define OWNER_NOBODY UINT32_MAX /* no user's, as leases and scopes have it */

struct owner {
	uint32_t uid;	 /* real */
	bool is_guarded; /* root's to look into, not its user's: what ptrace(2) would refuse to a user without
			    capabilities */
};

/** owner_of() - of the process of a directory handle, now; whatever cannot be read makes it guarded */
struct owner owner_of(int process_fd, const struct procfs_status *status);
/** owner_read() - the same with its status. Return: 0 or -errno */
int owner_read(int process_fd, struct owner *ret_owner);
/** owner_uid() - the user who may look into it, OWNER_NOBODY where that is root alone */
static inline uint32_t owner_uid(const struct owner *owner)
{
	return owner->is_guarded ? OWNER_NOBODY : owner->uid;
}
