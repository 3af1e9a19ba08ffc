// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/compare_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Threads whose wall clocks differ by less are alike: then the first one counts. */
#define LONGEST_RATIO 0.95

static void compared_program_free(struct compared_program *program)
{
	for (size_t i = 0; i < program->parts.n; i++)
		free(program->parts.items[i]);
	for (size_t i = 0; i < program->ops.n; i++) {
		op_figures_done(&program->ops.items[i]->figures);
		free(program->ops.items[i]);
	}
	ARRAY_DONE(&program->parts);
	ARRAY_DONE(&program->ops);
	ARRAY_DONE(&program->pids);
	free(program);
}

void compared_programs_done(struct compared_programs *programs)
{
	for (size_t i = 0; i < programs->items.n; i++)
		compared_program_free(programs->items.items[i]);
	ARRAY_DONE(&programs->items);
}

const struct compared_part *compared_program_part(const struct compared_program *program, uint8_t where, uint8_t class,
						  uint32_t op)
{
	for (size_t i = 0; i < program->parts.n; i++) {
		const struct compared_part *part = program->parts.items[i];

		if (part->where == where && part->class == class && part->op == op)
			return part;
	}
	return NULL;
}

const struct compared_op *compared_program_op(const struct compared_program *program, uint32_t op)
{
	for (size_t i = 0; i < program->ops.n; i++) {
		const struct read_op *row = program->ops.items[i]->op;

		if ((row ? row->id : 0) == op)
			return program->ops.items[i];
	}
	return NULL;
}

static struct compared_program *program_take(struct compared_programs *programs, const struct read_process *process)
{
	struct compared_program *fresh;

	for (size_t i = 0; i < programs->items.n; i++) {
		struct compared_program *one = programs->items.items[i];

		if (strcmp(one->comm, process->comm) == 0 && strcmp(one->script, process->program.script) == 0)
			return one;
	}
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	fresh->comm = process->comm;
	fresh->script = process->program.script;
	if (ARRAY_PUSH(&programs->items, fresh) == 0)
		return fresh;
	free(fresh);
	return NULL;
}

/* A thread of a process, among its rows. */
struct thread_rows {
	uint32_t tid;
	uint64_t wall_ns;
	bool is_driving;
};

/* @at: the first row of the thread; becomes that of the next one */
static struct thread_rows thread_rows_next(const struct series *series, size_t *at)
{
	const struct series_row *first = &series->rows.items[*at];
	struct thread_rows thread = { .tid = first->key.tid };
	uint64_t driving_ns = 0;

	for (; *at < series->rows.n; (*at)++) {
		const struct series_row *row = &series->rows.items[*at];

		if (row->key.process != first->key.process || row->key.tid != thread.tid)
			break;
		if (row->key.what == SERIES_CALLS)
			continue;
		thread.wall_ns += series_sum(series, row);
		driving_ns += row->driving_ns;
	}
	thread.is_driving = driving_ns && driving_ns >= thread.wall_ns - driving_ns;
	return thread;
}

/*
 * The thread that stands for its process: the main thread, if that drives it; else of the driving threads, or of all
 * where none does, the first of those that were there nearly longest. Return: its tid; 0: the process has no account
 */
static uint32_t thread_choose(const struct series *series, const struct read_process *process)
{
	struct thread_rows chosen = { .tid = 0 };
	size_t at = series_find(series, process->id);

	while (at < series->rows.n && series->rows.items[at].key.process == process->id) {
		struct thread_rows thread = thread_rows_next(series, &at);

		if (!thread.tid || !thread.wall_ns)
			continue;
		if (thread.is_driving && thread.tid == process->pid)
			return thread.tid;
		if (!chosen.tid || thread.is_driving > chosen.is_driving ||
		    (thread.is_driving == chosen.is_driving &&
		     (double)chosen.wall_ns < LONGEST_RATIO * (double)thread.wall_ns))
			chosen = thread;
	}
	return chosen.tid;
}

static void values_add(uint64_t *sum, const uint64_t *more, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] += more[i];
}

static int program_part_add(struct compared_program *program, const struct series_row *row)
{
	struct compared_part *part = (struct compared_part *)(uintptr_t)compared_program_part(
		program, row->key.what, row->key.class, row->key.op);

	if (!part) {
		part = calloc(1, sizeof(*part));
		if (!part || ARRAY_PUSH(&program->parts, part) < 0) {
			free(part);
			return -ENOMEM;
		}
		part->where = row->key.what;
		part->class = row->key.class;
		part->op = row->key.op;
	}
	values_add(part->values, row->values, program->n_pieces);
	values_add(program->wall, row->values, program->n_pieces);
	if (row->key.what != ACCOUNT_NOT_KNOWN && row->key.class == BLAME_RUNNABLE)
		values_add(program->runnable, row->values, program->n_pieces);
	return 0;
}

static int program_op_add(struct compared_program *program, const struct series_op *from, const struct series_row *row)
{
	struct compared_op *op =
		(struct compared_op *)(uintptr_t)compared_program_op(program, from->op ? from->op->id : 0);

	if (!op) {
		op = calloc(1, sizeof(*op));
		if (!op || ARRAY_PUSH(&program->ops, op) < 0) {
			free(op);
			return -ENOMEM;
		}
		op->op = from->op;
	}
	op->measured |= from->measured;
	values_add(op->values, row->values, program->n_pieces);
	values_add(program->calls, row->values, program->n_pieces);
	return series_figures_add(&op->figures, &from->figures);
}

static const struct series_op *series_op_find(const struct series *series, const struct series_key *key)
{
	for (size_t i = 0; i < series->ops.n; i++) {
		const struct series_op *op = &series->ops.items[i];

		if (op->process->id == key->process && (op->op ? op->op->id : 0) == key->op)
			return op;
	}
	return NULL;
}

static int program_process_add(struct compared_program *program, const struct series *series,
			       const struct read_process *process)
{
	uint32_t tid = thread_choose(series, process);
	int r = ARRAY_PUSH(&program->pids, process->pid);

	program->n_pieces = series->pieces.n;
	for (size_t i = series_find(series, process->id); i < series->rows.n && r == 0; i++) {
		const struct series_row *row = &series->rows.items[i];

		if (row->key.process != process->id)
			break;
		if (row->key.what != SERIES_CALLS)
			r = row->key.tid == tid ? program_part_add(program, row) : 0;
		else
			r = program_op_add(program, series_op_find(series, &row->key), row);
	}
	return r;
}

static int program_compare(const void *a, const void *b)
{
	const struct compared_program *x = *(struct compared_program *const *)a,
				      *y = *(struct compared_program *const *)b;

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns > y->wall_ns ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

int compared_programs_build(const struct series *series, struct compared_programs *ret)
{
	CLEANUP(compared_programs_done) struct compared_programs programs = { .items = { .items = NULL } };
	int r = 0;

	for (size_t i = 0; i < series->processes.n && r == 0; i++) {
		const struct read_process *process = series->processes.items[i];
		struct compared_program *program = program_take(&programs, process);

		r = program ? program_process_add(program, series, process) : -ENOMEM;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < programs.items.n; i++)
		for (size_t k = 0; k < programs.items.items[i]->n_pieces; k++)
			programs.items.items[i]->wall_ns += programs.items.items[i]->wall[k];
	if (programs.items.n)
		qsort(programs.items.items, programs.items.n, sizeof(*programs.items.items), program_compare);
	*ret = programs;
	programs = (struct compared_programs){ .items = { .items = NULL } };
	return 0;
}
