// SPDX-License-Identifier: Apache-2.0
#include "detect/view.h"

#include "base/cleanup.h"
#include "detect/track.h"
#include "events/op.h"

/* Weight of waits that no hook saw: they may be of any class. (Guess.) */
#define UNSEEN_WEIGHT 0.5
/* Factor of confidence for each missing class that would make the result more precise. (Guess.) */
#define UNMEASURED_CONFIDENCE 0.8

static bool is_any(const struct op *op)
{
	(void)op;
	return true;
}

static bool is_of_one_driving(const struct account *account)
{
	return account->is_driving && account->tid && account->wall_ns;
}

struct detector_view view_of(const struct process_memory *p, const struct tick *tick)
{
	struct detector_view view = {
		.from_ns = tick->from_ns,
		.to_ns = tick->to_ns,
		.wall_ns = tick->to_ns > tick->from_ns ? tick->to_ns - tick->from_ns : 1,
		.process = &p->process->identity,
		.first_call_ns = p->first_call_ns,
		.ops = p->in_tick ? p->in_tick->ops.items : NULL,
		.n_ops = p->in_tick ? p->in_tick->ops.n : 0,
		.memory = &p->ops,
		.in_flight = p->in_flight.items,
		.n_in_flight = p->in_flight.n,
		.failed = &p->failed,
		.longest = &p->longest,
		.system = tick->system,
		.oom = p->has_oom ? &p->oom : NULL,
		.measured = tick->measured,
		.is_thinned = tick->losses[LOSS_BUDGET] > 0,
	};

	view.known = p->known;
	view.futexes = p->futexes;
	view.called_ns = p->called_ns;
	view.gap_ns = p->gap_ns;
	view.children = p->children;
	view.n_children = MIN(p->n_children, (size_t)CHILDREN_MAX);
	if (p->in_tick) {
		view.accounts = p->in_tick->accounts.items;
		view.n_accounts = p->in_tick->accounts.n;
		view.waits = p->in_tick->waits.items;
		view.n_waits = p->in_tick->waits.n;
		view.wait_sites = p->in_tick->wait_sites;
		view.is_collected = p->in_tick->is_collected;
	}
	/* The sum of several threads is not the time of one thread. */
	while (view.n_driving < view.n_accounts && is_of_one_driving(&view.accounts[view.n_driving]))
		view.n_driving++;
	view.layer = detector_view_layer(&view, is_any);
	for (size_t i = 0; i < view.n_ops; i++)
		view.is_always_thinned |= view.ops[i].op && view.ops[i].op->tier == OP_TIER_ALWAYS &&
					  !op_figures_is_exact(&view.ops[i].figures);
	for (size_t i = 0; i < view.n_ops; i++) {
		if (!view.ops[i].op || view.ops[i].op->layer != view.layer)
			continue;
		view.calls_ns += view.ops[i].figures.raw_ns;
		view.calls += op_figures_count(&view.ops[i].figures);
	}
	return view;
}

/* Whether another finding has what an operation did since then. */
static bool is_told(const struct process_memory *p, const struct detector *d, const struct condition *c)
{
	for (size_t i = 0; i < p->tracks.n; i++) {
		const struct track *t = p->tracks.items[i];

		if (t->detector != d && !t->detector->takes && t->state != TRACK_GATHERING && t->finding.op == c->op &&
		    t->last_ns > c->start_ns)
			return true;
	}
	return false;
}

size_t view_yield(const struct process_memory *p, const struct detector *d, struct condition *conditions, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_told(p, d, &conditions[i]))
			conditions[kept++] = conditions[i];
	return kept;
}

/* Of everybody, and of the user of the process alone. */
static uint64_t lost_to(const struct detector_view *view, const struct tick *tick, enum loss_reason reason)
{
	uint64_t n = tick->losses[reason];

	for (size_t i = 0; i < tick->user_losses.n; i++)
		if (tick->user_losses.items[i].reason == reason && tick->user_losses.items[i].uid == view->process->uid)
			n += tick->user_losses.items[i].n;
	return n;
}

double view_quality(const struct detector_view *view, const struct tick *tick, uint64_t counted)
{
	uint64_t untimed = 0, not_counted, unseen;
	double quality = 1;

	for (size_t i = 0; i < view->n_ops; i++)
		if (view->ops[i].op && view->ops[i].op->layer == view->layer)
			untimed += view->ops[i].figures.untimed;

	not_counted = lost_to(view, tick, LOSS_PROCESS_SLOTS) + lost_to(view, tick, LOSS_CELLS);
	unseen = lost_to(view, tick, LOSS_SWITCH_UNSEEN);
	if (not_counted)
		quality *= (double)counted / (double)(counted + not_counted);
	if (unseen)
		quality *= 1 - UNSEEN_WEIGHT * (double)MIN(unseen, counted) / (double)MAX(counted, 1);
	if (untimed && view->calls)
		quality *= (double)(view->calls - MIN(untimed, view->calls)) / (double)view->calls;
	return quality;
}

double view_sharpness(const struct detector_view *view, const struct detector *d)
{
	double confidence = 1;

	for (int class = 0; class < BLAME_COUNT; class ++)
		if (d->sharpened_by & MEASURED(class) & ~view->measured)
			confidence *= UNMEASURED_CONFIDENCE;
	return confidence;
}
