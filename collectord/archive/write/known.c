// SPDX-License-Identifier: Apache-2.0
#include "archive/write/known.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void known_done(struct known *known)
{
	ARRAY_DONE(&known->ops);
	ARRAY_DONE(&known->processes);
	free(known->slots);
	known->slots = NULL;
	known->n_slots = 0;
}

static size_t hash(uint64_t start_boot_ns, uint32_t tgid, uint32_t exec_gen, uint32_t flags)
{
	uint64_t h = (start_boot_ns ^ (uint64_t)tgid << 32 ^ exec_gen ^ (uint64_t)flags << 24) * 0x9e3779b97f4a7c15ull;

	return (size_t)(h >> 20);
}

static bool is_same_process(const struct known_process *p, const struct process_identity *identity)
{
	return p->start_boot_ns == identity->start_boot_ns && p->tgid == identity->tgid &&
	       p->exec_gen == identity->exec_gen && p->flags == identity->flags;
}

struct known_process *known_find(struct known *known, const struct process_identity *identity)
{
	size_t at;

	if (!known->n_slots)
		return NULL;
	if (known->last < known->processes.n && is_same_process(&known->processes.items[known->last], identity))
		return &known->processes.items[known->last];
	at = hash(identity->start_boot_ns, identity->tgid, identity->exec_gen, identity->flags);
	for (;; at++) {
		uint32_t slot = known->slots[at & (known->n_slots - 1)];

		if (!slot)
			return NULL;
		if (!is_same_process(&known->processes.items[slot - 1], identity))
			continue;
		known->last = slot - 1;
		return &known->processes.items[slot - 1];
	}
}

static void slot_fill(struct known *known, size_t i)
{
	const struct known_process *p = &known->processes.items[i];
	size_t at = hash(p->start_boot_ns, p->tgid, p->exec_gen, p->flags);

	while (known->slots[at & (known->n_slots - 1)])
		at++;
	known->slots[at & (known->n_slots - 1)] = (uint32_t)i + 1;
}

static int rehash(struct known *known, size_t n_slots)
{
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(known->slots);
	known->slots = slots;
	known->n_slots = n_slots;
	for (size_t i = 0; i < known->processes.n; i++)
		slot_fill(known, i);
	return 0;
}

static int by_gone(const void *a, const void *b)
{
	const struct known_process *p = a, *q = b;
	uint64_t p_ns = p->gone_ns ? p->gone_ns : UINT64_MAX, q_ns = q->gone_ns ? q->gone_ns : UINT64_MAX;

	return p_ns < q_ns ? -1 : p_ns > q_ns;
}

/* Forgets up to half of the processes, those that ended first; live processes stay. */
static int known_forget(struct known *known)
{
	size_t n = 0, most = known->processes.n / 2;

	qsort(known->processes.items, known->processes.n, sizeof(*known->processes.items), by_gone);
	while (n < most && known->processes.items[n].gone_ns)
		n++;
	if (!n)
		return 0;
	known->processes.n -= n;
	memmove(known->processes.items, known->processes.items + n,
		known->processes.n * sizeof(*known->processes.items));
	known->last = 0;
	return rehash(known, known->n_slots);
}

int known_add(struct known *known, const struct known_process *process)
{
	int r = 0;

	if (known->processes.n >= KNOWN_MAX)
		r = known_forget(known);
	if (r == 0 && (known->processes.n + 1) * 2 > known->n_slots)
		r = rehash(known, known->n_slots ? known->n_slots * 2 : 64);
	if (r == 0)
		r = ARRAY_PUSH(&known->processes, *process);
	if (r < 0)
		return r;
	known->last = known->processes.n - 1;
	slot_fill(known, known->last);
	return 0;
}

/* Adds a row for an operation that has none yet. Return: its number, 0 without memory */
static uint32_t given_op_add(struct known *known, const struct op *op, struct batch *batch)
{
	struct batch_op fresh = { .id = known->next_op };

	(void)snprintf(fresh.source, sizeof(fresh.source), "%s", op_layer_to_source(op->layer));
	(void)snprintf(fresh.name, sizeof(fresh.name), "%s", op->name);
	if (ARRAY_PUSH(&batch->ops, fresh) < 0)
		return 0;
	if (ARRAY_PUSH(&known->ops, fresh) < 0) {
		batch->ops.n--;
		return 0;
	}
	return known->next_op++;
}

uint32_t known_op(struct known *known, const struct op *op, struct batch *batch)
{
	uint32_t *row;

	if (!op || op->id < OP_GIVEN)
		return op ? op->id : 0;
	assert(op->id - OP_GIVEN < OP_GIVEN_MAX);
	row = &known->op_rows[op->id - OP_GIVEN];
	for (size_t i = 0; i < known->ops.n && !*row; i++)
		if (strcmp(known->ops.items[i].name, op->name) == 0 &&
		    strcmp(known->ops.items[i].source, op_layer_to_source(op->layer)) == 0)
			*row = known->ops.items[i].id;
	if (!*row)
		*row = given_op_add(known, op, batch);
	return *row;
}
