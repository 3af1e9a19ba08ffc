// SPDX-License-Identifier: Apache-2.0
#include "rpc/since.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "events/op.h"
#include "events/source.h"
#include "probes/probe_set.h"
#include "rpc/access.h"
#include "rpc/call.h"
#include "rpc/context.h"
#include "rpc/cost.h"
#include "rpc/scope.h"

int since_behind(struct since_process *then, const struct process_figures *now)
{
	struct behind_list behind;
	int r = behind_copy(&now->behind, &behind);

	if (r < 0)
		return r;
	ARRAY_DONE(&then->behind);
	then->behind = behind;
	return 0;
}

int since_accounts(struct since_process *then, const struct process_figures *now)
{
	struct account_moment moment;
	int r = account_moment_take(now->accounts.items, now->accounts.n, now->waits.items, now->waits.n, &moment);

	if (r < 0)
		return r;
	account_moment_done(&then->accounts);
	then->accounts = moment;
	return 0;
}

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
	if (since_behind(&since->processes[i], p) < 0)
		return -ENOMEM;
	return since_accounts(&since->processes[i], p);
}

void since_losses(const struct rpc_context *context, const struct call_identity *identity,
		  uint64_t ret_losses[LOSS_COUNT])
{
	const struct source *source = context->capture->source;

	source->ops->losses(source, ret_losses);
	if (source->ops->user_losses)
		source->ops->user_losses(source, identity->can_read_all ? UINT32_MAX : identity->uid, ret_losses);
}

void since_restart(struct since *since, const struct rpc_context *context, const struct call_identity *identity)
{
	struct source *source = context->capture->source;

	since->since_ns = source->ops->now_ns(source);
	since->daemon_cpu_ns = cost_daemon_cpu_ns();
	since_losses(context, identity, since->losses);
	since->refused = source->ops->refused(source);
	if (context->capture->probes)
		since->bystander_calls = probe_set_bystander_calls(context->capture->probes);
}

size_t since_bytes(const struct since *since)
{
	size_t n = since->n_processes * sizeof(*since->processes);

	for (size_t i = 0; i < since->n_processes; i++) {
		const struct since_process *p = &since->processes[i];

		n += op_list_bytes(&p->ops) + p->behind.room * sizeof(*p->behind.items) +
		     account_moment_bytes(&p->accounts);
	}
	return n;
}

int since_take(const struct rpc_context *context, const struct call_identity *identity, struct since *ret_since)
{
	struct since since = { .processes = NULL };
	size_t n = figures_count(context->capture->figures);

	since.processes = n ? calloc(n, sizeof(*since.processes)) : NULL;
	if (n && !since.processes)
		return -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		const struct process_figures *p = figures_get(context->capture->figures, i);
		int r;

		/*
		 * Processes that ended or that the caller may not see are skipped: there may be a hundred such calls,
		 * and ten thousand processes that are gone.
		 */
		if (p->gone_ns || !access_may_see(identity, p->process->identity.uid, process_is_guarded(p->process)))
			continue;
		r = process_since_take(p, &since, since.n_processes);
		if (r < 0) {
			since_done(&since);
			return r;
		}
	}
	since_restart(&since, context, identity);
	since.watched_ns = since.since_ns;
	since.bytes = since_bytes(&since);
	*ret_since = since;
	return 0;
}

static void process_done(struct since_process *p)
{
	op_list_done(&p->ops);
	ARRAY_DONE(&p->behind);
	account_moment_done(&p->accounts);
}

void since_done(struct since *since)
{
	for (size_t i = 0; i < since->n_processes; i++)
		process_done(&since->processes[i]);
	free(since->processes);
	*since = (struct since){ .processes = NULL };
}

/* Return: index of the first entry with an id of at least @id */
static size_t since_place(const struct since *since, uint64_t id)
{
	return SORTED_PLACE(since->n_processes, i, since->processes[i].id < id);
}

const struct since_process *since_find(const struct since *since, uint64_t id)
{
	size_t place = since ? since_place(since, id) : 0;

	return since && place < since->n_processes && since->processes[place].id == id ? &since->processes[place]
										       : NULL;
}

/* Whether a process had ended by then: nothing of it is remembered, since its figures no longer change. */
static bool is_over(const struct since *since, const struct process_figures *process)
{
	return since && process->gone_ns && process->gone_ns <= since->since_ns &&
	       process->first_call_ns < since->since_ns && !since_find(since, process->id);
}

const struct process_figures *since_next(const struct figures *figures, const struct scope *scope,
					 const struct since *since, size_t *i, const struct since_process **ret_then)
{
	while (*i < figures_count(figures)) {
		const struct process_figures *p = figures_get(figures, (*i)++);

		if (!scope_sees_process(scope, p) || is_over(since, p))
			continue;
		*ret_then = since_find(since, p->id);
		return p;
	}
	return NULL;
}

struct since_process *since_note(struct since *since, uint64_t id)
{
	size_t place = since_place(since, id);
	struct since_process *grown;

	if (place < since->n_processes && since->processes[place].id == id)
		return &since->processes[place];
	grown = reallocarray(since->processes, since->n_processes + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	since->processes = grown;
	memmove(grown + place + 1, grown + place, (since->n_processes++ - place) * sizeof(*grown));
	grown[place] = (struct since_process){ .id = id };
	return &grown[place];
}

void since_forget(struct since *since, uint64_t id)
{
	size_t place = since_place(since, id);

	if (place == since->n_processes || since->processes[place].id != id)
		return;
	process_done(&since->processes[place]);
	memmove(since->processes + place, since->processes + place + 1,
		(--since->n_processes - place) * sizeof(*since->processes));
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
	return op_figures_seen(&now->figures) - (before ? op_figures_seen(before) : 0);
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
