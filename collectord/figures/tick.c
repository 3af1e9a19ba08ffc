// SPDX-License-Identifier: Apache-2.0
#include "figures/tick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"

/* What a process had at the last take. */
struct taken_process {
	uint64_t id;
	bool was_told; /* in a tick: from its first sight on it is known */
	bool was_gone;
	struct op_list ops;
	ARRAY(struct behind_figures) behind;
};

struct ticker {
	ARRAY(struct taken_process *) taken; /* by id, as figures are */
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
}

void tick_done(struct tick *tick)
{
	for (size_t i = 0; i < tick->processes.n; i++)
		tick_process_done(&tick->processes.items[i]);
	ARRAY_DONE(&tick->processes);
}

/* ---- what was there before ---- */

static void taken_free(struct taken_process *p)
{
	op_list_done(&p->ops);
	ARRAY_DONE(&p->behind);
	free(p);
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
	if (!t)
		return;
	for (size_t i = 0; i < t->taken.n; i++)
		taken_free(t->taken.items[i]);
	ARRAY_DONE(&t->taken);
	free(t);
}

/*
 * One record for each process that figures still know, in their order; those of
 * forgotten ones go. Figures only ever grow at the end and lose elements in between.
 */
static int taken_align(struct ticker *t, const struct figures *figures)
{
	size_t n_kept = 0, at = 0;

	for (size_t i = 0; i < t->taken.n; i++) {
		struct taken_process *p = t->taken.items[i];

		while (at < figures_count(figures) && figures_get(figures, at)->id < p->id)
			at++;
		if (at < figures_count(figures) && figures_get(figures, at)->id == p->id)
			t->taken.items[n_kept++] = p;
		else
			taken_free(p);
	}
	t->taken.n = n_kept;

	for (size_t i = n_kept; i < figures_count(figures); i++) {
		struct taken_process *p = calloc(1, sizeof(*p));
		int r = p ? ARRAY_PUSH(&t->taken, p) : -ENOMEM;

		if (r < 0) {
			free(p);
			return r;
		}
		p->id = figures_get(figures, i)->id;
	}
	return 0;
}

/* ---- the difference ---- */

static int op_take(const struct op_used *now, const struct taken_process *before, struct tick_process *process)
{
	const struct op_figures *then = op_list_find(&before->ops, now->id);
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
	r = op_is_call(fresh.op) ? ARRAY_PUSH(&process->ops, fresh) : ARRAY_PUSH(&process->host, fresh);
	if (r < 0)
		op_figures_done(&fresh.figures);
	return r;
}

static int behind_take(const struct process_figures *now, const struct taken_process *before,
		       struct tick_process *process)
{
	for (size_t i = 0; i < now->behind.n; i++) {
		const struct behind_figures *b = &now->behind.items[i];
		/* Entries of a process are only added, so the same one is at the same place. */
		uint64_t then_ns = i < before->behind.n ? before->behind.items[i].ns : 0;
		struct tick_behind fresh = { .ns = b->ns - then_ns, .tgid = b->tgid, .uid = b->uid };
		int r;

		if (!fresh.ns)
			continue;
		memcpy(fresh.comm, b->comm, sizeof(fresh.comm));
		r = ARRAY_PUSH(&process->behind, fresh);
		if (r < 0)
			return r;
	}
	return 0;
}

static int process_take(const struct process_figures *now, const struct taken_process *before, struct tick *tick)
{
	struct tick_process process = {
		.identity = {
			.start_boot_ns = now->start_boot_ns,
			.start_unix_ns = now->start_unix_ns,
			.tgid = now->tgid,
			.uid = now->uid,
			.exec_gen = now->exec_gen,
			.flags = now->flags,
		},
		.first_call_ns = now->first_call_ns,
		.gone_ns = now->gone_ns,
	};
	int r = 0;

	if (before->was_gone)
		return 0; /* nothing is added any more */
	memcpy(process.identity.comm, now->comm, sizeof(process.identity.comm));
	for (size_t i = 0; i < now->ops.used.n && r == 0; i++)
		r = op_take(now->ops.used.items[i], before, &process);
	if (r == 0)
		r = behind_take(now, before, &process);
	if (r == 0 && (process.ops.n || process.host.n || process.behind.n || !before->was_told || now->gone_ns))
		r = ARRAY_PUSH(&tick->processes, process);
	else
		tick_process_done(&process);
	if (r < 0)
		tick_process_done(&process);
	return r;
}

/* ---- what will be there before ---- */

/*
 * Copies of what changed and places for them, made before anything is exchanged: a take is whole or was not.
 * A place made for a take that failed says that nothing was called yet, as is true.
 */
static int taken_prepare(const struct process_figures *now, struct taken_process *before, struct taken_process *next)
{
	int r = 0;

	next->id = now->id;
	next->was_told = true;
	next->was_gone = now->gone_ns != 0;
	for (size_t i = 0; i < now->ops.used.n && r == 0 && !next->was_gone; i++) {
		const struct op_used *used = now->ops.used.items[i];
		const struct op_figures *then = op_list_find(&before->ops, used->id);

		if (then && op_figures_is_same(&used->figures, then))
			continue;
		r = op_list_take(&before->ops, used->id) ? op_list_copy(&next->ops, used->id, &used->figures) : -ENOMEM;
	}
	for (size_t i = 0; i < now->behind.n && r == 0 && !next->was_gone; i++)
		r = ARRAY_PUSH(&next->behind, now->behind.items[i]);
	return r;
}

static void taken_exchange(struct taken_process *before, struct taken_process *next)
{
	if (next->was_gone)
		op_list_done(&before->ops);
	for (size_t i = 0; i < next->ops.used.n; i++) {
		struct op_used *used = next->ops.used.items[i], *mine = op_list_take(&before->ops, used->id);
		struct op_figures old = mine->figures; /* taken_prepare() has made its place */

		mine->figures = used->figures;
		used->figures = old;
	}
	ARRAY_DONE(&before->behind);
	before->behind.items = TAKE_PTR(next->behind.items);
	before->behind.n = next->behind.n;
	before->behind.room = next->behind.room;
	before->was_told = next->was_told;
	before->was_gone = next->was_gone;
}

void ticker_begin(struct ticker *t, uint64_t now_ns)
{
	t->at_ns = now_ns;
}

int ticker_take(struct ticker *t, struct figures *figures, uint64_t now_ns, const uint64_t losses[LOSS_COUNT],
		struct tick *ret_tick)
{
	struct tick tick = { .from_ns = t->at_ns ? t->at_ns : now_ns, .to_ns = now_ns };
	ARRAY(struct taken_process *) next = { .items = NULL };
	int r = taken_align(t, figures);

	for (size_t i = 0; i < t->taken.n && r == 0; i++) {
		const struct process_figures *now = figures_get(figures, i);
		struct taken_process *fresh = calloc(1, sizeof(*fresh));

		r = fresh ? ARRAY_PUSH(&next, fresh) : -ENOMEM;
		if (r < 0)
			free(fresh);
		if (r == 0)
			r = taken_prepare(now, t->taken.items[i], fresh);
		if (r == 0)
			r = process_take(now, t->taken.items[i], &tick);
	}
	if (r == 0) {
		for (size_t i = 0; i < next.n; i++)
			taken_exchange(t->taken.items[i], next.items[i]);
		figures_restart_max(figures);
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
		taken_free(next.items[i]);
	ARRAY_DONE(&next);
	return r;
}
