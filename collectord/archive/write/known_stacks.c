// SPDX-License-Identifier: Apache-2.0
#include "archive/write/known_stacks.h"

#include <errno.h>
#include <string.h>

#define STACK_SLOTS_MIN 64

void known_stacks_done(struct known_stacks *known)
{
	ARRAY_DONE(&known->items);
	free(known->slots);
	known->slots = NULL;
	known->n_slots = 0;
}

static size_t known_stack_hash(uint64_t number, bool is_guarded)
{
	return (size_t)((number << 1 | is_guarded) * 0x9e3779b97f4a7c15ull >> 20);
}

struct known_stack *known_stack_find(struct known_stacks *known, uint64_t number, bool is_guarded)
{
	size_t at = known_stack_hash(number, is_guarded);

	for (; known->n_slots; at++) {
		uint32_t slot = known->slots[at & (known->n_slots - 1)];
		struct known_stack *stack = slot ? &known->items.items[slot - 1] : NULL;

		if (!stack || (stack->number == number && stack->is_guarded == is_guarded))
			return stack;
	}
	return NULL;
}

static void known_stack_place(struct known_stacks *known, size_t i)
{
	size_t at = known_stack_hash(known->items.items[i].number, known->items.items[i].is_guarded);

	while (known->slots[at & (known->n_slots - 1)])
		at++;
	known->slots[at & (known->n_slots - 1)] = (uint32_t)i + 1;
}

static void known_stacks_place(struct known_stacks *known)
{
	memset(known->slots, 0, known->n_slots * sizeof(*known->slots));
	for (size_t i = 0; i < known->items.n; i++)
		known_stack_place(known, i);
}

static int known_stacks_grow(struct known_stacks *known)
{
	size_t n_slots = known->n_slots ? known->n_slots * 2 : STACK_SLOTS_MIN;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(known->slots);
	known->slots = slots;
	known->n_slots = n_slots;
	known_stacks_place(known);
	return 0;
}

/* Forgets written stacks that were last used up to a time. */
static void known_stacks_drop(struct known_stacks *known, uint64_t used_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < known->items.n; i++) {
		const struct known_stack *stack = &known->items.items[i];

		if (!stack->is_written || stack->used_ns > used_ns)
			known->items.items[n++] = *stack;
	}
	known->items.n = n;
	if (known->n_slots)
		known_stacks_place(known);
}

static int by_used(const void *a, const void *b)
{
	const struct known_stack *x = a, *y = b;

	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

static struct known_stack *known_stack_add(struct known_stacks *known, const struct known_stack *stack)
{
	if (known->n_waiting >= KNOWN_STACKS_MAX / 4 || known->next_id == UINT32_MAX)
		return NULL;
	if (known->items.n >= KNOWN_STACKS_MAX) {
		qsort(known->items.items, known->items.n, sizeof(*known->items.items), by_used);
		known_stacks_drop(known, known->items.items[known->items.n / 2].used_ns);
	}
	if (((known->items.n + 1) * 2 > known->n_slots && known_stacks_grow(known) < 0) ||
	    ARRAY_PUSH(&known->items, *stack) < 0)
		return NULL;
	known->n_waiting++;
	known_stack_place(known, known->items.n - 1);
	return &known->items.items[known->items.n - 1];
}

struct known_stack *known_stack_use(struct known_stacks *known, uint64_t number, bool is_guarded, uint64_t now_ns)
{
	struct known_stack *stack = known_stack_find(known, number, is_guarded);
	struct known_stack fresh = {
		.number = number, .is_guarded = is_guarded, .used_ns = now_ns, .id = known->next_id
	};

	if (!stack) {
		stack = known_stack_add(known, &fresh);
		known->next_id += stack != NULL;
		return stack;
	}
	if (stack->is_written && (stack->is_lost || now_ns > stack->used_ns + STACK_IDLE_NS) &&
	    known->next_id < UINT32_MAX) {
		*stack = fresh;
		known->n_waiting++;
		known->next_id++;
	}
	stack->used_ns = MAX(stack->used_ns, now_ns);
	return stack;
}

void known_stack_written(struct known_stacks *known, struct known_stack *stack)
{
	stack->is_written = true;
	stack->told_ns = stack->used_ns;
	known->n_waiting--;
}

void known_stack_lost(struct known_stacks *known, struct known_stack *stack)
{
	known_stack_written(known, stack);
	stack->is_lost = true;
}

void known_stacks_forget(struct known_stacks *known)
{
	known_stacks_drop(known, UINT64_MAX);
}
