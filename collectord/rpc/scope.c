// SPDX-License-Identifier: Apache-2.0
#include "rpc/scope.h"

#include "figures/figures.h"
#include "probes/lease.h"
#include "rpc/access.h"

bool scope_sees(const struct scope *scope, uint32_t tgid, uint32_t uid, bool is_guarded)
{
	if (!access_may_see(scope->identity, uid, is_guarded))
		return false;
	if (!scope->pids)
		return true;
	for (size_t i = 0; i < scope->n_pids; i++)
		if (scope->pids[i] == tgid)
			return true;
	return false;
}

bool scope_sees_process(const struct scope *scope, const struct process_figures *p)
{
	const struct process_identity *who = &p->process->identity;

	if (scope->lease && !lease_covers(scope->lease, who->tgid, who->uid, who->start_boot_ns))
		return false;
	return scope_sees(scope, who->tgid, who->uid, process_is_guarded(p->process));
}
