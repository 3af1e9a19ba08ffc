// SPDX-License-Identifier: Apache-2.0
/* Processes that an answer is about. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_identity;
struct lease;
struct process_figures;

struct scope {
	const struct call_identity *identity;
	const struct lease *lease; /* NULL: everything the identity may see */
	const uint32_t *pids;	   /* besides, only these; NULL: all */
	size_t n_pids;
};

/** scope_sees() - whether a process is the identity's, and among the pids; the lease is ignored */
bool scope_sees(const struct scope *scope, uint32_t tgid, uint32_t uid, bool is_guarded);
/** scope_sees_process() - the same for a process with figures, which the lease has to cover, too */
bool scope_sees_process(const struct scope *scope, const struct process_figures *process);
