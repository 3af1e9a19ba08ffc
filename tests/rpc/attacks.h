// SPDX-License-Identifier: Apache-2.0
/*
 * What a hostile client does, one row each, round after round until it is ended.
 */
#pragma once

#include <stddef.h>

#include "tests/support/tenants.h"

struct attack {
	const char *name;
	void (*round)(void); /* in a process of the attacker's own; keeps what it holds from round to round */
	unsigned int rounds; /* after which it has done what it can do */
};

extern const struct attack attacks[];
extern const size_t n_attacks;

/** attack_start() - as that user, against that daemon. @ret_done: readable when all rounds were done; it goes on */
pid_t attack_start(const struct attack *attack, const struct tenants *tenants, enum tenant_id id, int *ret_done);
void attack_stop(pid_t pid, int done);
