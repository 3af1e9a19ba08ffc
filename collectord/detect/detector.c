// SPDX-License-Identifier: Apache-2.0
#include "detect/detector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/examine.h"
#include "base/process_name.h"
#include "base/utf8.h"
#include "events/op.h"
#include "files/file_path.h"

/* Factor of confidence if the least loss is less than half of the greatest loss. (Guess.) */
#define HIDDEN_CONFIDENCE 0.7
/* Of a name in a headline: a script, " rank " and a number. */
#define NAME_BYTES_MOST (PROGRAM_SCRIPT_BYTES - 1 + 16)
/* After this long without calls a process is idle. (Guess.) */
#define DEMAND_NS (10 * NSEC_PER_SEC)

#define DETECTOR(name) [DETECTOR_NUMBER_##name] = &detector_##name,
static const struct detector *const detectors[DETECTOR_COUNT] = {
#include "detect/list.h"
};
#undef DETECTOR

const struct detector *detector_get(enum detector_number number)
{
	return detectors[number];
}

const struct detector *detector_find(const char *name)
{
	for (size_t i = 0; i < DETECTOR_COUNT; i++)
		if (strcmp(detectors[i]->name, name) == 0)
			return detectors[i];
	return NULL;
}

/* ---- input of a detector ---- */

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t op_memory_usual(const struct op_memory *m)
{
	uint64_t sorted[USUAL_TICKS];
	size_t n = MIN(m->n_usual, (uint32_t)USUAL_TICKS);

	if (!n)
		return 0;
	memcpy(sorted, m->usual_ns, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), u64_compare);
	return sorted[(n - 1) / 2];
}

const struct op_memory *detector_view_memory(const struct detector_view *view, const struct op *op)
{
	for (size_t i = 0; i < view->memory->n; i++)
		if (view->memory->items[i].op == op)
			return &view->memory->items[i];
	return NULL;
}

bool detector_view_is_examined(const struct detector_view *view)
{
	return view->to_ns >= view->first_call_ns + EXAMINE_FROM_S * NSEC_PER_SEC;
}

bool detector_view_is_busy(const struct detector_view *view)
{
	return view->to_ns <= view->called_ns + DEMAND_NS;
}

bool detector_view_is_child(const struct detector_view *view, uint32_t tgid)
{
	for (size_t i = 0; i < view->n_children; i++)
		if (view->children[i] == tgid)
			return true;
	return false;
}

enum op_layer detector_view_layer(const struct detector_view *view, detect_op_func is_kind)
{
	uint64_t sums[OP_LAYER_COUNT] = { 0 };
	enum op_layer most = OP_LAYER_CALLS;

	for (size_t i = 0; i < view->n_ops; i++)
		if (view->ops[i].op && is_kind(view->ops[i].op))
			sums[view->ops[i].op->layer] += view->ops[i].figures.raw_ns;
	for (int layer = OP_LAYER_CALLS; layer < OP_LAYER_CALLS_END; layer++)
		if (sums[layer] > sums[most])
			most = (enum op_layer)layer;
	return most;
}

uint64_t detect_own_ns(const struct op_figures *f)
{
	uint64_t waited_ns = f->blame_ns[BLAME_RUNNABLE] + f->blame_ns[BLAME_QUOTA];

	return f->raw_ns > waited_ns ? f->raw_ns - waited_ns : 0;
}

uint64_t detect_call_own_ns(const struct call_record *call)
{
	uint64_t waited_ns = call->blame_ns[BLAME_RUNNABLE] + call->blame_ns[BLAME_QUOTA];

	return call->raw_ns > waited_ns ? call->raw_ns - waited_ns : 0;
}

void condition_lose(struct condition *c, const struct detector_view *view, const struct op *op, uint64_t lost_ns)
{
	c->ops = view->lost;
	c->ops[c->n_ops++] = (struct condition_op){ .op = op, .lost_ns = lost_ns };
	c->lost_ns += lost_ns;
}

/* Finds the driving thread that lost most time to a class, in calls and between them. */
static bool driving_most(const struct detector_view *view, enum blame_class class, struct driving *ret)
{
	uint64_t most_ns = 0;

	for (size_t i = 0; i < view->n_driving; i++) {
		struct driving one;

		driving_of(&view->accounts[i], &one);
		if (one.in_ns[class] + one.between_ns[class] <= most_ns)
			continue;
		most_ns = one.in_ns[class] + one.between_ns[class];
		*ret = one;
	}
	return most_ns > 0;
}

void condition_account(struct condition *c, const struct driving *driving, uint64_t in_ns, uint64_t between_ns)
{
	c->account = driving->account;
	c->tid = driving->account->tid;
	c->lost_ns = in_ns + between_ns;
	c->between_ns = between_ns;
	c->least_ns = in_ns + driving_least(driving, between_ns);
	c->in_calls_ns = driving->calls_ns;
	if (c->least_ns < c->lost_ns / 2)
		c->confidence *= HIDDEN_CONFIDENCE;
}

static size_t check_account(const struct detector_view *view, enum blame_class class, struct condition *ret)
{
	struct condition c = { .confidence = 1 };
	struct driving most;

	if (!driving_most(view, class, &most))
		return 0;
	for (size_t i = 0; i < most.account->parts.n; i++) {
		const struct account_part *part = &most.account->parts.items[i];
		const struct op *op = part->where == ACCOUNT_IN ? op_get((uint16_t)part->op) : NULL;

		if (op && part->class == class)
			condition_lose(&c, view, op, part->ns);
	}
	condition_lose(&c, view, NULL, most.between_ns[class]);
	condition_account(&c, &most, most.in_ns[class], most.between_ns[class]);
	*ret = c;
	return 1;
}

static size_t check_class(const struct detector_view *view, enum blame_class class, struct condition *ret)
{
	struct condition c = { .confidence = 1 };

	if (view->n_driving)
		return check_account(view, class, ret);
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op *op = view->ops[i].op;

		if (!op || op->layer != view->layer)
			continue;
		condition_lose(&c, view, op, view->ops[i].figures.blame_ns[class]);
	}
	if (!c.lost_ns)
		return 0;
	*ret = c;
	return 1;
}

size_t detector_check(const struct detector *d, const struct detector_view *view, struct condition *ret, size_t room)
{
	return d->check ? d->check(view, ret, room) : check_class(view, d->takes, ret);
}

uint64_t detector_call_ns(const struct detector *d, const struct event *event)
{
	if (d->call_ns)
		return d->call_ns(event);
	return d->takes ? event->call->blame_ns[d->takes] : 0;
}

/* ---- output of a detector ---- */

void detector_evidence(struct finding *f, const char *name, double value, enum finding_unit unit)
{
	if (f->n_evidence < FINDING_EVIDENCE_MAX)
		f->evidence[f->n_evidence++] = (struct finding_evidence){ .name = name, .value = value, .unit = unit };
}

static double lost_of(const struct detector_sums *s, uint64_t time_ns)
{
	return time_ns ? MIN((double)s->lost_ns / (double)time_ns, 1) : 0;
}

void detector_evidence_lost(struct finding *f, const struct detector_sums *s, const char *ns_name,
			    const char *ratio_name)
{
	uint64_t in_ns = s->lost_ns - s->between_ns, calls_ns = s->is_accounted ? s->in_calls_ns : s->calls_ns;

	detector_evidence(f, ns_name, (double)s->lost_ns, FINDING_UNIT_NS);
	detector_evidence(f, ratio_name, calls_ns ? (double)in_ns / (double)calls_ns : 0, FINDING_UNIT_RATIO);
	detector_evidence(f, "lost_ratio", lost_of(s, s->time_ns), FINDING_UNIT_RATIO);
	if (!s->is_accounted)
		return;
	if (f->op)
		detector_evidence(f, "in_op_ns", (double)s->op_ns, FINDING_UNIT_NS);
	detector_evidence(f, "in_calls_ns", (double)in_ns, FINDING_UNIT_NS);
	detector_evidence(f, "between_calls_ns", (double)s->between_ns, FINDING_UNIT_NS);
	detector_evidence(f, "lost_at_least_ns", (double)s->least_ns, FINDING_UNIT_NS);
}

void detector_evidence_time(struct finding *f, const struct detector_sums *s)
{
	detector_evidence(f, "lost_ratio", lost_of(s, s->time_ns), FINDING_UNIT_RATIO);
	detector_evidence(f, "lost_at_least_ns", (double)s->least_ns, FINDING_UNIT_NS);
}

void detector_advise(struct finding *f, const char *format, ...)
{
	if (f->n_advice == FINDING_ADVICE_MAX)
		return;
	FORMAT_INTO(f->advice[f->n_advice++], FINDING_ADVICE_BYTES, format);
}

void detector_advise_command(struct finding *f, const struct detector_facts *facts, const char *what,
			     const char *before, uint32_t pid, const char *behind)
{
	if (facts->is_ended)
		detector_advise(f, "%s, while it runs: %sPID%s", what, before, behind);
	else
		detector_advise(f, "%s: %s%" PRIu32 "%s", what, before, pid, behind);
}

bool detector_path(const struct account_wait *wait, char ret[DETECTOR_PATH_BYTES])
{
	file_path_quote(wait->name, ret, DETECTOR_PATH_BYTES);
	return wait->name[0] && ret[0];
}

void detector_title(struct finding *f, const char *what)
{
	(void)snprintf(f->title, sizeof(f->title), "%s %s", f->op ? f->op->name : "calls", what);
}

void detector_title_process(struct finding *f, const char *what)
{
	const struct program *program = &f->process.program;
	char comm[RECORD_COMM_BYTES + 1] = "", script[PROGRAM_SCRIPT_BYTES] = "";
	const struct process_named named = {
		.name = comm,
		.script = script,
		.has_rank = process_name_has_rank(program->rank.is_known, program->world_size.value),
		.rank = program->rank.value,
	};

	memcpy(comm, f->process.comm, RECORD_COMM_BYTES);
	(void)utf8_scrub(comm);
	memcpy(script, program->script, sizeof(script) - 1);
	(void)utf8_scrub(script);
	(void)snprintf(f->title, sizeof(f->title), "%.*s %s", NAME_BYTES_MOST, process_name_short(&named).text, what);
}

void detector_title_between(struct finding *f, const char *what)
{
	char text[FINDING_TITLE_BYTES];

	(void)snprintf(text, sizeof(text), "%s between its calls", what);
	detector_title_process(f, text);
}
