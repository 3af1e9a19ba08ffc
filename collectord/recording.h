// SPDX-License-Identifier: Apache-2.0
/* Recording without a trace: a lease of the daemon's own for the users that the configuration names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lease;
struct lease_set;
struct target_set;

#define RECORDING_WHOM_BYTES 32

struct recording_wish {
	bool everyone;
	const uint32_t *uids; /* or these users' */
	size_t n_uids;
	bool record_all; /* every single call; default: slow ones and a sample */
	bool record_none;
	bool without_stacks; /* of the recorded calls */
};

struct recording {
	struct recording_wish wish;	 /* the configuration, for when the probes are loaded */
	struct lease *lease;		 /* NULL: only requested processes are captured */
	char whom[RECORDING_WHOM_BYTES]; /* users that the configuration names, as text */
	char now[RECORDING_WHOM_BYTES];	 /* users that the lease names */
};

/** recording_init() - no users, no lease */
void recording_init(struct recording *recording);
/** recording_is_wished() - whether the configuration names any user */
bool recording_is_wished(const struct recording_wish *wish);
/**
 * recording_wish() - set the users of the configuration; recording_apply() captures them. uids live until the next call
 */
void recording_wish(struct recording *recording, const struct recording_wish *wish);
/**
 * recording_apply() - capture the configured users from now on
 * Every process is scanned, which takes half as long as loading the probes. Return: 0, or -errno with everything
 * unchanged
 */
int recording_apply(struct recording *recording, struct lease_set *leases, struct target_set *targets);
/** recording_end() - end the lease, before the table of leases */
void recording_end(struct recording *recording, struct lease_set *leases);
