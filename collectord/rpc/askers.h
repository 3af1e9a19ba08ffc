// SPDX-License-Identifier: Apache-2.0
/*
 * Users for whom processes answer questions: such a process is named to users who waited for it, and its time is
 * charged to its user.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rpc/cpu_budget.h"

#define ASKERS_MAX 256			  /* many more than run at once: those of the last seconds */
#define ASKER_KNOWN_NS (2 * NSEC_PER_SEC) /* time after its end: a wait for it may be read so late */

struct asker {
	uint32_t pid; /* 0: none */
	uint32_t uid;
	uint64_t charged_ns;
	uint64_t gone_ns; /* 0: it runs */
};

struct askers {
	struct cpu_budget budget;
	struct asker items[ASKERS_MAX];
};

/** askers_begin() - this process works for this user from now on */
void askers_begin(struct askers *askers, uint32_t pid, uint32_t uid);
/** askers_charge() - charge the CPU time that it has used since it began */
void askers_charge(struct askers *askers, uint32_t pid, uint64_t cpu_ns, uint64_t now_ns);
/** askers_gone() - charge it for the last time; its pid may be reused */
void askers_gone(struct askers *askers, uint32_t pid, uint64_t cpu_ns, uint64_t now_ns);
/**
 * askers_find() - user for whom a process works, or did until a moment ago
 * @is_named_so: it has the name of such a process: a process with a reused pid has not
 */
bool askers_find(const struct askers *askers, uint32_t pid, bool is_named_so, uint64_t now_ns, uint32_t *ret_uid);
