// SPDX-License-Identifier: Apache-2.0
/* Stacks in Ingero's form: identified by a hash of their resolved frames. */
#include <stdlib.h>
#include <string.h>

#include "archive/export/stacks.h"

static uint64_t fnv(uint64_t hash, const void *data, size_t n)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* FNV-64a over symbol, file, Python file, Python function (each with its NUL) and Python line of every frame. */
static int64_t stack_hash(const struct read_stack *stack)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct read_frame *f = &stack->frames[i];
		const char *texts[] = { f->is_python ? "" : f->symbol, f->is_python ? "" : f->file,
					f->is_python ? f->file : "", f->is_python ? f->symbol : "" };
		uint32_t line = f->is_python ? f->line : 0;
		unsigned char le[4] = { (unsigned char)line, (unsigned char)(line >> 8), (unsigned char)(line >> 16),
					(unsigned char)(line >> 24) };

		for (size_t t = 0; t < ARRAY_SIZE(texts); t++)
			hash = fnv(hash, texts[t], strlen(texts[t]) + 1);
		hash = fnv(hash, le, sizeof(le));
	}
	return hash ? (int64_t)hash : 1; /* 0 means none */
}

static int stack_note(const struct read_stack *stack, void *data)
{
	struct export_stacks *stacks = data;
	struct export_stack noted = { .id = stack->id, .hash = stack_hash(stack) };

	return stack->n_frames ? ARRAY_PUSH(stacks, noted) : 0;
}

static int stack_order(const void *a, const void *b)
{
	uint32_t x = ((const struct export_stack *)a)->id, y = ((const struct export_stack *)b)->id;

	return x < y ? -1 : x > y;
}

int export_stacks_load(struct export_stacks *stacks, struct store_reader *reader)
{
	int r = store_reader_stacks(reader, 0, stack_note, stacks);

	if (r == 0 && stacks->n)
		qsort(stacks->items, stacks->n, sizeof(stacks->items[0]), stack_order);
	return r;
}

struct export_stack *export_stack_find(const struct export_stacks *stacks, int64_t id)
{
	struct export_stack key = { .id = (uint32_t)id };

	return id && stacks->n ? bsearch(&key, stacks->items, stacks->n, sizeof(stacks->items[0]), stack_order) : NULL;
}
