// SPDX-License-Identifier: Apache-2.0
#include "figures/tick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/account_book.h"
#include "figures/wait_book.h"

struct ticker {
	uint64_t at_ns;
	uint64_t losses[LOSS_COUNT];
};

/* ---- ticks ---- */

static void tick_process_done(struct tick_process *p)
{
	for (size_t i = 0; i < p->ops.n; i++)
		op_figures_done(&p->ops.items[i].figures);
	for (size_t i = 0; i < p->host.n; i++)
		op_figures_done(&p->host.items[i].figures);
	ARRAY_DONE(&p->ops);
	ARRAY_DONE(&p->host);
	ARRAY_DONE(&p->behind);
	for (size_t i = 0; i < p->accounts.n; i++)
		ARRAY_DONE(&p->accounts.items[i].parts);
	ARRAY_DONE(&p->accounts);
	ARRAY_DONE(&p->waits);
}

void tick_done(struct tick *tick)
{
	for (size_t i = 0; i < tick->processes.n; i++)
		tick_process_done(&tick->processes.items[i]);
	ARRAY_DONE(&tick->processes);
	ARRAY_DONE(&tick->lates);
	ARRAY_DONE(&tick->user_losses);
}

int ticker_new(struct ticker **ret_ticker)
{
	struct ticker *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret_ticker = t;
	return 0;
}

void ticker_free(struct ticker *t)
{
	free(t);
}

/* ---- the difference ---- */

static int op_take(const struct op_used *now, const struct figures_taken *before, uint64_t from_ns,
		   struct tick_process *process)
{
	const struct op_figures *then = before ? op_list_find(&before->ops, now->id) : NULL;
	struct tick_op fresh = { .op = op_get(now->id) };
	int r;

	if (then && op_figures_is_same(&now->figures, then) && !now->recent_ns)
		return 0;
	r = op_figures_copy(&now->figures, &fresh.figures);
	if (r < 0)
		return r;
	if (then)
		op_figures_subtract(&fresh.figures, then);
	fresh.figures.max_ns = now->recent_ns;
	figures_set_error(&fresh.figures, process->process, now->id, from_ns);
	r = op_is_call(fresh.op) ? ARRAY_PUSH(&process->ops, fresh) : ARRAY_PUSH(&process->host, fresh);
	if (r < 0)
		op_figures_done(&fresh.figures);
	return r;
}

static int accounts_take(const struct process_figures *now, struct tick_process *process)
{
	struct account_list list = { .n = 0 };
	int r = now->taken && now->taken->book ? account_book_tick(now->taken->book, &list) : 0;

	process->accounts.items = list.items;
	process->accounts.n = list.n;
	process->accounts.room = list.room;
	return r;
}

/* After the accounts: waits are listed for the threads that have an account there. */
static int waits_take(const struct process_figures *now, struct tick_process *process)
{
	struct wait_list list = { .n = 0 };
	int r = 0;

	if (now->taken && now->taken->wait_book)
		r = wait_book_tick(now->taken->wait_book, process->accounts.items, process->accounts.n, &list);
	process->waits.items = list.items;
	process->waits.n = list.n;
	process->waits.room = list.room;
	return r;
}

/* A process without any figures is reported only when it is first seen and when it ends. */
static bool has_figures(const struct tick_process *p)
{
	return p->ops.n || p->host.n || p->behind.n || p->accounts.n || p->waits.n;
}

static int tick_process_take(const struct process_figures *now, struct tick *tick)
{
	struct tick_process process = { .process = now->process,
					.first_call_ns = now->first_call_ns,
					.gone_ns = now->gone_ns,
					.wait_sites = now->wait_sites };
	int r = 0;

	if (now->was_gone)
		return 0; /* figures of a process that is gone no longer grow */
	for (size_t i = 0; i < now->ops.used.n && r == 0; i++)
		r = op_take(now->ops.used.items[i], now->taken, tick->from_ns, &process);
	if (r == 0)
		r = behind_since(&now->behind, now->taken ? &now->taken->behind : NULL, &process.behind);
	if (r == 0)
		r = accounts_take(now, &process);
	if (r == 0)
		r = waits_take(now, &process);
	if (r == 0 && (has_figures(&process) || !now->was_told || now->gone_ns))
		r = ARRAY_PUSH(&tick->processes, process);
	else
		tick_process_done(&process);
	if (r < 0)
		tick_process_done(&process);
	return r;
}

/* ---- what the next tick subtracts ---- */

/*
 * Copies of the changed figures and entries for them, all allocated before anything is exchanged: a take succeeds as a
 * whole or changes nothing. The entry added by a failed take has no calls yet, which is correct.
 */
static int taken_prepare(struct process_figures *now, struct figures_taken *next)
{
	int r = 0;

	if (!now->taken)
		now->taken = calloc(1, sizeof(*now->taken));
	if (!now->taken)
		return -ENOMEM;
	for (size_t i = 0; i < now->ops.used.n && r == 0; i++) {
		const struct op_used *used = now->ops.used.items[i];
		const struct op_figures *then = op_list_find(&now->taken->ops, used->id);

		if (then && op_figures_is_same(&used->figures, then))
			continue;
		r = op_list_take(&now->taken->ops, used->id) ? op_list_copy(&next->ops, used->id, &used->figures)
							     : -ENOMEM;
	}
	return r ? r : behind_copy(&now->behind, &next->behind);
}

/* @next: NULL if the process is gone */
static void taken_exchange(struct process_figures *now, struct figures_taken *next)
{
	now->was_told = true;
	now->was_gone = !next;
	if (!next) {
		figures_finish(now);
		return;
	}
	for (size_t i = 0; i < next->ops.used.n; i++) {
		struct op_used *used = next->ops.used.items[i], *mine = op_list_take(&now->taken->ops, used->id);
		struct op_figures old = mine->figures; /* taken_prepare() has added its entry */

		mine->figures = used->figures;
		used->figures = old;
	}
	ARRAY_DONE(&now->taken->behind);
	now->taken->behind = next->behind;
	next->behind = (struct behind_list){ .n = 0 };
}

void ticker_begin(struct ticker *t, uint64_t now_ns, const uint64_t losses[LOSS_COUNT])
{
	t->at_ns = now_ns;
	memcpy(t->losses, losses, sizeof(t->losses));
}

int ticker_take(struct ticker *t, struct figures *figures, uint64_t now_ns, const uint64_t losses[LOSS_COUNT],
		struct tick *ret_tick)
{
	struct tick tick = { .from_ns = t->at_ns ? t->at_ns : now_ns, .to_ns = now_ns };
	ARRAY(struct figures_taken *) next = { .items = NULL };
	int r = 0;

	for (size_t i = 0; i < figures_count(figures) && r == 0; i++) {
		struct process_figures *now = figures_get(figures, i);
		struct figures_taken *fresh = now->gone_ns ? NULL : calloc(1, sizeof(*fresh));

		r = fresh || now->gone_ns ? ARRAY_PUSH(&next, fresh) : -ENOMEM;
		if (r < 0)
			free(fresh);
		if (r == 0 && fresh)
			r = taken_prepare(now, fresh);
		if (r == 0)
			r = tick_process_take(now, &tick);
	}
	if (r == 0) {
		for (size_t i = 0; i < next.n; i++)
			taken_exchange(figures_get(figures, i), next.items[i]);
		figures_restart_max(figures);
		figures_accounts_taken(figures);
		for (int i = 0; i < LOSS_COUNT; i++) {
			tick.losses[i] = losses[i] - t->losses[i];
			t->losses[i] = losses[i];
		}
		t->at_ns = now_ns;
		*ret_tick = tick;
	} else {
		tick_done(&tick);
	}
	for (size_t i = 0; i < next.n; i++)
		figures_taken_free(next.items[i]);
	ARRAY_DONE(&next);
	return r;
}
