// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of a foreign file: a hash, resolved frames as JSON, or addresses alone.
 */
#include "archive/foreign/foreign.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "archive/foreign/json.h"

#define STACK_JSON_BYTES (1u << 20) /* longer texts are read as far as this */

int foreign_stacks_load(struct foreign_source *f)
{
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	int r;

	if (f->has_stacks || !foreign_has_column(f, FOREIGN_STACK_TRACES, "hash")) {
		f->has_stacks = true;
		return 0;
	}
	r = foreign_select(f, FOREIGN_STACK_TRACES, "hash=NULL", "ORDER BY hash", &statement);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		int64_t hash = sqlite3_column_int64(statement, 0);

		r = 0;
		if (sqlite3_column_type(statement, 0) == SQLITE_INTEGER && f->stacks.n < FOREIGN_STACKS_MAX &&
		    (!f->stacks.n || f->stacks.items[f->stacks.n - 1] != hash))
			r = ARRAY_PUSH(&f->stacks, hash);
	}
	f->has_stacks = r == 0;
	return r;
}

uint32_t foreign_stack_id(const struct foreign_source *f, int64_t hash)
{
	size_t low = 0, high = f->stacks.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->stacks.items[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->stacks.n && f->stacks.items[low] == hash ? (uint32_t)low + 1 : 0;
}

struct stack_room {
	struct foreign_json_element element;
	struct read_frame frames[FOREIGN_FRAMES_MAX];
	char json[STACK_JSON_BYTES];
};

static uint32_t line_parse(const char *text)
{
	uint64_t line;

	return parse_u64(text, UINT32_MAX, &line) == 0 ? (uint32_t)line : 0;
}

/* A frame of any kind: Python's where it has that, else native; an address where nothing else is known. */
static int frame_make(struct arena *arena, const struct foreign_json_element *element, struct read_frame *ret_frame)
{
	const char *python = foreign_json_value(element, "pfn"), *python_file = foreign_json_value(element, "pf");
	const char *symbol = foreign_json_value(element, "s"), *address = foreign_json_value(element, "i");
	const char *plain = foreign_json_value(element, "");

	ret_frame->is_python = *python || *python_file;
	if (!*symbol)
		symbol = *address ? address : plain;
	ret_frame->symbol = arena_copy_text(arena, ret_frame->is_python ? python : symbol);
	ret_frame->file = arena_copy_text(arena, ret_frame->is_python ? python_file : foreign_json_value(element, "f"));
	ret_frame->line = line_parse(foreign_json_value(element, ret_frame->is_python ? "pl" : "l"));
	return ret_frame->symbol && ret_frame->file ? 0 : -ENOMEM;
}

static int stack_read(struct sqlite3_stmt *statement, struct stack_room *room, struct arena *arena,
		      struct read_stack *ret_stack)
{
	size_t n = 0;

	/* Resolved frames, else addresses. */
	for (int column = 1; column <= 2 && n == 0; column++) {
		struct foreign_json json = { .at = room->json };

		foreign_text(statement, column, room->json, sizeof(room->json));
		json.end = room->json + strlen(room->json);
		while (n < FOREIGN_FRAMES_MAX && foreign_json_next(&json, &room->element) > 0)
			if (frame_make(arena, &room->element, &room->frames[n++]) < 0)
				return -ENOMEM;
	}
	ret_stack->frames = room->frames;
	ret_stack->n_frames = n;
	return 0;
}

int foreign_stacks(struct read_source *source, uint32_t only_id, read_stack_func func, void *data)
{
	struct foreign_source *f = CONTAINER_OF(source, struct foreign_source, source);
	CLEANUP(sql_finalizep) struct sqlite3_stmt *statement = NULL;
	CLEANUP(freep) struct stack_room *room = NULL;
	int r = foreign_stacks_load(f);

	if (r < 0 || !f->stacks.n || only_id > f->stacks.n)
		return r;
	room = malloc(sizeof(*room));
	if (!room)
		return -ENOMEM;
	r = foreign_select(f, FOREIGN_STACK_TRACES, "hash=NULL frames='' ips=''",
			   only_id ? "WHERE hash = ?1" : "ORDER BY hash", &statement);
	if (r == 0 && only_id)
		sqlite3_bind_int64(statement, 1, f->stacks.items[only_id - 1]);
	while (r == 0 && (r = foreign_step(statement)) > 0) {
		struct arena arena = ARENA_INIT;
		struct read_stack stack = { .id = foreign_stack_id(f, sqlite3_column_int64(statement, 0)) };

		/* is_complete: the file cannot tell, and its walker stopped at what it could not unwind. */
		r = 0;
		if (stack.id && (!only_id || stack.id == only_id)) {
			r = stack_read(statement, room, &arena, &stack);
			if (r == 0)
				r = func(&stack, data);
		}
		arena_done(&arena);
	}
	return r;
}
