// SPDX-License-Identifier: Apache-2.0
#include "rpc/since.h"

#include <errno.h>
#include <stdlib.h>

#include "events/op.h"
#include "events/source.h"
#include "probes/probe_set.h"
#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/cost.h"

static int process_since_take(const struct process_figures *p, struct since *since, size_t i)
{
	since->processes[i].id = p->id;
	since->n_processes = i + 1;

	for (size_t k = 0; k < p->ops.used.n; k++) {
		const struct op_used *used = p->ops.used.items[k];
		int r = op_list_copy(&since->processes[i].ops, used->id, &used->figures);

		if (r < 0)
			return r;
	}
	for (size_t k = 0; k < p->behind.n; k++) {
		int r = ARRAY_PUSH(&since->processes[i].behind, p->behind.items[k]);

		if (r < 0)
			return r;
	}
	return 0;
}

int since_take(const struct rpc_context *context, const struct call_identity *identity, struct since *ret_since)
{
	struct source *source = context->source;
	struct since since = { .since_ns = source->ops->now_ns(source), .daemon_cpu_ns = cost_daemon_cpu_ns() };
	size_t n = figures_count(context->figures);

	since.processes = n ? calloc(n, sizeof(*since.processes)) : NULL;
	if (n && !since.processes)
		return -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		const struct process_figures *p = figures_get(context->figures, i);
		int r;

		/* What is never told needs no room: there may be a hundred such calls, of somebody who sees little. */
		if (!access_may_see(identity, p->uid, p->flags & PROCESS_GUARDED))
			continue;
		r = process_since_take(p, &since, since.n_processes);
		if (r < 0) {
			since_done(&since);
			return r;
		}
	}
	source->ops->losses(source, since.losses);
	since.refused = source->ops->refused(source);
	if (context->probes)
		since.bystander_calls = probe_set_bystander_calls(context->probes);
	*ret_since = since;
	return 0;
}

void since_done(struct since *since)
{
	for (size_t i = 0; i < since->n_processes; i++) {
		op_list_done(&since->processes[i].ops);
		ARRAY_DONE(&since->processes[i].behind);
	}
	free(since->processes);
	*since = (struct since){ .processes = NULL };
}

const struct since_process *since_find(const struct since *since, uint64_t id)
{
	for (size_t i = 0; since && i < since->n_processes; i++)
		if (since->processes[i].id == id)
			return &since->processes[i];
	return NULL;
}

const struct op_figures *since_op(const struct since_process *then, uint32_t op)
{
	return then ? op_list_find(&then->ops, op) : NULL;
}

int since_op_figures(const struct op_used *now, const struct since_process *then, struct op_figures *ret,
		     bool *ret_owned)
{
	const struct op_figures *before = since_op(then, now->id);
	int r;

	if (!before) {
		*ret = now->figures;
		*ret_owned = false;
		return 0;
	}
	r = op_figures_copy(&now->figures, ret);
	if (r < 0)
		return r;
	op_figures_subtract(ret, before);
	*ret_owned = true;
	return 0;
}

uint64_t since_op_calls(const struct op_used *now, const struct since_process *then)
{
	const struct op_figures *before;

	if (!op_is_call(op_get(now->id)))
		return 0;
	before = since_op(then, now->id);
	return op_figures_count(&now->figures) - (before ? op_figures_count(before) : 0);
}

uint64_t since_calls(const struct process_figures *p, const struct since *since, uint32_t first)
{
	const struct since_process *then = since_find(since, p->id);
	uint64_t calls = 0;

	for (size_t i = 0; i < p->ops.used.n; i++)
		if (p->ops.used.items[i]->id >= first)
			calls += since_op_calls(p->ops.used.items[i], then);
	return calls;
}
