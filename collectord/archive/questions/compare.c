// SPDX-License-Identifier: Apache-2.0
/*
 * Method Compare: what got slower between two windows, processes or files, and which part of it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "archive/job.h"
#include "archive/questions/compare_judge.h"
#include "archive/questions/compare_runs.h"
#include "archive/questions/message.h"
#include "archive/tables/unknown_op.h"
#include "events/event_message.h"
#include "figures/account.h"
#include "ingero/v1/ingero.pb-c.h"

#define PROGRAMS_MOST 8u /* that are judged */
#define PARTS_MOST 40u
#define OPERATIONS_MOST 40u
#define NAMES_MOST 16u
#define PIDS_MOST 16u
#define TOLD_RATIO 0.002 /* guess: smaller changes of a part are never told */
#define PER_CALL "call"
#define OPS_OF_NAME_MOST 64

/* One side as it was asked for, and what the recording has of it. */
struct compare_side {
	const Ingero__V1__CompareSide *asked; /* NULL: everything */
	const char *name;		      /* in sentences */
	struct reader_job *job;
	struct series series;
	struct compared_programs programs;
	Ingero__V1__Window window;
	Ingero__V1__Lost lost;
};

struct compare {
	struct reader_job *job;
	const Ingero__V1__CompareRequest *request;
	struct compare_side a, b;
	struct judgement *judgements; /* in the arena, n of them: those with most time in a first */
	size_t n;
	size_t n_both;
	struct arena arena;
	Ingero__V1__CompareReply reply;
};

static char *compare_lent(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* ---- reading ---- */

/* Sets the processes that are meant. Return: 0, 1 when the error was sent, -errno */
static int side_processes_find(struct compare_side *side)
{
	const Ingero__V1__CompareSide *asked = side->asked;
	size_t n_runs = 0;
	int r;

	if (!asked || (!asked->n_pids && !asked->run[0]))
		return 0;
	if (!asked->run[0]) {
		r = compare_last_processes(side->job->reader, asked->pids, asked->n_pids, &side->series.ids);
		if (r < 0 || side->series.ids.n == asked->n_pids)
			return r;
		return reader_fail(
			CALL_ERROR_NOT_FOUND,
			"no process %u of yours made calls in this recording: 'ingero query \"SELECT pid, name FROM "
			"processes\"' lists those that did",
			asked->pids[0]);
	}
	r = compare_run(side->job->reader, asked->run, asked->runs_back, &side->series.ids, &n_runs);
	if (r == -ENOENT && !n_runs)
		return reader_fail(
			CALL_ERROR_NOT_FOUND,
			"no process of yours named '%s' made calls in this recording: 'ingero query \"SELECT DISTINCT "
			"name, script FROM processes\"' lists those that did",
			asked->run);
	if (r == -ENOENT)
		return reader_fail(CALL_ERROR_NOT_FOUND, "%zu %s of '%s' %s recorded, and not %u before the last",
				   n_runs, n_runs == 1 ? "run" : "runs", asked->run, n_runs == 1 ? "is" : "are",
				   asked->runs_back);
	return r;
}

static int side_bucket_take(const struct read_bucket *bucket, void *data)
{
	struct compare_side *side = data;

	return reader_is_late(side->job) ? -ETIME : series_add(&side->series, bucket);
}

static int side_gap_add(const Ingero__V1__Gap *gap, void *data)
{
	struct compare_side *side = data;

	(void)reader_lost_add(&side->lost, gap->reason, gap->count);
	return 0;
}

/* The time that the side covers, and its calls. */
static void side_window_set(struct compare_side *side)
{
	const struct series *s = &side->series;

	if (!s->pieces.n)
		return;
	side->window.from_unix_ns = s->pieces.items[0].from_unix_ns;
	side->window.to_unix_ns = s->pieces.items[s->pieces.n - 1].to_unix_ns;
	side->window.processes = (uint32_t)s->processes.n;
	for (size_t i = 0; i < s->ops.n; i++)
		side->window.calls += op_figures_count(&s->ops.items[i].figures);
}

/* Return: 0, 1 when the error was sent, -errno */
static int side_read(struct compare_side *side)
{
	uint64_t from = side->asked && side->asked->span ? side->asked->span->from_unix_ns : 0,
		 to = side->asked && side->asked->span ? side->asked->span->to_unix_ns : 0;
	int r;

	if (to && from >= to)
		return reader_fail(CALL_ERROR_INVALID, "%s ends before it begins: exchange its bounds", side->name);
	r = side_processes_find(side);
	if (r)
		return r;
	r = store_reader_buckets(side->job->reader, from, to, side_bucket_take, side);
	if (r == -E2BIG)
		return reader_fail(CALL_ERROR_INVALID,
				   "%s has too many threads and operations to be compared: name processes with 'pid:N'",
				   side->name);
	side_window_set(side);
	if (r == 0 && !side->series.ops.n && !side->series.has_accounts)
		return reader_fail(CALL_ERROR_NOT_FOUND,
				   "%s is empty: no traced call was recorded then; 'ingero explain' shows of which "
				   "time there is a "
				   "recording",
				   side->name);
	if (r == 0 && !side->series.has_accounts)
		return reader_fail(
			CALL_ERROR_UNAVAILABLE,
			"%s was recorded by another program, or exported, and has no account of its threads: it cannot "
			"be compared; 'ingero explain' shows its calls",
			side->name);
	r = r ? r : compared_programs_build(&side->series, &side->programs);
	return r ? r : store_reader_gaps(side->job->reader, from, to, side_gap_add, side);
}

/* ---- judging ---- */

static const struct compared_program *program_same(const struct compared_programs *programs,
						   const struct compared_program *program)
{
	for (size_t i = 0; i < programs->items.n; i++)
		if (strcmp(programs->items.items[i]->comm, program->comm) == 0 &&
		    strcmp(programs->items.items[i]->script, program->script) == 0)
			return programs->items.items[i];
	return NULL;
}

/* Programs of one name belong together; if each side has one alone, these do whatever their names. */
static const struct compared_program *program_other(const struct compare *c, size_t i)
{
	if (c->a.programs.items.n == 1 && c->b.programs.items.n == 1)
		return c->b.programs.items.items[0];
	return program_same(&c->b.programs, c->a.programs.items.items[i]);
}

/* The unit that was asked for. Return: 0, 1 when the error was sent */
static int unit_find(struct compare *c, const struct compared_program *a, const struct compared_program *b,
		     struct judge_unit *ret)
{
	uint32_t ids[OPS_OF_NAME_MOST];
	size_t n;

	if (!c->request->per[0]) {
		*ret = judge_unit_choose(a, b);
		return 0;
	}
	*ret = (struct judge_unit){ .op = NULL };
	if (strcmp(c->request->per, PER_CALL) == 0)
		return 0;
	n = store_reader_find_op(c->job->reader, c->request->per, ids, OPS_OF_NAME_MOST);
	for (size_t i = 0; i < n && !ret->op; i++)
		if (compared_program_op(a, ids[i]) || compared_program_op(b, ids[i]))
			ret->op = store_reader_op(c->job->reader, ids[i]);
	if (n && ret->op)
		return 0;
	if (n)
		return reader_fail(CALL_ERROR_INVALID, "%s did not call %s: take another unit of work", a->comm,
				   c->request->per);
	char why[UNKNOWN_OP_BYTES];

	unknown_op_say(c->job->reader, c->request->per, why);
	return reader_fail(CALL_ERROR_INVALID, "%s", why);
}

/* Return: 0, 1 when the error was sent, -ENOMEM */
static int programs_judge(struct compare *c)
{
	int r = 0;

	c->judgements = ARENA_NEW_N(&c->arena, struct judgement, PROGRAMS_MOST);
	if (!c->judgements)
		return -ENOMEM;
	for (size_t i = 0; i < c->a.programs.items.n && r == 0; i++) {
		const struct compared_program *a = c->a.programs.items.items[i], *b = program_other(c, i);
		struct judge_unit unit;

		if (!b)
			continue;
		c->n_both++;
		if (c->n == PROGRAMS_MOST)
			continue;
		r = unit_find(c, a, b, &unit);
		if (r == 0)
			judge_program(a, b, unit, &c->judgements[c->n++]);
	}
	if (r == 0 && !c->n_both)
		return reader_fail(CALL_ERROR_NOT_FOUND,
				   "A and B have no program in common: A has %s, B has %s; name processes with 'pid:N'",
				   c->a.programs.items.items[0]->comm, c->b.programs.items.items[0]->comm);
	return r;
}

/* Index of the judgement that is the verdict of the whole. */
static size_t first_choose(const struct compare *c)
{
	static const enum judge_verdict order[] = { JUDGE_SLOWER, JUDGE_FASTER };
	size_t chosen = 0;

	for (size_t k = 0; k < ARRAY_SIZE(order); k++)
		for (size_t i = 0; i < c->n; i++)
			if (c->judgements[i].verdict == order[k])
				return i;
	return chosen;
}

/* ---- answer ---- */

static Ingero__V1__ComparedSide *side_message(struct compare *c, const struct judge_side *side)
{
	Ingero__V1__ComparedSide *m = ARENA_NEW(&c->arena, Ingero__V1__ComparedSide);

	if (!m)
		return NULL;
	ingero__v1__compared_side__init(m);
	m->units = side->units;
	m->wall_ns = side->program->wall_ns;
	m->unit_ns = side->units ? side->program->wall_ns / side->units : 0;
	m->samples = (uint32_t)side->n;
	m->sample_ns = side->sample_ns;
	m->pids = side->program->pids.items;
	m->n_pids = MIN(side->program->pids.n, PIDS_MOST);
	return m;
}

static int script_set(struct compare *c, const struct compared_program *program, Ingero__V1__Program **ret)
{
	if (!program->script[0])
		return 0;
	*ret = ARENA_NEW(&c->arena, Ingero__V1__Program);
	if (!*ret)
		return -ENOMEM;
	ingero__v1__program__init(*ret);
	(*ret)->script = compare_lent(program->script);
	return 0;
}

static Ingero__V1__Compared *compared_message(struct compare *c, const struct judgement *j)
{
	static const char *const verdicts[] = {
		[JUDGE_SAME] = "same", [JUDGE_SLOWER] = "slower", [JUDGE_FASTER] = "faster", [JUDGE_UNKNOWN] = "unknown"
	};
	Ingero__V1__Compared *m = ARENA_NEW(&c->arena, Ingero__V1__Compared);

	if (!m)
		return NULL;
	ingero__v1__compared__init(m);
	m->verdict = compare_lent(verdicts[j->verdict]);
	m->why = compare_lent(j->why);
	m->basis = compare_lent(j->is_without_runnable ? "without_runnable" : "wall");
	if (j->has_change) {
		m->change_told_case = INGERO__V1__COMPARED__CHANGE_TOLD_CHANGE_RATIO;
		m->change_ratio = j->change_ratio;
		m->error_told_case = INGERO__V1__COMPARED__ERROR_TOLD_ERROR_RATIO;
		m->error_ratio = j->error_ratio;
	}
	m->process_name = compare_lent(j->a.program->comm);
	if (strcmp(j->a.program->comm, j->b.program->comm) != 0)
		m->b_process_name = compare_lent(j->b.program->comm);
	m->per = compare_lent(j->unit.op ? j->unit.op->name : PER_CALL);
	m->a = side_message(c, &j->a);
	m->b = side_message(c, &j->b);
	return m->a && m->b && script_set(c, j->a.program, &m->program) == 0 ? m : NULL;
}

static uint64_t per_unit_ns(const struct judge_side *side, const uint64_t *values)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < side->program->n_pieces && values; i++)
		sum += values[i];
	return side->units ? sum / side->units : 0;
}

/* @a, @b: of the same part; NULL: that side has none */
static int compared_part_add(struct compare *c, const struct judgement *j, const struct compared_part *a,
			     const struct compared_part *b)
{
	const struct compared_part *part = a ? a : b;
	Ingero__V1__ComparedPart *m = ARENA_NEW(&c->arena, Ingero__V1__ComparedPart);
	struct rank_shift shift;

	if (!m)
		return -ENOMEM;
	ingero__v1__compared_part__init(m);
	m->where = compare_lent(account_where_name(part->where));
	m->class_ = compare_lent(account_class_name(part->class));
	if (part->op) {
		m->op_told_case = INGERO__V1__COMPARED_PART__OP_TOLD_OP;
		m->op = compare_lent(store_reader_op(c->job->reader, part->op)->name);
	}
	m->a_ns = per_unit_ns(&j->a, a ? a->values : NULL);
	m->b_ns = per_unit_ns(&j->b, b ? b->values : NULL);
	if (judge_values(j, a ? a->values : NULL, b ? b->values : NULL, &shift) == 0 && j->unit_ns > 0) {
		m->change_ns = llround(shift.shift);
		m->change_ratio = shift.shift / j->unit_ns;
		m->is_told = (shift.low > 0 || shift.high < 0) && fabs(m->change_ratio) >= TOLD_RATIO;
		m->error_ns = (uint64_t)llround(m->is_told ? rank_shift_less(&shift) : rank_shift_error(&shift));
	}
	c->reply.parts[c->reply.n_parts++] = m;
	return 0;
}

static int compared_part_order(const void *a, const void *b)
{
	const Ingero__V1__ComparedPart *x = *(Ingero__V1__ComparedPart *const *)a,
				       *y = *(Ingero__V1__ComparedPart *const *)b;
	double x_most = x->is_told ? fabs(x->change_ratio) : (double)MAX(x->a_ns, x->b_ns),
	       y_most = y->is_told ? fabs(y->change_ratio) : (double)MAX(y->a_ns, y->b_ns);

	if (x->is_told != y->is_told)
		return x->is_told ? -1 : 1;
	return (x_most < y_most) - (x_most > y_most);
}

static int parts_set(struct compare *c, const struct judgement *j)
{
	const struct compared_program *a = j->a.program, *b = j->b.program;
	Ingero__V1__CompareReply *reply = &c->reply;
	int r = 0;

	reply->parts = ARENA_NEW_N(&c->arena, Ingero__V1__ComparedPart *, a->parts.n + b->parts.n + 1);
	if (!reply->parts)
		return -ENOMEM;
	for (size_t i = 0; i < a->parts.n && r == 0; i++) {
		const struct compared_part *p = a->parts.items[i];

		r = compared_part_add(c, j, p, compared_program_part(b, p->where, p->class, p->op));
	}
	for (size_t i = 0; i < b->parts.n && r == 0; i++) {
		const struct compared_part *p = b->parts.items[i];

		if (!compared_program_part(a, p->where, p->class, p->op))
			r = compared_part_add(c, j, NULL, p);
	}
	qsort(reply->parts, reply->n_parts, sizeof(*reply->parts), compared_part_order);
	reply->n_parts = MIN(reply->n_parts, PARTS_MOST);
	return r;
}

static Ingero__V1__ComparedFigures *figures_message(struct compare *c, const struct judge_side *side,
						    const struct compared_op *op)
{
	Ingero__V1__ComparedFigures *m = ARENA_NEW(&c->arena, Ingero__V1__ComparedFigures);
	const struct op_figures none = { .durations = HISTOGRAM_INIT }, *f = op ? &op->figures : &none;
	__u64 blame_ns[BLAME_COUNT] = { 0 };

	if (!m)
		return NULL;
	ingero__v1__compared_figures__init(m);
	m->count = op_figures_count(f);
	m->per_unit = side->units ? (double)m->count / (double)side->units : 0;
	m->errors = f->errors;
	if (f->durations.sum) {
		m->mean_ns = f->total_ns / f->durations.sum;
		m->p50_ns = histogram_quantile(&f->durations, 0.50, f->max_ns);
		m->p99_ns = histogram_quantile(&f->durations, 0.99, f->max_ns);
		for (int i = 0; i < BLAME_COUNT; i++)
			blame_ns[i] = f->blame_ns[i] / f->durations.sum;
	}
	m->blame_ns = blame_to_message_of(f->durations.sum ? f->raw_ns / f->durations.sum : 0, blame_ns,
					  op ? op->measured : 0, &c->arena);
	return m->blame_ns ? m : NULL;
}

static int compared_operation_add(struct compare *c, const struct judgement *j, const struct compared_op *a,
				  const struct compared_op *b)
{
	Ingero__V1__ComparedOperation *m = ARENA_NEW(&c->arena, Ingero__V1__ComparedOperation);
	const struct read_op *op = a ? a->op : b->op;

	if (!m)
		return -ENOMEM;
	ingero__v1__compared_operation__init(m);
	if (op) {
		m->source = compare_lent(op->source);
		m->op = compare_lent(op->name);
	}
	m->a = figures_message(c, &j->a, a);
	m->b = figures_message(c, &j->b, b);
	c->reply.operations[c->reply.n_operations++] = m;
	return m->a && m->b ? 0 : -ENOMEM;
}

static double operation_ns(const Ingero__V1__ComparedOperation *m)
{
	return (double)m->a->mean_ns * m->a->per_unit + (double)m->b->mean_ns * m->b->per_unit;
}

static int compared_operation_order(const void *a, const void *b)
{
	double x = operation_ns(*(Ingero__V1__ComparedOperation *const *)a),
	       y = operation_ns(*(Ingero__V1__ComparedOperation *const *)b);

	return (x < y) - (x > y);
}

static int compared_operations_set(struct compare *c, const struct judgement *j)
{
	const struct compared_program *a = j->a.program, *b = j->b.program;
	Ingero__V1__CompareReply *reply = &c->reply;
	int r = 0;

	reply->operations = ARENA_NEW_N(&c->arena, Ingero__V1__ComparedOperation *, a->ops.n + b->ops.n + 1);
	if (!reply->operations)
		return -ENOMEM;
	for (size_t i = 0; i < a->ops.n && r == 0; i++) {
		const struct read_op *op = a->ops.items[i]->op;

		r = compared_operation_add(c, j, a->ops.items[i], compared_program_op(b, op ? op->id : 0));
	}
	for (size_t i = 0; i < b->ops.n && r == 0; i++) {
		const struct read_op *op = b->ops.items[i]->op;

		if (!compared_program_op(a, op ? op->id : 0))
			r = compared_operation_add(c, j, NULL, b->ops.items[i]);
	}
	if (r == 0)
		qsort(reply->operations, reply->n_operations, sizeof(*reply->operations), compared_operation_order);
	reply->n_operations = MIN(reply->n_operations, OPERATIONS_MOST);
	return r;
}

/* Names of the programs of a side that the other has not. Return: 0 or -ENOMEM */
static int only_set(struct compare *c, const struct compared_programs *own, const struct compared_programs *other,
		    char ***ret, size_t *ret_n)
{
	*ret = ARENA_NEW_N(&c->arena, char *, NAMES_MOST);
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < own->items.n && *ret_n < NAMES_MOST; i++)
		if (!program_same(other, own->items.items[i]))
			(*ret)[(*ret_n)++] = compare_lent(own->items.items[i]->comm);
	return 0;
}

static int others_set(struct compare *c, size_t first)
{
	Ingero__V1__CompareReply *reply = &c->reply;

	reply->others = ARENA_NEW_N(&c->arena, Ingero__V1__Compared *, PROGRAMS_MOST);
	if (!reply->others)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++) {
		if (i == first)
			continue;
		reply->others[reply->n_others] = compared_message(c, &c->judgements[i]);
		if (!reply->others[reply->n_others++])
			return -ENOMEM;
	}
	reply->more_programs = (uint32_t)(c->n_both - c->n);
	return 0;
}

static int compare_answer(struct compare *c)
{
	Ingero__V1__CompareReply *reply = &c->reply;
	size_t first = first_choose(c);
	const struct judgement *j = &c->judgements[first];
	bool tells_losses = store_reader_tells_losses(c->job->reader),
	     is_one = c->n_both == 1 && c->a.programs.items.n == 1 && c->b.programs.items.n == 1;
	int r = 0;

	reply->compared = compared_message(c, j);
	reply->confidence_ratio = JUDGE_CONFIDENCE;
	reply->a_window = &c->a.window;
	reply->b_window = &c->b.window;
	reply->a_lost = tells_losses ? &c->a.lost : NULL;
	reply->b_lost = tells_losses ? &c->b.lost : NULL;
	if (!reply->compared)
		return -ENOMEM;
	r = parts_set(c, j);
	r = r ? r : compared_operations_set(c, j);
	r = r ? r : others_set(c, first);
	if (r == 0 && !is_one)
		r = only_set(c, &c->a.programs, &c->b.programs, &reply->only_a, &reply->n_only_a);
	if (r == 0 && !is_one)
		r = only_set(c, &c->b.programs, &c->a.programs, &reply->only_b, &reply->n_only_b);
	return r ? r : reader_reply(c->job, &reply->base);
}

static void compare_side_init(struct compare *c, struct compare_side *side, const Ingero__V1__CompareSide *asked,
			      const char *name, uint32_t file)
{
	*side = (struct compare_side){ .asked = asked,
				       .name = name,
				       .job = c->job,
				       .window = INGERO__V1__WINDOW__INIT,
				       .lost = INGERO__V1__LOST__INIT };
	side->series.only_file = store_reader_files(c->job->reader) > 1 ? file : 0;
}

int reader_compare(struct reader_job *job)
{
	struct compare *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return reader_fail_errno(job, -ENOMEM);
	*c = (struct compare){ .job = job, .arena = ARENA_INIT, .reply = INGERO__V1__COMPARE_REPLY__INIT };
	c->request = ingero__v1__compare_request__unpack(NULL, job->request_bytes, job->request);
	if (!c->request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method Compare");
	if (store_reader_files(job->reader) > 2)
		return reader_fail(CALL_ERROR_INVALID, "two files are compared, not more");
	compare_side_init(c, &c->a, c->request->a, "A", 1);
	compare_side_init(c, &c->b, c->request->b, "B", 2);
	r = side_read(&c->a);
	r = r ? r : side_read(&c->b);
	r = r ? r : programs_judge(c);
	r = r ? r : compare_answer(c);
	return r < 0 ? reader_fail_errno(job, r) : r;
}
