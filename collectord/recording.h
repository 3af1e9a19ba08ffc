// SPDX-License-Identifier: Apache-2.0
/*
 * Whose calls are captured though nobody asks: as the configuration says, by a lease of the daemon's own.
 */
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
	bool record_all; /* single calls: every one; default: slow ones and a sample */
	bool record_none;
};

struct recording {
	struct recording_wish wish;	 /* what the configuration says, for when the probes are there */
	struct lease *lease;		 /* NULL: only what callers ask for is captured */
	char whom[RECORDING_WHOM_BYTES]; /* whom the configuration names, for people */
	char now[RECORDING_WHOM_BYTES];	 /* whom the lease names */
};

/** recording_init() - of nobody, and nobody is wished for */
void recording_init(struct recording *recording);
/** recording_is_wished() - whether anybody is to be recorded unasked */
bool recording_is_wished(const struct recording_wish *wish);
/** recording_wish() - whom the configuration names: captured once that is applied. uids live until the next */
void recording_wish(struct recording *recording, const struct recording_wish *wish);
/**
 * recording_apply() - capture whom it names from now on
 * Every process is looked at, which takes as long as half of the loading of probes. Return: 0, or -errno with all as it
 * was
 */
int recording_apply(struct recording *recording, struct lease_set *leases, struct target_set *targets);
/** recording_end() - before the leases */
void recording_end(struct recording *recording, struct lease_set *leases);
