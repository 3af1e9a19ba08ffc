// SPDX-License-Identifier: Apache-2.0
#include "rpc/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "events/op.h"
#include "events/source.h"
#include "figures/account_delta.h"
#include "figures/account_message.h"
#include "rpc/answer.h"
#include "rpc/context.h"
#include "rpc/scope.h"
#include "rpc/since.h"

static const char *live_op_name(uint32_t op, void *data)
{
	const struct op *row = op_get(op);

	(void)data;
	return row ? row->name : NULL;
}

static bool caller_may_name_waker(uint32_t uid, bool is_guarded, void *data)
{
	const struct scope *scope = data;

	return answer_may_name(scope->identity, uid, is_guarded);
}

static int accounts_process_add(const struct scope *scope, const struct process_figures *p,
				const struct account_set *set, const struct behind_list *behind, struct arena *arena,
				Ingero__V1__Summary *summary)
{
	struct account_process process = {
		.pid = p->process->identity.tgid,
		.uid = p->process->identity.uid,
		.name = arena_copy_name(arena, process_name(p->process)),
		.program = &p->process->identity.program,
		.accounts = set->accounts.items,
		.n_accounts = set->accounts.n,
		.waits = set->waits.items,
		.n_waits = set->waits.n,
		.all_waits = p->waits.items,
		.n_all_waits = p->waits.n,
		.wait_sites = p->wait_sites,
		.behind = behind->items,
		.n_behind = behind->n,
		.op_name = live_op_name,
		.may_name = caller_may_name_waker,
		.data = (void *)(uintptr_t)scope,
	};

	if (!process.name)
		return -ENOMEM;
	for (size_t i = 0; i < set->accounts.n; i++) {
		Ingero__V1__Account *message = account_to_message(&process, &set->accounts.items[i], arena);

		if (!message)
			return -ENOMEM;
		summary->accounts[summary->n_accounts++] = message;
	}
	return 0;
}

static int account_compare(const void *a, const void *b)
{
	const Ingero__V1__Account *x = *(Ingero__V1__Account *const *)a, *y = *(Ingero__V1__Account *const *)b;

	if (x->is_driving != y->is_driving)
		return x->is_driving ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid != y->tid ? (x->tid - 1 < y->tid - 1 ? -1 : 1)
				: 0; /* the sum of several threads (tid 0) comes last */
}

int answer_accounts(const struct rpc_context *context, const struct scope *scope, const struct since *since,
		    struct arena *arena, Ingero__V1__Summary *summary)
{
	uint64_t now_ns = context->capture->source->ops->now_ns(context->capture->source);
	uint64_t window_ns = now_ns - (since ? since->since_ns : context->capture->source_started_ns);
	const struct process_figures *p;
	const struct since_process *then;
	size_t room = 0;

	for (size_t i = 0; i < figures_count(context->capture->figures); i++)
		room += figures_get(context->capture->figures, i)->accounts.n;
	summary->accounts = ARENA_NEW_N(arena, Ingero__V1__Account *, room ? room : 1);
	if (!summary->accounts)
		return -ENOMEM;

	for (size_t i = 0; (p = since_next(context->capture->figures, scope, since, &i, &then));) {
		struct account_set set = ACCOUNT_SET_INIT;
		struct behind_list behind = { .n = 0 };
		int r;

		if (!p->accounts.n)
			continue;
		r = account_set_since(p->accounts.items, p->accounts.n, p->waits.items, p->waits.n,
				      then ? &then->accounts : NULL, window_ns, &set);
		if (r == 0)
			r = behind_since(&p->behind, then ? &then->behind : NULL, &behind);
		if (r == 0)
			r = accounts_process_add(scope, p, &set, &behind, arena, summary);
		ARRAY_DONE(&behind);
		account_set_done(&set);
		if (r < 0)
			return r;
	}
	if (summary->n_accounts)
		qsort(summary->accounts, summary->n_accounts, sizeof(*summary->accounts), account_compare);
	return 0;
}
