// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks as Ingero keeps them: by a hash of what their frames are resolved to, as JSON.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "archive/export/tables.h"

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
	struct export *e = data;
	struct export_stack noted = { .id = stack->id, .hash = stack_hash(stack) };

	return stack->n_frames ? ARRAY_PUSH(&e->stacks, noted) : 0;
}

static int stack_order(const void *a, const void *b)
{
	uint32_t x = ((const struct export_stack *)a)->id, y = ((const struct export_stack *)b)->id;

	return x < y ? -1 : x > y;
}

int export_stacks_load(struct export *e)
{
	int r = store_reader_stacks(e->reader, 0, stack_note, e);

	if (r == 0 && e->stacks.n)
		qsort(e->stacks.items, e->stacks.n, sizeof(e->stacks.items[0]), stack_order);
	return r;
}

static struct export_stack *stack_find(struct export *e, uint32_t id)
{
	struct export_stack key = { .id = id };

	return id && e->stacks.n ? bsearch(&key, e->stacks.items, e->stacks.n, sizeof(e->stacks.items[0]), stack_order)
				 : NULL;
}

int64_t export_stack_hash(struct export *e, uint32_t id)
{
	struct export_stack *stack = stack_find(e, id);

	if (!stack)
		return 0;
	stack->is_used = true;
	return stack->hash;
}

static void member(struct buf *out, const char *key, const char *text, const char **between)
{
	if (!*text)
		return;
	buf_printf(out, "%s\"%s\":", *between, key);
	export_json_text(out, text);
	*between = ",";
}

static int stack_write(const struct read_stack *stack, void *data)
{
	struct export *e = data;
	const struct export_stack *noted = stack_find(e, stack->id);
	CLEANUP(buf_done) struct buf frames = BUF_INIT;

	if (!noted || !noted->is_used)
		return 0;
	buf_append_text(&frames, "[");
	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct read_frame *f = &stack->frames[i];
		bool is_address = !f->is_python && !strncmp(f->symbol, "0x", 2);
		const char *between = "";

		buf_append_text(&frames, i ? ",{" : "{");
		member(&frames, f->is_python ? "pfn" : is_address ? "i" : "s", f->symbol, &between);
		member(&frames, f->is_python ? "pf" : "f", f->file, &between);
		if (f->line)
			buf_printf(&frames, "%s\"%s\":%u", between, f->is_python ? "pl" : "l", f->line);
		buf_append_text(&frames, "}");
	}
	buf_append_text(&frames, "]");
	if (frames.failed)
		return -ENOMEM;
	sqlite3_bind_int64(e->statement, 1, noted->hash);
	export_bind_text(e, 2, buf_text(&frames));
	return export_step(e);
}

int export_stacks(struct export *e)
{
	/* Stacks of several owners may be alike. */
	int r = export_prepare(e, "INSERT OR IGNORE INTO stack_traces (hash, frames) VALUES (?1, ?2)");

	return r < 0 ? r : store_reader_stacks(e->reader, 0, stack_write, e);
}
