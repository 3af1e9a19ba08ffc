// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "libingero/answers/trace/rows.h"

void trace_delta_done(struct trace_delta *delta)
{
	free(delta->view.operations);
	free(delta->view.behind);
	free(delta->operations);
	free(delta->blames);
	free(delta->behind);
	*delta = (struct trace_delta)TRACE_DELTA_INIT;
}

static uint64_t less(uint64_t now, uint64_t before)
{
	return now - MIN(now, before);
}

/* A class has the same index in both. */
static void blame_subtract(Ingero__V1__Blame *blame, const Ingero__V1__Blame *before)
{
	for (unsigned int i = 0; i < ingero__v1__blame__descriptor.n_fields; i++) {
		size_t offset = ingero__v1__blame__descriptor.fields[i].offset;
		uint64_t *ns = (uint64_t *)(void *)((uint8_t *)blame + offset);

		*ns = less(*ns, *(const uint64_t *)(const void *)((const uint8_t *)before + offset));
	}
}

static const Ingero__V1__Operation *operation_before(const Ingero__V1__Summary *before, const Ingero__V1__Operation *op)
{
	for (size_t i = 0; before && i < before->n_operations; i++)
		if (trace_op_is_same(before->operations[i], op))
			return before->operations[i];
	return NULL;
}

static void operation_subtract(Ingero__V1__Operation *op, const Ingero__V1__Operation *before)
{
	op->count = less(op->count, before->count);
	op->errors = less(op->errors, before->errors);
	op->untimed = less(op->untimed, before->untimed);
	op->abandoned = less(op->abandoned, before->abandoned);
	op->total_ns = less(op->total_ns, before->total_ns);
	op->total_raw_ns = less(op->total_raw_ns, before->total_raw_ns);
	op->bytes = less(op->bytes, before->bytes);
	if (op->blame_ns && before->blame_ns)
		blame_subtract(op->blame_ns, before->blame_ns);
}

static uint64_t behind_before(const Ingero__V1__Summary *before, const Ingero__V1__Behind *behind)
{
	for (size_t i = 0; before && i < before->n_behind; i++) {
		const Ingero__V1__Behind *b = before->behind[i];

		if (b->victim_pid == behind->victim_pid && b->pid == behind->pid && b->uid == behind->uid &&
		    strcmp(b->comm, behind->comm) == 0)
			return b->ns;
	}
	return 0;
}

static void fill(struct trace_delta *delta, const Ingero__V1__Summary *now, const Ingero__V1__Summary *before)
{
	for (size_t i = 0; i < now->n_operations; i++) {
		Ingero__V1__Operation *op = &delta->operations[i];
		const Ingero__V1__Operation *then = operation_before(before, now->operations[i]);

		*op = *now->operations[i];
		if (op->blame_ns) {
			delta->blames[i] = *op->blame_ns;
			op->blame_ns = &delta->blames[i];
		}
		op->p50_ns = op->p95_ns = op->p99_ns = op->max_ns = 0;
		if (then)
			operation_subtract(op, then);
		if (op->count)
			delta->view.operations[delta->view.n_operations++] = op;
	}
	for (size_t i = 0; i < now->n_behind; i++) {
		Ingero__V1__Behind *behind = &delta->behind[i];

		*behind = *now->behind[i];
		behind->ns = less(behind->ns, behind_before(before, behind));
		if (behind->ns)
			delta->view.behind[delta->view.n_behind++] = behind;
	}
}

int trace_delta_build(const Ingero__V1__Summary *now, const Ingero__V1__Summary *before, struct trace_delta *ret_delta)
{
	CLEANUP(trace_delta_done) struct trace_delta delta = { .view = *now };
	size_t n = now->n_operations + 1, n_behind = now->n_behind + 1;

	delta.view.n_operations = delta.view.n_behind = 0;
	delta.view.operations = calloc(n, sizeof(Ingero__V1__Operation *));
	delta.view.behind = calloc(n_behind, sizeof(Ingero__V1__Behind *));
	delta.operations = calloc(n, sizeof(*delta.operations));
	delta.blames = calloc(n, sizeof(*delta.blames));
	delta.behind = calloc(n_behind, sizeof(*delta.behind));
	if (!delta.view.operations || !delta.view.behind || !delta.operations || !delta.blames || !delta.behind)
		return -ENOMEM;
	if (before)
		delta.view.window_ns = less(now->window_ns, before->window_ns);
	fill(&delta, now, before);
	*ret_delta = delta;
	delta = (struct trace_delta)TRACE_DELTA_INIT;
	return 0;
}
