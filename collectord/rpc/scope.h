// SPDX-License-Identifier: Apache-2.0
/*
 * Whom an answer is about.
 */
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

/** scope_sees() - whether a process is among the identity's, and the pids; the lease is not looked at */
bool scope_sees(const struct scope *scope, uint32_t tgid, uint32_t uid, bool is_guarded);
/** scope_sees_process() - the same of one that has figures, and the lease has to cover it */
bool scope_sees_process(const struct scope *scope, const struct process_figures *process);
