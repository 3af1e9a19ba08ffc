// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/compare_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "events/op.h"

#define SAMPLES_LEAST 5u /* of a side: fewer are never sure enough */

/* ---- unit of work ---- */

static bool op_synchronises(const struct read_op *op)
{
	const struct op *known = op ? op_get(op->id) : NULL;

	return known && (known->traits & OP_SYNC) && strcmp(known->name, op->name) == 0;
}

static void units_count(const struct compared_program *program, struct judge_unit unit, uint64_t ret[SERIES_PIECES])
{
	const struct compared_op *op = unit.op ? compared_program_op(program, unit.op->id) : NULL;

	memset(ret, 0, sizeof(*ret) * SERIES_PIECES);
	if (op || !unit.op)
		memcpy(ret, op ? op->values : program->calls, sizeof(*ret) * SERIES_PIECES);
}

/* ---- samples ---- */

/*
 * Cuts a side into n samples of about as many units of work. Time without work, such as a wait at the start, belongs to
 * the work that follows: one sample is longer by it, which ranks forgive. Return: whether each has work and time
 */
static bool samples_cut(struct judge_side *side, const uint64_t *units, size_t n)
{
	const struct compared_program *program = side->program;
	double done = 0, wall[RANK_MOST] = { 0 };

	memset(side->unit_values, 0, sizeof(side->unit_values));
	for (size_t i = 0; i < program->n_pieces; i++) {
		size_t at = (size_t)((done + (double)units[i] / 2) / (double)side->units * (double)n);

		side->sample_of[i] = (uint8_t)MIN(at, n - 1);
		side->unit_values[side->sample_of[i]] += (double)units[i];
		wall[side->sample_of[i]] += (double)program->wall[i];
		done += (double)units[i];
	}
	for (size_t i = 0; i < n; i++)
		if (side->unit_values[i] <= 0 || wall[i] <= 0)
			return false;
	side->n = n;
	side->sample_ns = program->wall_ns / (n * MAX(program->pids.n, 1));
	return true;
}

static void side_fill(struct judge_side *side, const struct compared_program *program, struct judge_unit unit)
{
	uint64_t units[SERIES_PIECES];

	*side = (struct judge_side){ .program = program };
	units_count(program, unit, units);
	for (size_t i = 0; i < program->n_pieces; i++)
		side->units += units[i];
	for (size_t n = MIN(program->n_pieces, RANK_MOST); n && side->units; n--)
		if (samples_cut(side, units, n))
			return;
}

static void sample_values(const struct judge_side *side, const uint64_t *values, double ret[RANK_MOST])
{
	memset(ret, 0, sizeof(*ret) * RANK_MOST);
	for (size_t i = 0; i < side->program->n_pieces && values; i++)
		ret[side->sample_of[i]] += (double)values[i];
	for (size_t i = 0; i < side->n; i++)
		ret[i] /= side->unit_values[i];
}

int judge_values(const struct judgement *j, const uint64_t *a, const uint64_t *b, struct rank_shift *ret)
{
	double a_values[RANK_MOST], b_values[RANK_MOST];

	sample_values(&j->a, a, a_values);
	sample_values(&j->b, b, b_values);
	return rank_shift(a_values, j->a.n, b_values, j->b.n, JUDGE_CONFIDENCE, ret);
}

struct judge_unit judge_unit_choose(const struct compared_program *a, const struct compared_program *b)
{
	struct judge_unit chosen = { .op = NULL };
	uint64_t most_ns = 0;

	for (size_t i = 0; i < a->ops.n; i++) {
		const struct compared_op *op = a->ops.items[i],
					 *other = op->op ? compared_program_op(b, op->op->id) : NULL;
		struct judge_side side;

		if (!op_synchronises(op->op) || !other || op->figures.total_ns + other->figures.total_ns <= most_ns)
			continue;
		side_fill(&side, a, (struct judge_unit){ .op = op->op });
		if (side.n < MIN(SAMPLES_LEAST, a->n_pieces))
			continue;
		side_fill(&side, b, (struct judge_unit){ .op = op->op });
		if (side.n < MIN(SAMPLES_LEAST, b->n_pieces))
			continue;
		chosen.op = op->op;
		most_ns = op->figures.total_ns + other->figures.total_ns;
	}
	return chosen;
}

/* ---- verdict ---- */

struct judged_shift {
	double unit_ns; /* median of a */
	double change_ratio, error_ratio;
	bool is_told;
};

static struct judged_shift shift_judge(const struct rank_shift *shift)
{
	struct judged_shift out = { .unit_ns = shift->middle, .error_ratio = INFINITY };

	if (shift->middle <= 0)
		return out;
	out.change_ratio = shift->shift / shift->middle;
	out.error_ratio = rank_shift_error(shift) / shift->middle;
	out.is_told = (shift->low > 0 || shift->high < 0) && fabs(out.change_ratio) >= JUDGE_FLOOR_RATIO;
	if (out.is_told)
		out.error_ratio = rank_shift_less(shift) / shift->middle;
	return out;
}

static void too_few_say(struct judgement *j)
{
	const struct judge_side *fewer = j->a.n <= j->b.n ? &j->a : &j->b;

	(void)snprintf(j->why, sizeof(j->why),
		       "%s has %zu of the %u pieces of time with work that are needed: compare a longer time",
		       fewer == &j->a ? "A" : "B", fewer->n, SAMPLES_LEAST);
}

/* The change that is known better: by the wall clock, or without time that depends on who else wants the CPU. */
static const struct judged_shift *shift_choose(const struct judged_shift *wall, const struct judged_shift *own)
{
	if (wall->is_told != own->is_told)
		return wall->is_told ? wall : own;
	if (!wall->is_told)
		return own->error_ratio < wall->error_ratio ? own : wall;
	return own->error_ratio * fabs(wall->change_ratio) < wall->error_ratio * fabs(own->change_ratio) ? own : wall;
}

static void verdict_set(struct judgement *j, const struct judged_shift *wall, const struct judged_shift *own)
{
	const struct judged_shift *by = shift_choose(wall, own);

	j->is_without_runnable = by == own;
	j->unit_ns = by->unit_ns;
	j->has_change = true;
	j->change_ratio = by->change_ratio;
	j->error_ratio = by->error_ratio;
	if (by->is_told)
		j->verdict = by->change_ratio > 0 ? JUDGE_SLOWER : JUDGE_FASTER;
	else if (by->error_ratio <= JUDGE_ERROR_RATIO)
		j->verdict = JUDGE_SAME;
	else
		(void)snprintf(
			j->why, sizeof(j->why),
			"the time of a unit of work varies too much within A or B: the change is %.0f %% ± %.0f %%; "
			"compare longer times",
			100 * by->change_ratio, 100 * by->error_ratio);
}

void judge_program(const struct compared_program *a, const struct compared_program *b, struct judge_unit unit,
		   struct judgement *ret)
{
	uint64_t a_own[SERIES_PIECES] = { 0 }, b_own[SERIES_PIECES] = { 0 };
	struct judged_shift wall, own;
	struct rank_shift shift;

	*ret = (struct judgement){ .unit = unit, .verdict = JUDGE_UNKNOWN };
	side_fill(&ret->a, a, unit);
	side_fill(&ret->b, b, unit);
	if (judge_values(ret, a->wall, b->wall, &shift) < 0) {
		too_few_say(ret);
		return;
	}
	wall = shift_judge(&shift);
	for (size_t i = 0; i < SERIES_PIECES; i++) {
		a_own[i] = a->wall[i] - a->runnable[i];
		b_own[i] = b->wall[i] - b->runnable[i];
	}
	(void)judge_values(ret, a_own, b_own, &shift);
	own = shift_judge(&shift);
	verdict_set(ret, &wall, &own);
}
